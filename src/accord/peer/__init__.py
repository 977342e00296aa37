"""A connection that is alive; see `accord.peer.peer` for its laws."""

from accord.peer.answering import Answer
from accord.peer.calls import Call
from accord.peer.inbox import Inbox, Merging
from accord.peer.limits import Limits
from accord.peer.peer import FrameObserver, Peer, Receive

__all__ = ["Answer", "Call", "FrameObserver", "Inbox", "Limits", "Merging", "Peer", "Receive"]
