"""A connection that is alive; see `accord.peer.peer` for its laws."""

from accord.peer.answering import Answer
from accord.peer.inbox import Inbox, Merging
from accord.peer.limits import Limits
from accord.peer.peer import Call, FrameObserver, Peer, Receive

__all__ = ["Answer", "Call", "FrameObserver", "Inbox", "Limits", "Merging", "Peer", "Receive"]
