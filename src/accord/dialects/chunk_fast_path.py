"""Encodes and decodes the most frequent update frames faster than the general path.

Law: an encoded frame is, byte for byte, what the general path through `Dialect.update_to_wire` makes of the same update.

Law: a decoded frame gives the patches that the general path gives. A frame that needs tolerance is left to that path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Protocol, TypeAlias

import msgspec

from accord.dialects.dialect import Dialect, set_notification_meta
from accord.jsonrpc.codec import encode
from accord.jsonrpc.messages import Notification
from accord.session.content import Text, is_plain
from accord.session.entities import Message
from accord.session.updates import MessageAppend, MessageChanged, MessageChunk, MessagePatch, Patch, Update
from accord.session.value import UNSET

_encode_json = msgspec.json.Encoder().encode
_decode_text = msgspec.json.Decoder(str).decode
_NOT_WRITTEN = (UnicodeEncodeError, TypeError)  # a lone surrogate, or not a string
_NOT_READ = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_LONGEST_PATTERN = 4096
_TEXT, _ID = "\ue000text", "\ue000id"
_Pattern: TypeAlias = tuple[bytes, bytes, bytes, bool]
"""The parts before, between and after the gaps for the text and the id, and whether the gap for the id comes first."""


class ChunkEncoder:
    """Encodes the text chunks of one session for one client."""

    def __init__(self, dialect: Dialect, session_id: str) -> None:
        self._dialect = dialect
        self._session_id = session_id
        self._patterns: dict[tuple[type[Any], str], _Pattern | None] = {}
        self._message: Message | None = None
        self._selected: Message | None = None  # the message of `_before` and `_after`
        self._before = self._after = b""

    def encode(self, update: Update) -> bytes | None:
        """The frame for a chunk of plain text, or for a new message of nothing else; None for any other update."""
        if type(update) is MessageChunk:
            text = update.plain_text
            return None if text is None else self.encode_text(update.message, text)
        self._message = None  # after any other update, the next chunk may need the general path
        try:
            return self._encode_message(update) if type(update) is MessageChanged else None
        except _NOT_WRITTEN:
            return None

    def encode_text(self, message: Message, text: str) -> bytes | None:
        """The frame for a chunk of plain text that was appended to a message; None if it needs the general path."""
        try:
            if message is not self._message and not self._select(message):
                return None
            return self._before + _encode_json(text) + self._after
        except _NOT_WRITTEN:
            return None

    def _encode_message(self, update: MessageChanged) -> bytes | None:
        blocks = update.patch.content
        if not update.created or not blocks or len(blocks) > 1:
            return None
        if update.patch.meta is not UNSET or update.patch.notification_meta is not UNSET:
            return None
        if not is_plain(blocks[0]) or not self._can_send(update.message):
            return None
        pattern = self._pattern_for(MessageChanged, update.message.role)
        if pattern is None:
            return None
        before, after = _around(pattern, update.message.id)
        return before + _encode_json(blocks[0].text) + after

    def _select(self, message: Message) -> bool:
        # Asked first: to make a pattern is to convert an update, which would finish rewritten messages.
        if not self._can_send(message):
            return False
        if message is not self._selected:
            pattern = self._pattern_for(MessageChunk, message.role)
            if pattern is None:
                return False
            self._before, self._after = _around(pattern, message.id)
            self._selected = message
        self._message = message
        return True

    def _can_send(self, message: Message) -> bool:
        return self._dialect.can_send_chunk(self._session_id, message)

    def _pattern_for(self, kind: type[MessageChunk | MessageChanged], role: str) -> _Pattern | None:
        key = (kind, role)
        if key not in self._patterns:
            text = Text(_TEXT)
            message = Message(role=role, id=_ID, content=[text])
            update: Update
            if kind is MessageChunk:
                append = MessageAppend(role=role, id=_ID, content=text)
                update = MessageChunk(message=message, content=text, patch=append)
            else:
                patch = MessagePatch(role=role, id=_ID, content=[text])
                update = MessageChanged(message=message, patch=patch, created=True, added=[text])
            (params,) = self._dialect.update_to_wire(self._session_id, update)
            self._patterns[key] = _pattern(encode(Notification("session/update", params)))
        return self._patterns[key]


def _pattern(frame: bytes) -> _Pattern | None:
    text, id = _encode_json(_TEXT), _encode_json(_ID)
    if frame.count(text) != 1 or frame.count(id) != 1:  # the session's id is one of them
        return None
    id_comes_first = frame.index(id) < frame.index(text)
    first_gap, second_gap = (id, text) if id_comes_first else (text, id)
    first, _, rest = frame.partition(first_gap)
    second, _, third = rest.partition(second_gap)
    return first, second, third, id_comes_first


def _around(pattern: _Pattern, id: str) -> tuple[bytes, bytes]:
    first, second, third, id_comes_first = pattern
    encoded = _encode_json(id)
    return (first + encoded + second, third) if id_comes_first else (first, second + encoded + third)


class PatchReceiver(Protocol):
    """A session that receives patches."""

    def take(self, patch: Patch, size: int, /) -> None:
        """Apply a patch that was received in a frame of this size."""
        ...


def update_reader(dialect: Dialect, sessions: Mapping[str, PatchReceiver]) -> Callable[[bytes], bool] | None:
    """A function that passes the patches in a frame to its session; it returns False for a frame that it can't read.

    None in strict mode, where every value is checked.
    """
    return None if dialect.strict else _UpdateReader(dialect, sessions).read


class _UpdateReader:
    """Reads a frame in one pass; of one that differs from an earlier chunk in nothing but its text, only the text."""

    def __init__(self, dialect: Dialect, sessions: Mapping[str, PatchReceiver]) -> None:
        self._dialect = dialect
        self._sessions = sessions
        self._decode = msgspec.json.Decoder(_frame(dialect.UPDATE_PARAMS)).decode
        self._last: tuple[str, MessageAppend] | None = None
        """The session and the patch of the last chunk that was read whole."""
        self._before = self._after = b"\0"  # no frame has it
        self._session_id, self._role = "", ""
        self._id: str | None = None

    def read(self, frame: bytes) -> bool:
        before, after = self._before, self._after
        if frame.startswith(before) and frame.endswith(after):
            try:
                text = _decode_text(frame[len(before) : len(frame) - len(after)])
            except _NOT_READ:
                text = None  # more than a text
            session = self._sessions.get(self._session_id)
            if text is not None and session is not None:
                session.take(MessageAppend(role=self._role, id=self._id, content=Text(text)), len(frame))
                return True
        try:
            session_id, patches = self._patches(frame)
        except _NOT_READ:
            return False
        session = self._sessions.get(session_id)
        if session is None:
            return False
        if len(patches) == 1 and type(patches[0]) is MessageAppend:
            self._compare(frame, session_id, patches[0])
        for patch in patches:
            session.take(patch, len(frame))
        return True

    def _patches(self, frame: bytes) -> tuple[str, list[Patch]]:
        params = self._decode(frame).params
        patches = self._dialect.UPDATES_FROM_WIRE[type(params.update)](self._dialect, params.update)
        if params.meta is not UNSET:
            set_notification_meta(patches, params.meta)
        return params.session_id, patches

    def _compare(self, frame: bytes, session_id: str, patch: MessageAppend) -> None:
        """After two chunks of one message, find the place of the text in the frame: another text must be read there."""
        last, self._last = self._last, (session_id, patch)
        if last is None or last[0] != session_id or (last[1].role, last[1].id) != (patch.role, patch.id):
            return
        content = patch.content
        if type(content) is not Text or len(frame) - len(content.text) > _LONGEST_PATTERN:
            return
        before, _, after = frame.partition(_encode_json(content.text))
        other = content.text + _TEXT
        try:
            found = self._patches(before + _encode_json(other) + after)
        except _NOT_READ:
            return
        if found == (session_id, [MessageAppend(role=patch.role, id=patch.id, content=Text(other))]):
            self._before, self._after = before, after
            self._session_id, self._role, self._id = session_id, patch.role, patch.id


def _frame(params: type[Any]) -> type[Any]:
    fields: list[Any] = [
        ("jsonrpc", Literal["2.0"]),
        ("method", Literal["session/update"]),
        ("params", params),
        ("id", Annotated[int, msgspec.Meta(gt=0, lt=0)], 0),  # a frame with any id is not a notification
    ]
    return msgspec.defstruct("UpdateFrame", fields, gc=False)
