"""JSON-RPC messages: requests, notifications, responses, and frames that are malformed.

A received message has `params` and `result` undecoded, as views of its frame: the layer above knows their types. In a
message to send, they are anything that msgspec encodes, or an object whose `__wire__()` returns such a value.
"""

from __future__ import annotations

from typing import Any, TypeAlias, final

import msgspec
from msgspec import UNSET, UnsetType

Id: TypeAlias = int | float | str | None
"""0 is an id and so is null; a message without an id has UNSET. RPC-07"""


@final
class Notification(msgspec.Struct, tag_field="jsonrpc", tag="2.0", gc=False):
    method: str
    params: Any = UNSET


class Request(msgspec.Struct, tag_field="jsonrpc", tag="2.0", gc=False):
    id: Id
    method: str
    params: Any = UNSET


class ResultResponse(msgspec.Struct, tag_field="jsonrpc", tag="2.0", gc=False):
    id: Id
    result: Any


class ErrorObject(msgspec.Struct, gc=False):
    """`code` may be any integer; a received error may lack `message`. RPC-05, AMB-33"""

    code: int
    message: str = ""
    data: Any = UNSET


class ErrorResponse(msgspec.Struct, tag_field="jsonrpc", tag="2.0", gc=False):
    id: Id
    error: ErrorObject


class InvalidMessage(msgspec.Struct, gc=False):
    """A malformed message that gets an error response.

    With `is_call` it is a malformed request, whose id may be echoed; otherwise the id, if there is one, may be that of
    a request of ours.
    """

    code: int
    reason: str
    id: Id | UnsetType = UNSET
    is_call: bool = False


class DroppedMessage(msgspec.Struct, gc=False):
    """A malformed message that gets no response: a notification, or a response to the request `id`."""

    reason: str
    id: Id | UnsetType = UNSET


Message: TypeAlias = Request | Notification | ResultResponse | ErrorResponse | InvalidMessage | DroppedMessage
