"""Values that no version lists, custom or of a later version: kept as they are, and nothing ends by them."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Client, ToolCallChanged
from accord.session.entities import ToolCall
from accord.testing import ScriptedAgent
from tests.client.words import CWD

pytestmark = pytest.mark.parametrize("version", [2, "2-draft"], ids=["v2", "v2-draft"])


@pytest.mark.requirement("COMPAT-20")
@pytest.mark.parametrize("reason", ["_budget", "of_a_later_version"])
async def test_a_stop_reason_ends_the_turn_and_is_told_as_it_came(version, reason):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("So far.", stop_reason=reason))
    async with Client(agent, version=version, strict=False) as client:
        session = await client.new_session(CWD)
        reply = await session.prompt("Hi")
        assert reply.text == "So far."
        assert reply.stop_reason == reason
        assert not session.is_busy


@pytest.mark.requirement("COMPAT-21", "COMPAT-22")
@pytest.mark.parametrize(("kind", "status"), [("_draw", "_waiting"), ("of_a_later_version", "hovering")])
async def test_the_kind_and_status_of_a_tool_call_are_kept_and_it_still_runs(version, kind, status):
    agent = ScriptedAgent(version)
    seen: list[ToolCall] = []

    def answer(asked: Any) -> None:
        agent.begin(asked)
        agent.update("tool_call_update", toolCallId="c", title="Draw", kind=kind, status=status)
        agent.say("Drawing.")
        agent.update("tool_call_update", toolCallId="c", status="completed")
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with Client(agent, version=version, strict=False) as client:
        session = await client.new_session(CWD)
        seen += [change.call async for change in session.prompt("Hi") if isinstance(change, ToolCallChanged)]
    assert [(call.kind, call.status, call.finished) for call in seen] == [
        (kind, status, False),
        (kind, "completed", True),
    ]
