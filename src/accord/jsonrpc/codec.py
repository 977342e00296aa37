"""Frames to messages and back, by the rules of JSON-RPC 2.0.

`decode` never raises: whatever the bytes are, the result says what they are and whether the sender has to be told.
A well-formed message is read in one pass; `decode_odd` and what it calls run only when that pass has failed.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, Literal, TypeVar, Union, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.errors import Unencodable
from accord.jsonrpc.error_codes import INVALID_REQUEST, PARSE_ERROR
from accord.jsonrpc.messages import (
    Batch,
    Dropped,
    ErrorObject,
    ErrorResponse,
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    ResultResponse,
)

__all__ = ["ARRAY", "BATCH_LIMIT", "NULL", "OBJECT", "check_numbers", "decode", "encode", "kind_of"]

BATCH_LIMIT = 10_000
"""Entries that one batch may have. Without a bound, two bytes of garbage would cost a hundred bytes of answer."""

T = TypeVar("T")


class Envelope(msgspec.Struct, gc=False):
    jsonrpc: Literal["2.0"]
    id: Union[Id, UnsetType] = UNSET
    method: Union[str, UnsetType] = UNSET
    params: Union[Raw, UnsetType] = UNSET
    result: Union[Raw, UnsetType] = UNSET
    error: Union[ErrorObject, None, UnsetType] = UNSET


class _Members(msgspec.Struct, gc=False):
    jsonrpc: Union[Raw, UnsetType] = UNSET
    id: Union[Raw, UnsetType] = UNSET
    method: Union[Raw, UnsetType] = UNSET
    params: Union[Raw, UnsetType] = UNSET
    result: Union[Raw, UnsetType] = UNSET
    error: Union[Raw, UnsetType] = UNSET


_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError)
NOT_WELL_FORMED = (*_NOT_JSON, RecursionError)
read_envelope = msgspec.json.Decoder(Envelope).decode
_read_members = msgspec.json.Decoder(_Members).decode
_read_entries = msgspec.json.Decoder(list[Raw]).decode
_read_raw = msgspec.json.Decoder(Raw).decode
_read_version: Callable[[Raw], str] = msgspec.json.Decoder(Literal["2.0"]).decode
_read_id: Callable[[Raw], Id] = msgspec.json.Decoder(Id).decode
_read_method: Callable[[Raw], str] = msgspec.json.Decoder(str).decode
_read_error: Callable[[Raw], ErrorObject | None] = msgspec.json.Decoder(Union[ErrorObject, None]).decode

kind_of: Callable[[Raw], tuple[bytes]] = cast("Any", struct.Struct("c").unpack_from)
"""The first byte of a Raw, which never starts with a blank: the cheapest way to see OBJECT, ARRAY or NULL."""
OBJECT, ARRAY, NULL = (b"{",), (b"[",), (b"n",)


def decode(frame: bytes) -> Message | Batch:
    """What the frame holds. Members that JSON-RPC does not know are skipped; of a repeated member the last counts."""
    try:
        return classify(read_envelope(frame))
    except NOT_WELL_FORMED:
        return decode_odd(frame)


def classify(envelope: Envelope) -> Message:
    """What a well-formed envelope is."""
    request_id, method, result, error = envelope.id, envelope.method, envelope.result, envelope.error
    if method is not UNSET:
        if request_id is UNSET:
            return Notification(method, envelope.params)  # RPC-03
        return Request(request_id, method, envelope.params)
    if result is UNSET and error is UNSET:
        return Invalid(INVALID_REQUEST, "it is neither a call nor a response", request_id)
    if request_id is UNSET:
        return Dropped("a response without an id")
    if error is UNSET or error is None:
        if result is UNSET:
            return Dropped("a response with neither a result nor an error", request_id)
        return ResultResponse(request_id, result)
    if result is not UNSET and kind_of(result) != NULL:
        return Dropped("a response with both a result and an error", request_id)
    return ErrorResponse(request_id, error)


def decode_odd(frame: bytes) -> Message | Batch:
    """What a frame is that is no well-formed envelope."""
    try:
        return _decode_odd(frame)
    except RecursionError:
        return Invalid(PARSE_ERROR, "it is nested too deeply")
    except _NOT_JSON as error:
        # RPC-21, RPC-54. What msgspec says names the byte, and never quotes it.
        return Invalid(PARSE_ERROR, str(error))


def _decode_odd(frame: bytes) -> Message | Batch:
    try:
        value = _read_raw(frame)
    except _NOT_JSON:
        mended = _without_lone_surrogates(frame)
        if mended == frame:
            raise
        return decode(mended)
    if kind_of(value) == ARRAY:
        return _decode_batch(value, frame.count(b","))
    return _decode_odd_message(value)


def _decode_batch(value: Raw, commas: int) -> Message | Batch:
    try:
        entries = _read_entries(value) if commas < BATCH_LIMIT else _read_at_most(BATCH_LIMIT)(value)
    except msgspec.ValidationError:
        return Invalid(INVALID_REQUEST, f"a batch may have at most {BATCH_LIMIT} entries")
    if not entries:
        return Invalid(INVALID_REQUEST, "a batch needs at least one entry")  # RPC-55
    return Batch([_decode_entry(entry) for entry in entries])


def _decode_entry(entry: Raw) -> Message:
    try:
        return classify(read_envelope(entry))
    except NOT_WELL_FORMED:
        return _decode_odd_message(entry)


def _decode_odd_message(value: Raw) -> Message:
    if kind_of(value) != OBJECT:
        return Invalid(INVALID_REQUEST, "it is not an object")  # RPC-22
    members = _read_members(value)
    if members.method is not UNSET:
        return _decode_odd_call(members)
    request_id, error = _part(members.id, _read_id), _part(members.error, _read_error)
    if members.result is UNSET and members.error is UNSET:
        known = UNSET if isinstance(request_id, _Bad) else request_id
        return Invalid(INVALID_REQUEST, "it is neither a call nor a response", known)
    if isinstance(request_id, _Bad):
        return Dropped("a response whose id is neither a string nor a number")
    if isinstance(error, _Bad):
        return Dropped("a response with a malformed error", request_id)
    if _part(members.jsonrpc, _read_version) != "2.0":
        return Dropped('a response without "jsonrpc": "2.0"', request_id)
    return classify(Envelope("2.0", request_id, UNSET, UNSET, members.result, error))


def _decode_odd_call(members: _Members) -> Message:
    request_id, method = _part(members.id, _read_id), _part(members.method, _read_method)
    if isinstance(request_id, _Bad):
        return Invalid(INVALID_REQUEST, "its id is neither a string nor a number we can echo", is_call=True)
    if not isinstance(method, str):
        return Invalid(INVALID_REQUEST, "its method is not a string", request_id, is_call=True)
    if _part(members.jsonrpc, _read_version) != "2.0":  # RPC-01, AMB-30
        reason = 'its "jsonrpc" is not "2.0"'
        return Dropped(reason) if request_id is UNSET else Invalid(INVALID_REQUEST, reason, request_id, is_call=True)
    return classify(Envelope("2.0", request_id, method, members.params))


class _Bad:
    """A member that is there and is not what it should be."""


_BAD = _Bad()


def _part(member: Raw | UnsetType, read: Callable[[Raw], T]) -> T | _Bad | UnsetType:
    if member is UNSET:
        return UNSET
    try:
        return read(member)
    except msgspec.ValidationError:  # any other error means that the text of the frame is not UTF-8
        return _BAD


@cache
def _read_at_most(limit: int) -> Callable[[Raw], list[Raw]]:
    # A list would be built before its length is checked: 64 MiB of "1,1,1" as 2 GiB of objects. A struct written as an
    # array refuses the first element too many.
    fields = [(f"entry_{number}", Union[Raw, UnsetType], UNSET) for number in range(limit)]
    read = msgspec.json.Decoder(
        msgspec.defstruct("Entries", fields, array_like=True, forbid_unknown_fields=True, gc=False)
    ).decode
    return lambda value: [entry for entry in msgspec.structs.astuple(read(value)) if entry is not UNSET]


# An escaped surrogate without its partner: a first half that no second one follows, a second half that follows no first.
_HALF = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)


def _without_lone_surrogates(text: bytes) -> bytes:
    # Half an emoji, sent where a chunk boundary cut it in two; msgspec refuses it, even inside a Raw.
    if b"\0" in text:
        return text
    # Escaped backslashes step aside, so that every backslash left begins an escape.
    return _HALF.sub(rb"\\ufffd", text.replace(rb"\\", b"\0\0")).replace(b"\0\0", rb"\\")


_LARGE = 64 * 1024
_find_null = re.compile(b"null").search


def encode(message: Message | list[Request | Notification]) -> bytes:
    """One frame, without a newline; raises Unencodable for what has no JSON form.

    NaN and the infinities are refused, though msgspec would write null. Halves of surrogate pairs become U+FFFD.
    """
    try:
        frame = _write(message)
        # A number that is none was written as null, so only a frame with a null can hide one. Looking for that is cheap
        # in a small frame; a large one has few values for its size, and they are looked at directly.
        if len(frame) > _LARGE or _find_null(frame):
            check_numbers(message)
    except UnicodeEncodeError:
        return _encode_mended(message)
    except Exception as error:  # a __wire__ may raise anything
        raise _unencodable(message, error) from error
    if 10 in frame:  # only from a Raw that was formatted over several lines
        frame = frame.replace(b"\n", b" ")
    return frame


def _to_wire(value: Any) -> Any:
    wire = getattr(value, "__wire__", None)
    if wire is None:
        raise TypeError(f"a {type(value).__name__} has no JSON form")
    return wire()


_write = msgspec.json.Encoder(enc_hook=_to_wire).encode


def _encode_mended(message: object) -> bytes:
    try:
        plain = _to_builtins(message, lambda raw: json.loads(bytes(raw)))
        text = json.dumps(plain, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    except Exception as error:  # as in encode
        raise _unencodable(message, error) from error
    return _without_lone_surrogates(text.encode())


def check_numbers(message: object) -> None:
    """ValueError for NaN and the infinities, which JSON does not have."""
    stack: list[Any] = [_to_builtins(message, lambda _: None)]
    while stack:
        value = stack.pop()
        if isinstance(value, float):
            if not isfinite(value):
                raise ValueError("it holds NaN or an infinity")
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
            return Unencodable(f"What {method} carries", str(error))
        case list():
            return Unencodable("The batch", str(error))
        case _:
            return Unencodable("The message", str(error))
