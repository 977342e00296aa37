"""Frames to messages and back, by the rules of JSON-RPC 2.0.

`decode` never raises: whatever the bytes are, the result says what they are and whether they get an error response.
A well-formed message is read in one pass; `decode_malformed` runs only if that pass has failed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.errors import Unencodable
from accord.jsonrpc.batches import Batch, read_entries
from accord.jsonrpc.error_codes import INVALID_REQUEST, PARSE_ERROR
from accord.jsonrpc.messages import (
    DroppedMessage,
    ErrorObject,
    ErrorResponse,
    Id,
    InvalidMessage,
    Message,
    Notification,
    Request,
    ResultResponse,
)


class Envelope(msgspec.Struct, gc=False):
    jsonrpc: Literal["2.0"]
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorObject | None | UnsetType = UNSET


class _Members(msgspec.Struct, gc=False):
    jsonrpc: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError)
NOT_WELL_FORMED = (*_NOT_JSON, RecursionError)
read_envelope = msgspec.json.Decoder(Envelope).decode


kind_of: Callable[[Raw], tuple[bytes]] = cast("Any", struct.Struct("c").unpack_from)
"""The first byte of a Raw, which never starts with whitespace: the fastest test for OBJECT, ARRAY or NULL."""
OBJECT, ARRAY, NULL = (b"{",), (b"[",), (b"n",)


def decode(frame: bytes) -> Message | Batch:
    """The message or batch of a frame. Unknown members are skipped; of a repeated member the last one is used."""
    try:
        return classify(read_envelope(frame))
    except NOT_WELL_FORMED:
        return decode_malformed(frame)


def classify(envelope: Envelope) -> Message:
    """The message of a well-formed envelope."""
    request_id, method, result, error = envelope.id, envelope.method, envelope.result, envelope.error
    if method is not UNSET:
        if request_id is UNSET:
            return Notification(method, envelope.params)  # RPC-03
        return Request(request_id, method, envelope.params)
    if result is UNSET and error is UNSET:
        return InvalidMessage(INVALID_REQUEST, "neither a request nor a response", request_id)
    if request_id is UNSET:
        return DroppedMessage("a response without an id")
    if error is UNSET or error is None:
        if result is UNSET:
            return DroppedMessage("a response with neither a result nor an error", request_id)
        return ResultResponse(request_id, result)
    if result is not UNSET and kind_of(result) != NULL:
        return DroppedMessage("a response with both a result and an error", request_id)
    return ErrorResponse(request_id, error)


def decode_malformed(frame: bytes) -> Message | Batch:
    """The message or batch of a frame that is not a well-formed envelope."""
    try:
        return _decode_malformed(frame)
    except RecursionError:
        return InvalidMessage(PARSE_ERROR, "nested too deeply")
    except _NOT_JSON as error:
        # RPC-21, RPC-54. The text of msgspec has the position of the byte, and never quotes it.
        return InvalidMessage(PARSE_ERROR, str(error))


def _decode_malformed(frame: bytes) -> Message | Batch:
    try:
        value = _reader(Raw)(frame)
    except _NOT_JSON:
        repaired = _without_lone_surrogates(frame)
        if repaired == frame:
            raise
        return decode(repaired)
    if kind_of(value) != ARRAY:
        return _decode_malformed_message(value)
    entries = read_entries(value, frame.count(b","))
    return entries if isinstance(entries, InvalidMessage) else Batch([_decode_entry(entry) for entry in entries])


def _decode_entry(entry: Raw) -> Message:
    try:
        return classify(read_envelope(entry))
    except NOT_WELL_FORMED:
        return _decode_malformed_message(entry)


def _decode_malformed_message(value: Raw) -> Message:
    if kind_of(value) != OBJECT:
        return InvalidMessage(INVALID_REQUEST, "not an object")  # RPC-22
    members = _reader(_Members)(value)
    if members.method is not UNSET:
        return _decode_malformed_call(members)
    request_id, error = _read_part(members.id, Id), _read_part(members.error, ErrorObject | None)
    if members.result is UNSET and members.error is UNSET:
        known = UNSET if isinstance(request_id, _MalformedMember) else request_id
        return InvalidMessage(INVALID_REQUEST, "neither a request nor a response", known)
    if isinstance(request_id, _MalformedMember):
        return DroppedMessage("a response whose id is neither a string nor a number")
    if isinstance(error, _MalformedMember):
        return DroppedMessage("a response with a malformed error", request_id)
    if _read_part(members.jsonrpc, str) != "2.0":
        return DroppedMessage('a response without "jsonrpc": "2.0"', request_id)
    return classify(Envelope("2.0", request_id, UNSET, UNSET, members.result, error))


def _decode_malformed_call(members: _Members) -> Message:
    request_id, method = _read_part(members.id, Id), _read_part(members.method, str)
    if isinstance(request_id, _MalformedMember):
        return InvalidMessage(INVALID_REQUEST, "the id is neither a string nor a number", is_call=True)
    if not isinstance(method, str):
        return InvalidMessage(INVALID_REQUEST, "the method is not a string", request_id, is_call=True)
    if _read_part(members.jsonrpc, str) != "2.0":  # RPC-01, AMB-30
        reason = '"jsonrpc" is not "2.0"'
        return (
            DroppedMessage(reason)
            if request_id is UNSET
            else InvalidMessage(INVALID_REQUEST, reason, request_id, is_call=True)
        )
    return classify(Envelope("2.0", request_id, method, members.params))


class _MalformedMember:
    """A member that is present and malformed."""


_MALFORMED_MEMBER = _MalformedMember()


@cache
def _reader(kind: Any) -> Callable[[bytes | Raw], Any]:
    return msgspec.json.Decoder(kind).decode


def _read_part(member: Raw | UnsetType, kind: Any) -> Any:
    if member is UNSET:
        return UNSET
    try:
        return _reader(kind)(member)
    except msgspec.ValidationError:  # any other error means that the frame is not valid UTF-8
        return _MALFORMED_MEMBER


# An escaped surrogate without its partner: a first half without a second half after it, or a second half without a first.
_HALF = (  # compiled when first used
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)


def _without_lone_surrogates(text: bytes) -> bytes:
    # Half an emoji, from a chunk boundary that cut it in two; msgspec rejects it, even inside a Raw.
    if b"\0" in text:
        return text
    # Escaped backslashes are replaced for now, so that every backslash left begins an escape.
    return re.sub(_HALF, rb"\\ufffd", text.replace(rb"\\", b"\0\0")).replace(b"\0\0", rb"\\")


_LARGE = 64 * 1024
_find_null = re.compile(b"null").search


def encode(message: Message | list[Request | Notification]) -> bytes:
    """One frame, without a newline; raises Unencodable for values that have no JSON form.

    NaN and the infinities are rejected, though msgspec would write null. Halves of surrogate pairs become U+FFFD.
    """
    try:
        frame = _write(message)
        # NaN was written as null, so only a frame with a null can contain one. The search for that is cheap in a small
        # frame; a large frame has few values for its size, and they are checked directly.
        if len(frame) > _LARGE or _find_null(frame):
            check_numbers(message)
    except UnicodeEncodeError:
        return _encode_repaired(message)
    except Exception as error:  # a __wire__ may raise anything
        raise _unencodable(message, error) from error
    if 10 in frame:  # only from a Raw that was formatted on several lines
        frame = frame.replace(b"\n", b" ")
    return frame


def _to_wire(value: Any) -> Any:
    wire = getattr(value, "__wire__", None)
    if wire is None:
        raise TypeError(f"{type(value).__name__} is not JSON serializable")
    return wire()


_write = msgspec.json.Encoder(enc_hook=_to_wire).encode


def _encode_repaired(message: object) -> bytes:
    import json  # noqa: PLC0415  # not loaded when an agent starts

    try:
        plain = _to_builtins(message, lambda raw: json.loads(bytes(raw)))
        text = json.dumps(plain, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    except Exception as error:  # as in encode
        raise _unencodable(message, error) from error
    return _without_lone_surrogates(text.encode())


def check_numbers(message: object) -> None:
    """Raise ValueError for NaN and the infinities, which JSON does not have."""
    stack: list[Any] = [_to_builtins(message, lambda _: None)]
    while stack:
        value = stack.pop()
        if isinstance(value, float):
            if not isfinite(value):
                raise ValueError("NaN and infinity are not valid JSON")
        elif isinstance(value, dict):
            stack.extend(cast("dict[Any, Any]", value).values())
        elif isinstance(value, (list, tuple)):
            stack.extend(cast("list[Any]", value))


def _to_builtins(message: object, of_raw: Callable[[Raw], Any]) -> Any:
    return msgspec.to_builtins(
        message,
        str_keys=True,
        enc_hook=lambda value: of_raw(value) if isinstance(value, Raw) else _to_wire(value),
    )


def _unencodable(message: object, error: Exception) -> Unencodable:
    match message:
        case Request(method=method) | Notification(method=method):
            return Unencodable(f"The params of {method}", str(error))
        case list():
            return Unencodable("The batch", str(error))
        case _:
            return Unencodable("The message", str(error))
