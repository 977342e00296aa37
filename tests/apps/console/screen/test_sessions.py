"""Several sessions, sessions of before, and agents that die."""

from __future__ import annotations

import pytest

from accord import Agent, Turn
from accord.session.content import Text
from accord.session.updates import MessagePiece
from accord.store import MemoryStore
from accord.testing import Dies, ScriptedAgent, faulty
from tests.apps.console.screen.stage import opened


def keeper() -> Agent:
    agent = Agent("keeper", version="1", store=MemoryStore())

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.title(f"About {turn.text}")
        await turn.say(f"You said {turn.text}.")

    return agent


async def test_a_kept_session_is_taken_up_with_its_history(tmp_path, version):
    agent = keeper()
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("milk")
        await stage.idle()
        session_id = stage.talk.session_id
    async with opened(agent, tmp_path, version=version, resume=session_id) as stage:
        await stage.shows("▌ milk", "You said milk.")
        await stage.send("bread")
        await stage.shows("You said bread.")
        assert stage.talk.session_id == session_id


async def test_the_list_of_sessions_is_searched_and_opens_one_in_a_tab(tmp_path, version):
    agent = keeper()
    async with opened(agent, tmp_path, version=version) as stage:
        for text in ("milk", "bread"):
            await stage.send(text)
            await stage.idle()
            if text == "milk":
                stage.app.action_new_session()
                await stage.until(lambda: stage.talk.is_open)
        first, second = stage.app.talks
        await stage.app.close_talk(first)
        await stage.press("f3")
        await stage.shows("Sessions", "About milk", "About bread")
        await stage.type("milk")
        await stage.until(lambda: "About bread" not in "\n".join(stage.lines[5:]))
        await stage.press("enter")
        await stage.until(lambda: stage.talk is not second and stage.talk.is_open)
        await stage.shows("You said milk.", "About milk")
        assert len(stage.app.talks) == 2


async def test_a_session_is_forked_and_deleted_from_the_list(tmp_path):
    agent = ScriptedAgent(1)
    sessions = [{"sessionId": "old", "cwd": str(tmp_path), "title": "The old one", "updatedAt": "2026-01-02T03:04:05Z"}]
    agent.on("session/list", {"sessions": sessions})
    agent.on("session/fork", {"sessionId": "forked"})
    agent.on("session/delete", {})
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.press("f3")
        await stage.shows("The old one", "2026-01-02 03:04", "ctrl+f fork", "ctrl+x delete")
        await stage.press("ctrl+f")
        await stage.until(lambda: stage.talk.session_id == "forked")
        assert agent.calls("session/fork")[0].params["sessionId"] == "old"
        await stage.press("f3")
        await stage.shows("The old one")
        await stage.press("ctrl+x")
        await agent.seen("session/delete", 1)
        await stage.shows("Deleted.")


async def test_tabs_show_the_state_of_each_session(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        first = stage.talk
        await stage.press("ctrl+n")
        await stage.until(lambda: stage.talk is not first and stage.talk.is_open)
        assert "1◐ new session" in stage.lines[0]
        agent.say("Hello from the first", session_id=first.session_id)
        agent.finish(asked)
        await stage.until(lambda: not first.is_busy)
        await stage.shows("1• new session")
        assert "Hello from the first" not in stage.text
        await stage.press("alt+left")
        await stage.shows("Hello from the first")
        assert "•" not in stage.lines[0]
        await stage.press("ctrl+pagedown")
        assert stage.talk is not first


async def test_a_question_in_another_tab_is_seen_and_waits_there(tmp_path):
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it") as call:
            await turn.allowed(call)

    async with opened(agent, tmp_path) as stage:
        first = stage.talk
        stage.app.action_new_session()
        await stage.until(lambda: stage.talk is not first and stage.talk.is_open)
        first.send("Go")
        await stage.until(lambda: first.asking.first is not None)
        await stage.shows("1?")
        assert "Permission" not in stage.text
        stage.app.show_talk(first)
        await stage.asked()
        assert "Permission" in stage.text
        await stage.press("n")
        await stage.until(lambda: not first.is_busy)


async def test_each_session_keeps_its_draft_also_when_the_screen_is_closed(tmp_path):
    agent, state = keeper(), tmp_path / "state"
    async with opened(agent, tmp_path, state=state) as stage:
        await stage.send("milk")
        await stage.idle()
        await stage.type("half a th")
        first, session_id = stage.talk, stage.talk.session_id
        stage.app.action_new_session()
        await stage.until(lambda: stage.talk is not first and stage.talk.is_open)
        assert stage.prompt == ""
        await stage.type("other")
        await stage.press("alt+left")
        assert stage.prompt == "half a th"
        await stage.type("ought")
    async with opened(agent, tmp_path, state=state, resume=session_id) as stage:
        await stage.until(lambda: stage.prompt == "half a thought")


@pytest.mark.parametrize("can", ["resume", "load", "nothing"])
async def test_a_dead_agent_is_started_again_with_its_session(tmp_path, can):
    capabilities = {"resume": {"sessionCapabilities": {"resume": {}}}, "load": {"loadSession": True}, "nothing": {}}[
        can
    ]
    agent = ScriptedAgent(1, agentCapabilities=capabilities)
    agent.on("session/resume", {})

    @agent.on("session/load")
    def load(asked):
        agent.tell(MessagePiece(role="user", id=None, content=Text("told again")), session_id=asked.session_id)
        return {}

    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await agent.next("session/prompt")
        agent.say("Let me")
        await stage.shows("Let me")
        agent.die(3, "out of memory")
        await stage.shows("The agent is gone", "exit code 3", "out of memory", "F5", "gone, F5 starts it again")
        await stage.send("Still there?")
        await stage.shows("1 Still there?")
        await stage.press("f5")
        asked = await agent.next("session/prompt")
        assert asked.params["prompt"][0]["text"] == "Still there?"
        agent.finish(asked)
        await stage.shows("● ready")
        if can == "resume":
            assert "Let me" in stage.story
        if can == "load":
            assert "told again" in stage.story
        if can == "nothing":
            assert "this agent cannot take up a session" in stage.story


async def test_an_agent_that_dies_in_the_middle_of_a_word_is_no_trouble(tmp_path, version):
    agent = faulty(keeper(), Dies(after="session/update", count=2, torn=True, exit_code=9, stderr="Killed"))
    async with opened(agent, tmp_path, version=version, ready=False) as stage:
        await stage.until(lambda: stage.talk.is_open or stage.app.agent.state == "gone")
        await stage.send("milk")
        await stage.shows("The agent is gone", "Killed")
        assert not stage.talk.is_busy
