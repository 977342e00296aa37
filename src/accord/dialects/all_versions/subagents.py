"""Subagents, as updates of the session that they work for. Unstable in v2, which sends them to every client.

Law: a subagent is a tool call of the session that announces it, whose id is the id of the subagent's own session. Its
tool calls, terminals and requests belong to that session, too; its messages, state and options are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from accord.session.content import Text
from accord.session.entities import ContentItem
from accord.session.limits import LimitedDict
from accord.session.updates import Patch, TerminalAppend, TerminalPatch, ToolCallAppend, ToolCallPatch, UnknownPatch
from accord.session.value import UNSET, Tristate

_WORK = (ToolCallPatch, ToolCallAppend, TerminalPatch, TerminalAppend)
_LIMIT = 10_000


class Subagents:
    """The subagents that an agent has announced on one connection, the newest ten thousand."""

    def __init__(self) -> None:
        self._parents: LimitedDict[str] = LimitedDict(_LIMIT)
        self._messages: LimitedDict[str] = LimitedDict(_LIMIT)

    def root_of(self, session_id: str) -> str:
        """The session that a subagent works for, directly or not; any other session is its own root."""
        while (parent := self._parents.get(session_id)) is not None:
            session_id = parent
        return session_id

    def root_patches(self, root: str, session_id: str, patches: Sequence[Patch]) -> Iterator[Patch]:
        """The patches of a session, as patches of its root."""
        for patch in patches:
            for read in self._read(session_id, patch) if isinstance(patch, UnknownPatch) else (patch,):
                if session_id == root or isinstance(read, _WORK):
                    yield read

    def _read(self, session_id: str, patch: UnknownPatch) -> Sequence[Patch]:
        match patch.tag:
            case "subagent_update":
                return self._update(session_id, patch.raw) or [patch]
            case "session_message":
                return self._message(patch.raw) or [patch]
            case "session_message_chunk":
                return self._chunk(patch.raw) or [patch]
            case _:
                return [patch]

    def _update(self, session_id: str, raw: dict[str, Any]) -> list[Patch]:
        id = _text(raw, "sessionId")
        if id is None:
            return []
        patch = ToolCallPatch(id=id, title=_text(raw, "title") or UNSET, status=_status(raw.get("state")))
        if id not in self._parents:
            if self.root_of(session_id) == id:
                return []  # no session is its own subagent
            self._parents.put(id, session_id)
            patch.kind, patch.raw_input = "think", raw
            patch.title = patch.title or _text(raw, "description") or "Subagent"
        return [patch]

    def _message(self, raw: dict[str, Any]) -> list[Patch]:
        """A whole message between a session and its subagent; a message that is sent again is ignored."""
        id, content = _text(raw, "messageId"), raw.get("content", [])
        sessions = (_text(raw, "recipientSessionId"), _text(raw, "senderSessionId"))
        subagent = next((session for session in sessions if session in self._parents), None)
        if id is None or id in self._messages or subagent is None or not isinstance(content, list):
            return []
        patches = [_append(subagent, block) for block in cast("list[Any]", content)]
        if None in patches:
            return []
        self._messages.put(id, subagent)
        return [patch for patch in patches if patch is not None]

    def _chunk(self, raw: dict[str, Any]) -> list[Patch]:
        subagent = self._messages.get(_text(raw, "messageId") or "")
        patch = None if subagent is None else _append(subagent, raw.get("content"))
        return [] if patch is None else [patch]


def _text(raw: dict[str, Any], name: str) -> str | None:
    value = raw.get(name)
    return value if isinstance(value, str) else None


def _append(subagent: str, block: Any) -> ToolCallAppend | None:
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
