"""One side of a live connection; see `accord.peer.peer` for its laws."""

from accord.peer.inbound_queue import InboundQueue, MergeRules
from accord.peer.inbound_requests import HandlerResult
from accord.peer.limits import Limits
from accord.peer.outbound_requests import OutboundRequest
from accord.peer.peer import FrameObserver, OnMessage, Peer

__all__ = [
    "FrameObserver",
    "HandlerResult",
    "InboundQueue",
    "Limits",
    "MergeRules",
    "OnMessage",
    "OutboundRequest",
    "Peer",
]
