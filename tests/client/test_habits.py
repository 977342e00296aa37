"""Habits of agents that many people have, which no document of the protocol mentions: told here by a script."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import Client, permissions
from accord.dialects.all_versions.options import models_to_option
from accord.session.updates import ToolCallChanged
from accord.testing import ScriptedAgent
from tests.client.words import CWD
from tests.virtual_clock import run

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
MODELS = {
    "currentModelId": "auto",
    "availableModels": [
        {"modelId": "auto", "name": "Auto", "description": "Whichever fits"},
        {"modelId": "pro", "name": "Pro"},
    ],
}


def asking(agent: ScriptedAgent, *, settles: str | None = None) -> Any:
    """A turn whose tool call is first heard of in a question; perhaps it tells what became of it."""

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        call = {"toolCallId": "c", "title": "Write", "kind": "edit", "status": "pending"}
        about: dict[str, Any] = {"toolCall": call}
        if agent.version == 2:
            about = {"title": "Write", "subject": {"type": "tool_call", "toolCall": call}}
        await agent.ask("session/request_permission", {"sessionId": agent.session_id, "options": OPTIONS, **about})
        if settles is not None:
            agent.update("tool_call_update", toolCallId="c", status=settles)
        agent.say("Well.")
        agent.finish(asked)

    return answer


class TestACallThatWasRefused:
    async def test_is_over_with_its_turn_though_the_agent_says_nothing_more_about_it(self, version):
        agent = ScriptedAgent(version)
        agent.on("session/prompt", asking(agent))
        async with Client(agent, version=version, on_permission=permissions.reject_all) as client:
            session = await client.new_session(CWD)
            changes = [change async for change in session.prompt("Write")]
            told = [change.call.status for change in changes if isinstance(change, ToolCallChanged)]
            assert told == ["pending", "cancelled"]
            assert session.transcript.tool_calls["c"].finished

    @pytest.mark.parametrize("settles", ["failed", "completed"])
    async def test_is_what_the_agent_says_it_is(self, version, settles):
        agent = ScriptedAgent(version)
        agent.on("session/prompt", asking(agent, settles=settles))
        async with Client(agent, version=version, on_permission=permissions.reject_all) as client:
            session = await client.new_session(CWD)
            await session.prompt("Write")
            assert session.transcript.tool_calls["c"].status == settles

    async def test_is_none_that_was_allowed(self, version):
        agent = ScriptedAgent(version)
        agent.on("session/prompt", asking(agent))
        async with Client(agent, version=version, on_permission=permissions.allow_all) as client:
            session = await client.new_session(CWD)
            await session.prompt("Write")
            assert session.transcript.tool_calls["c"].status == "pending"


class TestAHistoryThatIsToldAfterTheAnswer:
    def test_is_in_the_transcript_when_the_session_is_there(self):
        """Gemini CLI answers a load after the first message of the history."""

        async def main() -> None:
            agent = ScriptedAgent(1)

            async def load(asked: Any) -> None:
                agent.update("user_message_chunk", content={"type": "text", "text": "Hello?"})
                asked.answer({})
                for text in ("Hi.", " And", " more."):
                    await asyncio.sleep(0.1)
                    agent.say(text)

            agent.on("session/load", load)
            agent.on("session/prompt", agent.reply("New."))
            async with Client(agent, version=1) as client:
                session = await client.load_session("s", CWD)
                told = [message.text for message in session.transcript.messages.values()]
                assert told == ["Hello?", "Hi. And more."]
                assert (await session.prompt("Go on")).text == "New."

        run(main())

    def test_is_not_waited_for_when_the_agent_has_spoken_in_it(self):
        async def main() -> None:
            agent = ScriptedAgent(1)

            def load(asked: Any) -> None:
                agent.update("user_message_chunk", content={"type": "text", "text": "Hello?"})
                agent.say("Hi.")
                asked.answer({})

            agent.on("session/load", load)
            async with Client(agent, version=1) as client:
                began = asyncio.get_running_loop().time()
                await client.load_session("s", CWD)
                assert asyncio.get_running_loop().time() == began

        run(main())

    def test_that_never_ends_is_not_waited_for_any_longer_than_an_answer(self):
        async def main() -> None:
            agent = ScriptedAgent(1)

            async def load(asked: Any) -> None:
                asked.answer({})
                while True:
                    agent.update("user_message_chunk", content={"type": "text", "text": "more "})
                    await asyncio.sleep(0.1)

            agent.on("session/load", load)
            async with Client(agent, version=1) as client:
                began = asyncio.get_running_loop().time()
                await client.load_session("s", CWD)
                assert 100 < asyncio.get_running_loop().time() - began < 130

        run(main())

    def test_of_an_agent_that_dies_is_not_waited_for(self):
        async def main() -> None:
            agent = ScriptedAgent(1)

            def load(asked: Any) -> None:
                asked.answer({})
                agent.say("more")
                agent.die()

            agent.on("session/load", load)
            async with Client(agent, version=1) as client:
                began = asyncio.get_running_loop().time()
                session = await client.load_session("s", CWD)
                assert session.is_closed
                assert asyncio.get_running_loop().time() - began < 1

        run(main())


class TestModelsThatAreListed:
    """Gemini CLI gives them with a session, as an early draft of v1 had it, and has no option for them."""

    @pytest.mark.requirement("SESS-40", "AMB-06", "SESS-07")
    @pytest.mark.parametrize("version", [1, "2-draft"])
    async def test_are_an_option_like_any_other(self, version):
        agent = ScriptedAgent(version)
        agent.on("session/new", lambda asked: {"sessionId": "s", "models": MODELS})
        agent.on("session/set_model", lambda asked: {})
        told = []
        async with Client(agent, version=version, on_update=told.append) as client:
            session = await client.new_session(CWD)
            (option,) = session.options
            assert (option.category, option.value) == ("model", "auto")
            assert [(choice.value, choice.name) for choice in option.choices] == [("auto", "Auto"), ("pro", "Pro")]
            await session.set_option(option.id, "pro")
            assert agent.calls("session/set_model")[0].params == {"sessionId": "s", "modelId": "pro"}
            assert session.options[0].value == "pro"
        assert len(told) == 1

    async def test_are_left_alone_beside_an_option_for_them(self):
        agent = ScriptedAgent(1)
        known = {"id": "llm", "name": "LLM", "category": "model", "type": "select", "currentValue": "a", "options": []}
        answer = {"sessionId": "s", "models": MODELS, "configOptions": [known]}
        agent.on("session/new", lambda asked: answer)
        async with Client(agent, version=1) as client:
            session = await client.new_session(CWD)
            assert [option.id for option in session.options] == ["llm"]

    @pytest.mark.parametrize("told", [None, {}, [], "pro", {"currentModelId": "a"}, {**MODELS, "availableModels": [1]}])
    def test_are_nothing_when_they_look_like_something_else(self, told):
        assert models_to_option(told) is None
