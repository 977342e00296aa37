"""What a conversation tells the layer above.

Each one is a value: nothing here acts, and what should be logged is a `reason` for whoever has a log.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias, Union

import msgspec
from msgspec import UNSET, Raw

from accord.errors import InternalError, Malformed, RequestFailed
from accord.jsonrpc.messages import Id, Notification

__all__ = [
    "NO_PARAMS",
    "Answered",
    "Ask",
    "CancelRequested",
    "Event",
    "Failed",
    "Ignored",
    "Incoming",
    "NotificationReceived",
    "OpenBatch",
    "Reply",
    "RequestReceived",
    "Unfinished",
]

NO_PARAMS = Raw(b"{}")


class OpenBatch(msgspec.Struct, eq=False):
    """A received array: the answers so far, and how many are still owed."""

    answers: list[bytes]
    owed: int = 0

    def frame(self) -> bytes:
        return b"[" + b",".join(self.answers) + b"]"


class Incoming(msgspec.Struct, eq=False):
    """A request we owe an answer. `params` keeps the whole frame in memory until `release` or the answer."""

    id: Id
    method: str
    params: Raw
    batch: OpenBatch | None = None
    is_cancelled: bool = False
    failure: InternalError | None = None
    """Set when the answer given could not be encoded and this was sent instead; its cause is for the log."""

    def release(self) -> None:
        """Lets go of the frame, once the params have been read."""
        self.params = NO_PARAMS


class Ask(msgspec.Struct):
    """An entry of a batch that wants an answer."""

    method: str
    params: Any = UNSET


class RequestReceived(msgspec.Struct):
    incoming: Incoming


NotificationReceived = Notification
"""A notification needs no bookkeeping: the message itself is the event, with `params` always there."""


class Answered(msgspec.Struct, gc=False):
    id: int
    method: str
    result: Raw


class Failed(msgspec.Struct):
    """The peer answered with an error, or with something that is no answer (Malformed) and will never be one."""

    id: int
    method: str
    error: RequestFailed | Malformed


class CancelRequested(msgspec.Struct):
    """The peer would like this request to end early; it is owed an answer all the same. Comes once per request."""

    incoming: Incoming


class Reply(msgspec.Struct, gc=False):
    """An answer that needs nobody's thought: send `frame` at once, log `reason`. It may not even answer a call."""

    frame: bytes
    reason: str
    is_malformed: bool = False


class Ignored(msgspec.Struct, gc=False):
    """Nothing is to be done but to log it; if `is_normal` not even that, as it comes of an ordinary race."""

    reason: str
    is_normal: bool = False


Event: TypeAlias = Union[RequestReceived, NotificationReceived, Answered, Failed, CancelRequested, Reply, Ignored]


class Unfinished(NamedTuple):
    """What was open in both directions when the conversation ended."""

    asked: dict[int, str]
    serving: list[Incoming]
