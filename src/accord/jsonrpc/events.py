"""The events that `PendingCalls.receive` returns.

Each one is a value: nothing here acts, and what should be logged is a `reason` for the layer that has a log.
"""

from __future__ import annotations

from typing import TypeAlias, final

import msgspec
from msgspec import Raw

from accord.errors import InternalError, Malformed, RequestFailed
from accord.jsonrpc.batches import InboundBatch
from accord.jsonrpc.messages import Id, Notification

NO_PARAMS = Raw(b"{}")


class InboundRequest(msgspec.Struct, eq=False):
    """A received request that needs a response. `params` keeps the frame in memory until `release` or the response."""

    id: Id
    method: str
    params: Raw
    batch: InboundBatch | None = None
    is_cancelled: bool = False
    failure: InternalError | None = None
    """Set if the result could not be encoded and this error was sent instead; its cause is for the log."""

    def release(self) -> None:
        """Free the frame, after the params were read."""
        self.params = NO_PARAMS


@final
class RequestReceived(msgspec.Struct):
    request: InboundRequest


NotificationReceived = Notification
"""A notification needs no bookkeeping: the message itself is the event, and always has `params`."""


@final
class ResultReceived(msgspec.Struct, gc=False):
    id: int
    method: str
    result: Raw


class ErrorReceived(msgspec.Struct):
    """The response is an error, or is malformed, and no other will follow."""

    id: int
    method: str
    error: RequestFailed | Malformed


class CancelRequested(msgspec.Struct):
    """The peer wants this request to end early; it still needs a response. At most once per request."""

    request: InboundRequest


class MessageRejected(msgspec.Struct, gc=False):
    """Send `response` at once and log `reason`; what was received may not even be a request."""

    response: bytes
    reason: str
    is_malformed: bool = False


class MessageIgnored(msgspec.Struct, gc=False):
    """Nothing to do but to log `reason`, and not even that if `is_normal`: then it comes from an ordinary race."""

    reason: str
    is_normal: bool = False


Event: TypeAlias = (
    RequestReceived
    | NotificationReceived
    | ResultReceived
    | ErrorReceived
    | CancelRequested
    | MessageRejected
    | MessageIgnored
)


class OpenRequests(msgspec.Struct, frozen=True):
    """The requests of both directions that had no response when the connection closed."""

    outbound: dict[int, str]
    inbound: list[InboundRequest]
