"""A frame as a test sees it: what it says, and how it looks on one line."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias, cast

import msgspec

__all__ = ["Peek", "Side", "Torn", "frame_of", "other", "peek", "shown"]

Side: TypeAlias = Literal["client", "agent"]

_WIDTH = 200
_ABSENT = object()


class Torn(bytes):
    """The beginning of a frame whose sender died in the middle of writing it; on a stream no newline follows."""

    __slots__ = ()


class Peek:
    """What a frame says, as far as it is one message in JSON; a batch or garbage has no method, id or answer."""

    __slots__ = ("is_json", "json", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.json: Any
        self.is_json, self.json = _read(raw)

    @property
    def method(self) -> str | None:
        """Of a request or a notification."""
        method = self.get("method")
        return method if isinstance(method, str) else None

    @property
    def id(self) -> Any:
        """None also where there is none."""
        return self.get("id")

    @property
    def params(self) -> Any:
        """An empty object where there are none."""
        return self.get("params", {})

    @property
    def result(self) -> Any:
        return self.get("result")

    @property
    def error(self) -> Any:
        """The error object of an answer that is one."""
        return self.get("error")

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.get("id", _ABSENT) is not _ABSENT

    @property
    def is_answer(self) -> bool:
        is_outcome = self.get("result", _ABSENT) is not _ABSENT or self.get("error", _ABSENT) is not _ABSENT
        return is_outcome and self.method is None

    @property
    def session_id(self) -> str | None:
        """The session that the params are about."""
        params = self.params
        value = cast("dict[str, Any]", params).get("sessionId") if isinstance(params, dict) else None
        return value if isinstance(value, str) else None

    def get(self, member: str, default: Any = None) -> Any:
        """A member of the message, if it is an object."""
        value: Any = self.json
        return cast("dict[str, Any]", value).get(member, default) if isinstance(value, dict) else default

    def __getitem__(self, member: str) -> Any:
        return self.json[member]

    def __str__(self) -> str:
        return shown(self)


def peek(frame: bytes) -> Peek:
    """Never raises."""
    return Peek(frame)


def other(side: Side) -> Side:
    """The one across."""
    return "client" if side == "agent" else "agent"


def frame_of(message: Any) -> bytes:
    """Bytes stay what they are, a string is its UTF-8; anything else becomes JSON, types of `accord.schema` included."""
    if isinstance(message, bytes):
        return message
    if isinstance(message, str):
        return message.encode()
    return msgspec.json.encode(message, enc_hook=_to_wire)


def shown(seen: Peek, width: int = _WIDTH) -> str:
    """One line, cut where it gets long."""
    if not seen.is_json:
        return f"not JSON: {_cut(repr(bytes(seen.raw)), width)}"
    number = "" if seen.get("id") is None else f" #{seen.id}"
    if seen.method is not None:
        return f"{seen.method}{number} {_json(seen.get('params'), width)}"
    if seen.error is not None:
        return f"error{number} {_json(seen.error, width)}"
    if seen.is_answer:
        return f"answer{number} {_json(seen.result, width)}"
    kind = "batch" if seen.raw.lstrip().startswith(b"[") else "no message"
    return f"{kind} {_json(seen.json, width)}"


def _read(raw: bytes) -> tuple[bool, Any]:
    try:
        return True, msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # halves of surrogate pairs and large integers, which only this one reads
        return True, json.loads(raw)
    except (ValueError, RecursionError):
        return False, None


def _to_wire(value: Any) -> Any:
    wire = getattr(value, "__wire__", None)
    if wire is None:
        raise TypeError(f"a {type(value).__name__} has no JSON form; send a dict, or bytes to send them as they are")
    return wire()


def _json(value: Any, width: int) -> str:
    return "" if value is None else _cut(json.dumps(value, ensure_ascii=False), width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[:width]}… ({len(text)} characters)"
