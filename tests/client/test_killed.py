"""An agent that is a process is killed while it works, started again, and asked for what it had promised to keep."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord import Client, ConnectionClosed, permissions
from accord.client.session import Session
from accord.client.target import Command
from accord.session.entities import Message, ToolCall

PROGRAM = Path(__file__).with_name("doomed_agent.py")
NEVER = 10**6
SAID = [("user", "Write it down"), ("agent", "Let me see. "), ("call", "Write notes.md"), ("agent", "It is done.")]
STRIDES = {1: (0, 9), 2: (3, 9), "2-draft": (6, 9)}

Told = list[tuple[str, str]]


class Life:
    """One start of the agent, up to its death."""

    def __init__(self, path: Path, version: Any, step: int) -> None:
        self.command = Command([sys.executable, str(PROGRAM), str(path), str(step)])
        self.version = version
        self.session: Session | None = None
        self.acknowledged: Told = []
        self.stop_reason: str | None = None
        self.exit_code: int | None = None

    async def live(self, before: Life | None) -> None:
        options: dict[str, Any] = {"version": self.version, "on_permission": permissions.allow_all}
        async with Client(self.command, on_frame=self.frame, **options) as client:
            if before is not None and before.session is not None:
                loaded = await client.load_session(before.session.id, "/")
                before.check(loaded)
            self.session = await client.new_session("/")
            try:
                self.stop_reason = (await self.session.prompt("Write it down")).stop_reason
            except ConnectionClosed as closed:
                self.exit_code = closed.exit_code

    def frame(self, direction: str, frame: bytes) -> None:
        """Whatever came before an answer or a question has been acknowledged by it."""
        message = msgspec.json.decode(frame)
        asks = message.get("method") == "session/request_permission"
        if self.session is not None and direction == "received" and (asks or "result" in message or ends(message)):
            self.acknowledged = told(self.session)

    def check(self, loaded: Session) -> None:
        """All that was acknowledged is there, and nothing but what was told, in its order."""
        found = told(loaded)
        assert begins(self.acknowledged, found), (self.acknowledged, found)
        assert begins(found, SAID), found
        assert all(call.finished for call in loaded.transcript.tool_calls.values())
        if self.stop_reason is None:
            assert self.exit_code == -signal.SIGKILL
        else:
            assert found == SAID
            assert [call.status for call in loaded.transcript.tool_calls.values()] == ["completed"]


def ends(message: Any) -> bool:
    update = message.get("params", {}).get("update", {}) if message.get("method") == "session/update" else {}
    return update.get("state") == "idle" and "stopReason" in update


def told(session: Session) -> Told:
    places = session.transcript.timeline
    return [
        (place.role, place.text) if isinstance(place, Message) else ("call", str(place.title))
        for place in places
        if isinstance(place, (Message, ToolCall))
    ]


def begins(earlier: Told, later: Told) -> bool:
    if len(earlier) > len(later):
        return False
    *whole, last = earlier or [("", "")]
    return later[: len(whole)] == whole and (
        not earlier or (later[len(whole)][0] == last[0] and later[len(whole)][1].startswith(last[1]))
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
async def test_killed_at_any_step_of_a_turn_an_agent_has_what_it_acknowledged(tmp_path: Path, version: Any):
    """FN-61: a restart loses nothing that was answered or asked, whichever step of the journal or the wire was the last."""
    first, stride = STRIDES[version]
    before: Life | None = None
    lives: list[Life] = []
    while before is None or before.stop_reason is None:
        before_last, before = before, Life(tmp_path / "sessions.db", version, first + stride * len(lives))
        await before.live(before_last)
        lives.append(before)
    await Life(tmp_path / "sessions.db", version, NEVER).live(before)
    assert len(lives) >= 5
    assert {len(life.acknowledged) for life in lives} >= {3, 4}
