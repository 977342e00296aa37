"""The names, limits and routing facts that both ends of the HTTP transport share.

A message is looked at only for its route: its id, its method, and the session that it is about.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Union

import msgspec
from msgspec import UNSET, Raw, UnsetType

CONNECTION_ID = "acp-connection-id"
SESSION_ID = "acp-session-id"
RESUME = "acp-resume"
"""From a client: it can resume; with a random value, which says that an `initialize` is the one that was cut. From a server: for how many seconds it keeps a connection that was cut."""
RECEIVED = "acp-received"
"""How many frames of a WebSocket, or which event of a stream, the sender of this header has received."""
SEQUENCE = "acp-sequence"
"""The number of a message, so that one which is sent again is not delivered again."""
LAST_EVENT_ID = "last-event-id"
EVENT_STREAM = "text/event-stream"
JSON = "application/json"
NUMBER_LIMIT = 2**53
ID_LIMIT = 1024
"""The most characters of a connection id or a session id."""

MessageId: TypeAlias = Union[int, float, str, None, UnsetType]


class RoutedMessage(msgspec.Struct, frozen=True, gc=False):
    """The facts about one message: `session_id` is that of its params, `result_session_id` that of its result."""

    method: str | None = None
    id: MessageId = UNSET
    session_id: str | None = None
    result_session_id: str | None = None

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not UNSET

    @property
    def is_response(self) -> bool:
        return self.method is None and self.id is not UNSET

    @property
    def is_initialize(self) -> bool:
        return self.method == "initialize" and self.id is not UNSET


class _Envelope(msgspec.Struct, gc=False):
    id: Union[Raw, UnsetType] = UNSET
    method: Union[Raw, UnsetType] = UNSET
    params: Union[Raw, UnsetType] = UNSET
    result: Union[Raw, UnsetType] = UNSET


class _Session(msgspec.Struct, rename="camel", gc=False):
    session_id: Union[str, None] = None


_read_envelope = msgspec.json.Decoder(_Envelope).decode
_read_envelopes = msgspec.json.Decoder(list[Raw]).decode
_read_session = msgspec.json.Decoder(_Session).decode
_read_id = msgspec.json.Decoder(Union[int, float, str, None]).decode
_read_method = msgspec.json.Decoder(str).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_number(text: str | None) -> int | None:
    """The number in a header; None without one, and for what is not one."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > 16:
        return None
    return number if (number := int(text)) < NUMBER_LIMIT else None


def is_batch(frame: bytes) -> bool:
    """Whether the frame is an array of messages."""
    return frame.lstrip(b" \t\r\n")[:1] == b"["


def read_messages(frame: bytes) -> list[RoutedMessage]:
    """The message of a frame, or those of a batch; ValueError for what is neither an object nor an array."""
    try:
        if is_batch(frame):
            return [_read(entry) for entry in _read_envelopes(frame) if bytes(memoryview(entry)[:1]) == b"{"]
        return [_read(frame)]
    except _UNREADABLE:
        raise ValueError("the body is not a JSON-RPC message") from None


def read_message(frame: bytes) -> RoutedMessage:
    """The message of a frame that this side has written; one without facts for a batch."""
    try:
        return _read(frame)
    except _UNREADABLE:
        return RoutedMessage()


def _read(frame: bytes | Raw) -> RoutedMessage:
    envelope = _read_envelope(frame)
    return RoutedMessage(
        _member(_read_method, envelope.method, None),
        _member(_read_id, envelope.id, UNSET),
        _session(envelope.params),
        _session(envelope.result),
    )


def _member(read: Any, raw: Raw | UnsetType, missing: Any) -> Any:
    if raw is UNSET:
        return missing
    try:
        return read(raw)
    except _UNREADABLE:
        return missing


def _session(raw: Raw | UnsetType) -> str | None:
    if raw is UNSET or bytes(memoryview(raw)[:1]) != b"{":
        return None
    try:
        return _read_session(raw).session_id
    except _UNREADABLE:
        return None
