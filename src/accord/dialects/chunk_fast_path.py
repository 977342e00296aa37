"""Encodes and decodes the most frequent update frames without the general path.

Law: such a frame is, byte for byte, what the long way through `Dialect.update_to_wire` makes of the same change.

Law: what is taken this way is what the rules of JSON-RPC and of the dialect make of the same frame. A frame in which there
is anything to forgive is left to them.
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

__all__ = ["PatchReceiver", "TextFrames", "update_reader"]

_write = msgspec.json.Encoder().encode
_TEXT, _ID = "\ue000text", "\ue000id"
_Pattern: TypeAlias = tuple[bytes, bytes, bytes, bool]
"""What stands before, between and behind the gaps for the text and the id, and whether that for the id comes first."""


class TextFrames:
    """Those of one session, for one listener."""

    def __init__(self, dialect: Dialect, session_id: str) -> None:
        self._dialect = dialect
        self._session_id = session_id
        self._patterns: dict[tuple[type[Any], str], _Pattern | None] = {}
        self._message: Message | None = None
        self._before = self._after = b""

    def frame_of(self, change: Update) -> bytes | None:
        """The frame that tells a piece of plain text, or a new message of nothing else; None for any other change."""
        try:
            if type(change) is MessageChunk:
                content = change.content
                if type(content) is not Text or content.annotations is not None or content.meta is not None:
                    return None
                if change.patch.meta is not UNSET or change.patch.notification_meta is not UNSET:
                    return None
                if change.message is not self._message and not self._turn_to(change.message):
                    return None
                return self._before + _write(content.text) + self._after
            self._message = None  # whatever it is, the next piece may have to be told in another way
            return self._whole(change) if type(change) is MessageChanged else None
        except (UnicodeEncodeError, TypeError):  # the long way mends half a surrogate pair, and says what is no text
            return None

    def _whole(self, change: MessageChanged) -> bytes | None:
        blocks = change.patch.content
        if not change.created or not blocks or len(blocks) > 1:
            return None
        if change.patch.meta is not UNSET or change.patch.notification_meta is not UNSET:
            return None
        if not is_plain(blocks[0]) or not self._tells_at_once(change.message):
            return None
        pattern = self._pattern_of(MessageChanged, change.message.role)
        if pattern is None:
            return None
        before, after = _around(pattern, change.message.id)
        return before + _write(blocks[0].text) + after

    def _turn_to(self, message: Message) -> bool:
        if not self._tells_at_once(
            message
        ):  # before a pattern is made: that tells something, which would settle others
            return False
        pattern = self._pattern_of(MessageChunk, message.role)
        if pattern is None:
            return False
        self._before, self._after = _around(pattern, message.id)
        self._message = message
        return True

    def _tells_at_once(self, message: Message) -> bool:
        return self._dialect.can_send_chunk(self._session_id, message)

    def _pattern_of(self, kind: type[MessageChunk | MessageChanged], role: str) -> _Pattern | None:
        key = (kind, role)
        if key not in self._patterns:
            text = Text(_TEXT)
            message = Message(role=role, id=_ID, content=[text])
            if kind is MessageChunk:
                piece = MessageAppend(role=role, id=_ID, content=text)
                change = MessageChunk(message=message, content=text, patch=piece)
            else:
                patch = MessagePatch(role=role, id=_ID, content=[text])
                change = MessageChanged(message=message, patch=patch, created=True, added=[text])
            (params,) = self._dialect.update_to_wire(self._session_id, change)
            self._patterns[key] = _pattern(encode(Notification("session/update", params)))
        return self._patterns[key]


def _pattern(frame: bytes) -> _Pattern | None:
    text, id = _write(_TEXT), _write(_ID)
    if frame.count(text) != 1 or frame.count(id) != 1:  # the session is called like one of them
        return None
    id_comes_first = frame.index(id) < frame.index(text)
    first_gap, second_gap = (id, text) if id_comes_first else (text, id)
    first, _, rest = frame.partition(first_gap)
    second, _, third = rest.partition(second_gap)
    return first, second, third, id_comes_first


def _around(pattern: _Pattern, id: str) -> tuple[bytes, bytes]:
    first, second, third, id_comes_first = pattern
    written = _write(id)
    return (first + written + second, third) if id_comes_first else (first, second + written + third)


class PatchReceiver(Protocol):
    """A session that hears what is reported."""

    def take(self, report: Patch, size: int) -> None:
        """Take in a report that came with so many bytes."""
        ...


def update_reader(dialect: Dialect, sessions: Mapping[str, PatchReceiver]) -> Callable[[bytes], bool] | None:
    """What hands the reports of a frame to its session; False when the frame is not such a one.

    None in strict mode, where every value is looked at.
    """
    if dialect.strict:
        return None
    read = msgspec.json.Decoder(_frame(dialect.UPDATE_PARAMS)).decode
    from_wire = dialect.UPDATES_FROM_WIRE

    def take(frame: bytes) -> bool:
        try:
            params = read(frame).params
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        session = sessions.get(params.session_id)
        if session is None:
            return False
        update, size = params.update, len(frame)
        reports = from_wire[type(update)](dialect, update)
        if params.meta is not UNSET:
            set_notification_meta(reports, params.meta)
        for report in reports:
            session.take(report, size)
        return True

    return take


def _frame(params: type[Any]) -> type[Any]:
    fields: list[Any] = [
        ("jsonrpc", Literal["2.0"]),
        ("method", Literal["session/update"]),
        ("params", params),
        ("id", Annotated[int, msgspec.Meta(gt=0, lt=0)], 0),  # what has an id is no notification, whatever the id is
    ]
    return msgspec.defstruct("UpdateFrame", fields, gc=False)
