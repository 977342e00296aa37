"""Subagents, as the session tells of them that they work for. Unstable in v2, which tells every client of them.

Law: a subagent is a tool call of the session that announces it, by the id of the subagent's own session. Its tool calls and
terminals are told there, too, and there it asks; its words, state and options are told to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from accord.session.content import Text
from accord.session.entities import ContentItem
from accord.session.limits import LimitedDict
from accord.session.updates import Patch, TerminalAppend, TerminalPatch, ToolCallAppend, ToolCallPatch, UnknownPatch
from accord.session.value import UNSET, Tristate

__all__ = ["Subagents"]

_WORK = (ToolCallPatch, ToolCallAppend, TerminalPatch, TerminalAppend)
_MOST = 10_000


class Subagents:
    """Those that an agent has announced on one connection, the newest ten thousand."""

    def __init__(self) -> None:
        self._works_for: LimitedDict[str] = LimitedDict(_MOST)
        self._messages: LimitedDict[str] = LimitedDict(_MOST)

    def root_of(self, session_id: str) -> str:
        """The session that a subagent works for, directly or not; any other session is its own."""
        while (works_for := self._works_for.get(session_id)) is not None:
            session_id = works_for
        return session_id

    def told(self, root: str, session_id: str, reports: Sequence[Patch]) -> Iterator[Patch]:
        """What a session's root is told when the session tells this."""
        for report in reports:
            for each in self._read(session_id, report) if isinstance(report, UnknownPatch) else (report,):
                if session_id == root or isinstance(each, _WORK):
                    yield each

    def _read(self, session_id: str, report: UnknownPatch) -> Sequence[Patch]:
        match report.tag:
            case "subagent_update":
                return self._announced(session_id, report.raw) or [report]
            case "session_message":
                return self._message(report.raw) or [report]
            case "session_message_chunk":
                return self._piece(report.raw) or [report]
            case _:
                return [report]

    def _announced(self, session_id: str, said: dict[str, Any]) -> list[Patch]:
        id = _text(said, "sessionId")
        if id is None:
            return []
        patch = ToolCallPatch(id=id, title=_text(said, "title") or UNSET, status=_status(said.get("state")))
        if id not in self._works_for:
            if self.root_of(session_id) == id:
                return []  # nobody works for itself
            self._works_for.put(id, session_id)
            patch.kind, patch.raw_input = "think", said
            patch.title = patch.title or _text(said, "description") or "Subagent"
        return [patch]

    def _message(self, said: dict[str, Any]) -> list[Patch]:
        """A whole message between a session and its subagent; one that is told again is not for us."""
        id, content = _text(said, "messageId"), said.get("content", [])
        ends = (_text(said, "recipientSessionId"), _text(said, "senderSessionId"))
        subagent = next((end for end in ends if end in self._works_for), None)
        if id is None or id in self._messages or subagent is None or not isinstance(content, list):
            return []
        pieces = [_text_piece(subagent, block) for block in cast("list[Any]", content)]
        if None in pieces:
            return []
        self._messages.put(id, subagent)
        return [piece for piece in pieces if piece is not None]

    def _piece(self, said: dict[str, Any]) -> list[Patch]:
        subagent = self._messages.get(_text(said, "messageId") or "")
        piece = None if subagent is None else _text_piece(subagent, said.get("content"))
        return [] if piece is None else [piece]


def _text(said: dict[str, Any], name: str) -> str | None:
    value = said.get(name)
    return value if isinstance(value, str) else None


def _text_piece(subagent: str, block: Any) -> ToolCallAppend | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return ToolCallAppend(id=subagent, item=ContentItem(content=Text(text)))
        case _:
            return None


def _status(state: Any) -> Tristate[str]:
    match state:
        case {"state": "idle", "stopReason": "cancelled"}:
            return "cancelled"
        case {"state": "idle", "stopReason": "error"} | {"state": "idle", "error": {}}:
            return "failed"
        case {"state": "idle"}:
            return "completed"
        case {"state": str()}:
            return "in_progress"
        case _:
            return UNSET
