"""What a frame holds: calls, answers, batches of them, and what only tries to be one.

A received message keeps `params` and `result` undecoded, as views of its frame: the layer above knows their types. To be
sent, they are anything msgspec encodes, or an object with a `__wire__()` that returns such a thing.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Union

import msgspec
from msgspec import UNSET, UnsetType

__all__ = [
    "Batch",
    "Dropped",
    "ErrorObject",
    "ErrorResponse",
    "Id",
    "Invalid",
    "Message",
    "Notification",
    "Request",
    "ResultResponse",
]

Id: TypeAlias = Union[int, float, str, None]
"""0 is an id and so is null; a message without an id has UNSET. RPC-07"""


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
    """`code` may be any integer; a missing `message` is forgiven on receipt. RPC-05, AMB-33"""

    code: int
    message: str = ""
    data: Any = UNSET


class ErrorResponse(msgspec.Struct, tag_field="jsonrpc", tag="2.0", gc=False):
    id: Id
    error: ErrorObject


class Invalid(msgspec.Struct, gc=False):
    """What has to be answered with an error.

    `is_call` says that it is a request gone wrong, whose id may be echoed; otherwise the id, if there is one, may just
    as well be that of a request of ours.
    """

    code: int
    reason: str
    id: Id | UnsetType = UNSET
    is_call: bool = False


class Dropped(msgspec.Struct, gc=False):
    """What is wrong but must not be answered: a bad notification, or a bad response to the request `id`."""

    reason: str
    id: Id | UnsetType = UNSET


Message: TypeAlias = Union[Request, Notification, ResultResponse, ErrorResponse, Invalid, Dropped]


class Batch(msgspec.Struct, gc=False):
    """The entries of an array in their order; never empty."""

    entries: list[Message]
