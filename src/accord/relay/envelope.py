"""The envelopes of messages that are passed on: ids and methods are read, params and results stay bytes."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
NULL = Raw(b"null")


class Envelope(msgspec.Struct, gc=False):
    """One message. A response has no method."""

    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not UNSET and self.id is not UNSET

    @property
    def is_response(self) -> bool:
        return self.method is UNSET and self.id is not UNSET

    @property
    def key(self) -> bytes:
        """The id as it was written."""
        return b"null" if self.id is UNSET else bytes(self.id)

    @property
    def session_id(self) -> str | None:
        """The session of the params."""
        return session_of(self.params)

    @property
    def result_session_id(self) -> str | None:
        """The session of the result."""
        return session_of(self.result)


class _Session(msgspec.Struct, rename="camel", gc=False):
    session_id: str | None = None


_read_entries = msgspec.json.Decoder(list[Raw]).decode
_read_envelope = msgspec.json.Decoder(Envelope).decode
_read_session = msgspec.json.Decoder(_Session).decode
_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
encode = msgspec.json.encode


def read_batch(frame: bytes) -> list[Raw] | None:
    """The entries of a batch; None for anything else. DecodeError for what is not JSON."""
    return _read_entries(frame) if frame.lstrip(b" \t\r\n")[:1] == b"[" else None


def read_envelope(frame: bytes | Raw) -> Envelope:
    """The message; one of the errors in UNREADABLE for anything else."""
    return _read_envelope(frame)


def read_members(raw: Raw | UnsetType) -> dict[str, Raw]:
    """The members of params or a result, undecoded; nothing for what is not an object."""
    if raw is UNSET:
        return {}
    try:
        return _read_members(raw)
    except UNREADABLE:
        return {}


def read_value(raw: Raw | UnsetType) -> Any:
    """The decoded value; None for what can't be decoded."""
    if raw is UNSET:
        return None
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE:
        return None


def find(value: Any, *names: str) -> Any:
    """The member at this path of names; None if there is none."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = cast(dict[str, Any], value).get(name)
    return value


def request_frame(id: int, method: str, params: Raw | bytes | UnsetType) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":%b%b}' % (id, encode(method), _params(params))


def notification_frame(method: str, params: Raw | bytes | UnsetType) -> bytes:
    return b'{"jsonrpc":"2.0","method":%b%b}' % (encode(method), _params(params))


def response_frame(id: bytes, response: Envelope) -> bytes:
    """The same response with another id."""
    name, value = (b"error", response.error) if response.result is UNSET else (b"result", response.result)
    return b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (id, name, b"null" if value is UNSET else bytes(value))


def result_response(result: bytes) -> Envelope:
    """A response with this result, for whatever id."""
    return Envelope(id=NULL, result=Raw(result))


def error_response(code: int, message: str, data: Any = UNSET) -> Envelope:
    """A response with this error, for whatever id."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not UNSET:
        error["data"] = data
    return Envelope(id=NULL, error=Raw(encode(error)))


def _params(params: Raw | bytes | UnsetType) -> bytes:
    return b"" if params is UNSET else b',"params":%b' % bytes(params)


def session_of(raw: Raw | UnsetType) -> str | None:
    """The `sessionId` of an object, if it has one."""
    if raw is UNSET or bytes(memoryview(raw)[:1]) != b"{":
        return None
    try:
        return _read_session(raw).session_id
    except UNREADABLE:
        return None
