"""The error codes of JSON-RPC and of the protocol, by name."""

from __future__ import annotations

from typing import Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002
VERSION_REFUSED: Final = -32022

# Ours, in the range left to implementations. Other peers mean other things by them, so only `data.reason` is read. RPC-42
PERMISSION_DENIED: Final = -32003
RATE_LIMITED: Final = -32029

_NAMES = {
    PARSE_ERROR: "parse error",
    INVALID_REQUEST: "invalid request",
    METHOD_NOT_FOUND: "method not found",
    INVALID_PARAMS: "invalid params",
    INTERNAL_ERROR: "internal error",
    REQUEST_CANCELLED: "request cancelled",
    AUTH_REQUIRED: "authentication required",
    NOT_FOUND: "resource not found",
    VERSION_REFUSED: "unsupported protocol version",
}


def name_of(code: int) -> str:
    """A few words for any code, also for one that nobody has defined. RPC-47"""
    if -32099 <= code <= -32000:
        return _NAMES.get(code, "implementation-defined error")
    return _NAMES.get(code, "unknown error")
