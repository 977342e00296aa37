"""A connection that is alive; see `accord.peer.peer` for its laws."""

from accord.peer.backpressure import Limits
from accord.peer.inbound_queue import Inbox, Merging
from accord.peer.inbound_requests import Answer
from accord.peer.outbound_requests import Call
from accord.peer.peer import FrameObserver, Peer, Receive

__all__ = ["Answer", "Call", "FrameObserver", "Inbox", "Limits", "Merging", "Peer", "Receive"]
