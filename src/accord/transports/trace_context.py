"""The W3C trace context of a request: from HTTP headers into the `_meta` of the message, as the protocol reserves it.

Law: a context that the message itself has wins over one of the headers. Nothing but `_meta` of the params changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"

_PARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,200})?"
)
_STATE_LIMIT = 512  # characters, of the W3C recommendation
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_meta = msgspec.json.Decoder(dict[str, Any]).decode


def valid_trace(members: Mapping[str, Any]) -> dict[str, str]:
    """The trace context among the members of `_meta`, or among headers; empty without a valid one."""
    parent, state = members.get(TRACEPARENT), members.get(TRACESTATE)
    if not isinstance(parent, str) or _PARENT.fullmatch(parent) is None:
        return {}
    trace = {TRACEPARENT: parent}
    if isinstance(state, str) and 0 < len(state) <= _STATE_LIMIT and state.isascii() and state.isprintable():
        trace[TRACESTATE] = state
    return trace


def trace_of(frame: bytes) -> dict[str, str]:
    """The trace context of a message."""
    try:
        return valid_trace(_read_meta(_read_members(_read_members(frame)["params"])["_meta"]))
    except (KeyError, *_UNREADABLE):
        return {}


def with_trace(frame: bytes, trace: Mapping[str, str], *, replace: bool = False) -> bytes:
    """The message with this trace context in the `_meta` of its params, unless it has one already.

    A message without params stays as it is, and so does whatever is not a request: batches, notifications, responses.
    """
    if not trace:
        return frame
    try:
        message = _read_members(frame)
        if "method" not in message or "id" not in message:
            return frame
        params = _read_members(message["params"])
        meta = _read_meta(params["_meta"]) if bytes(params.get("_meta", b"null")) != b"null" else {}
    except (KeyError, *_UNREADABLE):
        return frame
    if TRACEPARENT in meta and not replace:
        return frame
    meta.pop(TRACESTATE, None)
    params["_meta"] = Raw(msgspec.json.encode({**meta, **trace}))
    message["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(message)
