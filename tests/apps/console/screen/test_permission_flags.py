"""`accord --permissions` on the screen: what it decides is shown in the conversation, the rest is asked in the bar."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Agent, Turn
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened


def asker(kind: Any) -> tuple[Agent, list[bool]]:
    """An agent that asks for one call of this kind, and what it was allowed."""
    agent, allowed = Agent("asker", version="1"), []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Do it", kind=kind) as call:
            allowed.append(await turn.allowed(call))
        await turn.say("Over.")

    return agent, allowed


@pytest.mark.parametrize(
    ("chosen", "kind", "is_allowed"),
    [
        ("reject", "read", False),
        ("allow-reads", "read", True),
        ("allow-edits", "edit", True),
        ("allow-all", "execute", True),
    ],
)
async def test_what_the_choice_decides_is_shown_and_not_asked(tmp_path, version, chosen, kind, is_allowed):
    agent, allowed = asker(kind)
    async with opened(agent, tmp_path, version=version, permissions=chosen) as stage:
        await stage.send("Go")
        await stage.idle()
        assert allowed == [is_allowed]
        assert stage.tab.questions.total == 0
        verdict = "allowed" if is_allowed else "rejected"
        assert f"{verdict} by --permissions: Do it ({kind})" in stage.conversation


@pytest.mark.parametrize(
    ("chosen", "kind"), [(None, "read"), ("ask", "read"), ("allow-reads", "edit"), ("allow-edits", "delete")]
)
async def test_what_the_choice_leaves_open_is_asked_in_the_bar(tmp_path, chosen, kind):
    agent, allowed = asker(kind)
    async with opened(agent, tmp_path, permissions=chosen) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press("y")
        await stage.idle()
        assert allowed == [True]
        assert "by --permissions" not in stage.conversation


@pytest.mark.parametrize(
    ("chosen", "writes", "runs"),
    [
        (None, True, True),
        ("ask", True, True),
        ("reject", False, False),
        ("allow-reads", False, True),
        ("allow-edits", True, True),
        ("allow-all", True, True),
    ],
)
async def test_only_what_the_choice_allows_is_offered(tmp_path, chosen, writes, runs):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, permissions=chosen):
        can = agent.calls("initialize")[0].params["clientCapabilities"]
        assert (can["fs"].get("writeTextFile", False), can.get("terminal", False)) == (writes, runs)


@pytest.mark.parametrize("chosen", [None, "ask"])
async def test_only_who_wants_to_be_asked_is_asked_for_writes_that_the_agent_does_not_ask_for(tmp_path, chosen):
    agent = ScriptedAgent(1)

    async def answer(asked: Any) -> None:
        about = {"sessionId": agent.session_id, "path": str(tmp_path / "new.txt"), "content": "abc"}
        await agent.ask("fs/write_text_file", about)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, permissions=chosen) as stage:
        await stage.send("Go")
        if chosen:
            asked = await stage.asked()
            assert asked.title == f"Write {tmp_path / 'new.txt'}"
            assert not (tmp_path / "new.txt").exists()
            await stage.press("y")
        await stage.until((tmp_path / "new.txt").exists)
        await stage.idle()
        assert stage.tab.questions.total == (1 if chosen else 0)
