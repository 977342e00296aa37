"""Subagents of an agent in v2: each has a session of its own, which no client has opened."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from accord import Client, Text, permissions
from accord.dialects.negotiation import ProtocolVersion
from accord.session.entities import ContentItem
from accord.session.requests import PermissionAnswer, PermissionRequest
from accord.session.updates import UnknownUpdate
from accord.testing import ScriptedAgent
from tests.client.words import CWD

CHILD, GRANDCHILD = "child", "grandchild"


@pytest.fixture(params=[2, "2-draft"], ids=["v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> ProtocolVersion:
    return request.param


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def announce(agent: ScriptedAgent, child: str = CHILD, *, by: str | None = None, **members: Any) -> None:
    agent.update("subagent_update", session_id=by, sessionId=child, **members)


async def ask(agent: ScriptedAgent, session_id: str, call_id: str = "c") -> Any:
    call = {"toolCallId": call_id, "title": "Write a.py", "kind": "edit", "status": "pending"}
    asked = {"title": "Write a.py", "subject": {"type": "tool_call", "toolCall": call}}
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    if agent.version == 2:
        return await agent.ask("session/request_permission", {"sessionId": session_id, "options": options, **asked})
    about = {"sessionId": session_id, "options": options, "toolCall": call}
    return await agent.ask("session/request_permission", about)


def turn(agent: ScriptedAgent, work: Callable[[], Any]) -> Any:
    async def answer(asked: Any) -> None:
        agent.begin(asked)
        await work()
        agent.say("Done.")
        agent.finish(asked)

    return answer


class TestASubagent:
    async def test_asks_the_user_of_the_session_that_it_works_for(self, version):
        """Claude's adapter asks so in v2; an error for an answer is a no that nobody has said."""
        agent, questions = ScriptedAgent(version), list[PermissionRequest]()

        async def work() -> None:
            announce(agent, title="Look around", state={"state": "running"})
            answer = await ask(agent, CHILD)
            assert answer.result["outcome"]["optionId"] == "yes"
            agent.update("tool_call_update", session_id=CHILD, toolCallId="c", status="completed")

        async def allow(asked: PermissionRequest) -> PermissionAnswer:
            questions.append(asked)
            return await permissions.allow_all(asked)

        agent.on("session/prompt", turn(agent, work))
        async with Client(agent, version=version, strict=False, on_permission=allow) as client:
            session = await client.new_session(CWD)
            assert (await session.prompt("Go")).text == "Done."
        assert [asked.session_id for asked in questions] == [session.id]
        assert session.transcript.tool_calls["c"].status == "completed"

    async def test_is_a_tool_call_with_what_was_said_between_them(self, version):
        agent = ScriptedAgent(version)

        async def work() -> None:
            announce(agent, title="Look around", description="explorer", state={"state": "running"})
            ends = {"senderSessionId": agent.session_id, "recipientSessionId": CHILD}
            agent.update("session_message", messageId="m", **ends, content=[text("Look")])
            agent.update("session_message_chunk", messageId="m", content=text(" well"))
            agent.update("session_message", session_id=CHILD, messageId="m", **ends, content=[text("Look")])
            announce(agent, state={"state": "idle", "stopReason": "end_turn"})

        agent.on("session/prompt", turn(agent, work))
        async with Client(agent, version=version, strict=False) as client:
            session = await client.new_session(CWD)
            changes = [change async for change in session.prompt("Go")]
        call = session.transcript.tool_calls[CHILD]
        assert (call.title, call.kind, call.status) == ("Look around", "think", "completed")
        assert call.content == [ContentItem(content=Text("Look")), ContentItem(content=Text(" well"))]
        assert not any(isinstance(change, UnknownUpdate) for change in changes)

    async def test_keeps_its_words_and_its_state_to_itself(self, version, caplog):
        agent = ScriptedAgent(version)

        async def work() -> None:
            announce(agent, state={"state": "running"})
            agent.update("agent_message_chunk", session_id=CHILD, messageId="x", content=text("secret"))
            agent.update("state_update", session_id=CHILD, state="idle", stopReason="end_turn")

        agent.on("session/prompt", turn(agent, work))
        async with Client(agent, version=version, strict=False) as client:
            session = await client.new_session(CWD)
            with caplog.at_level(logging.WARNING):
                assert (await session.prompt("Go")).text == "Done."
        assert "dropped" not in caplog.text

    async def test_of_a_subagent_works_for_the_same_session(self, version):
        agent = ScriptedAgent(version)

        async def work() -> None:
            announce(agent, state={"state": "running"})
            announce(agent, GRANDCHILD, by=CHILD, title="Deeper")
            assert (await ask(agent, GRANDCHILD)).result["outcome"]["optionId"] == "yes"

        agent.on("session/prompt", turn(agent, work))
        async with Client(agent, version=version, strict=False, on_permission=permissions.allow_all) as client:
            session = await client.new_session(CWD)
            await session.prompt("Go")
        assert list(session.transcript.tool_calls) == [CHILD, GRANDCHILD, "c"]

    @pytest.mark.parametrize(
        ("state", "status"),
        [
            ({"state": "idle", "stopReason": "cancelled"}, "cancelled"),
            ({"state": "idle", "stopReason": "error", "error": {"code": 1, "message": "no"}}, "failed"),
            ({"state": "idle"}, "completed"),
            ({"state": "requires_action"}, "in_progress"),
            (None, "pending"),
        ],
    )
    async def test_is_as_far_as_its_session_is(self, version, state, status):
        agent = ScriptedAgent(version)

        async def work() -> None:
            announce(agent, **({} if state is None else {"state": state}))

        agent.on("session/prompt", turn(agent, work))
        async with Client(agent, version=version, strict=False) as client:
            session = await client.new_session(CWD)
            await session.prompt("Go")
        assert session.transcript.tool_calls[CHILD].status == status


class TestWhatIsNoSubagent:
    async def test_a_session_that_nobody_announced_asks_in_vain(self, version):
        agent = ScriptedAgent(version)

        async def work() -> None:
            assert (await ask(agent, "stranger")).error["code"] == -32002

        agent.on("session/prompt", turn(agent, work))
        async with Client(agent, version=version, strict=False, on_permission=permissions.allow_all) as client:
            session = await client.new_session(CWD)
            assert (await session.prompt("Go")).text == "Done."

    @pytest.mark.parametrize("members", [{}, {"sessionId": 7}, {"sessionId": None}])
    async def test_an_announcement_of_nobody_is_an_unknown_update(self, version, members):
        agent = ScriptedAgent(version)

        async def work() -> None:
            agent.update({"sessionUpdate": "subagent_update", **members})
            agent.update({"sessionUpdate": "session_message", "messageId": "m", "content": "?"})

        agent.on("session/prompt", turn(agent, work))
        async with Client(agent, version=version, strict=False) as client:
            session = await client.new_session(CWD)
            changes = [change async for change in session.prompt("Go")]
        assert sum(isinstance(change, UnknownUpdate) for change in changes) == 2

    async def test_a_session_does_not_work_for_itself(self, version):
        agent = ScriptedAgent(version)

        async def work() -> None:
            announce(agent)
            announce(agent, agent.session_id, by=CHILD)
            announce(agent, agent.session_id)

        agent.on("session/prompt", turn(agent, work))
        async with Client(agent, version=version, strict=False) as client:
            session = await client.new_session(CWD)
            assert (await session.prompt("Go")).text == "Done."
            assert list(session.transcript.tool_calls) == [CHILD]
