"""Answers of agents that leave out what the protocol wants in them: understood, and in strict mode refused."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Client
from accord.errors import Malformed
from accord.testing import ScriptedAgent
from tests.client.words import CWD

pytestmark = pytest.mark.bad_frames

SHORT = [{}, None, [], {"configOptions": None}]


def options(version: Any, **values: Any) -> list[dict[str, Any]]:
    """A select and a switch, as an agent of the version tells them."""
    values = {"effort": "low", "web": False, **values}
    id_key = "configId" if version == 2 else "id"
    efforts = [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}]
    return [
        {id_key: "effort", "name": "Effort", "type": "select", "currentValue": values["effort"], "options": efforts},
        {id_key: "web", "name": "Web", "type": "boolean", "currentValue": values["web"]},
    ]


def agent_with_options(version: Any) -> ScriptedAgent:
    agent = ScriptedAgent(version)
    agent.on("session/new", lambda asked: {"sessionId": "s", "configOptions": options(version)})
    return agent


class TestAnOptionThatIsSet:
    @pytest.mark.parametrize("answer", SHORT, ids=["empty", "null", "list", "member-null"])
    async def test_has_the_chosen_value_when_the_agent_does_not_say_which(self, version, answer):
        """FN-103: droid answers `{}`."""
        agent = agent_with_options(version)
        agent.on("session/set_config_option", lambda asked: asked.answer(answer))
        told: list[Any] = []
        async with Client(agent, version=version, strict=False, on_update=told.append) as client:
            session = await client.new_session(CWD)
            await session.set_option("effort", "high")
            assert [option.value for option in session.options] == ["high", False]
            await session.set_option("web", True)
            assert [option.value for option in session.options] == ["high", True]
        assert len(told) == 2

    async def test_has_the_value_that_an_update_told_before_the_answer(self, version):
        """FN-103: the last reported options stand."""
        agent = agent_with_options(version)

        def refuse(asked: Any) -> dict[str, Any]:
            agent.update("config_option_update", configOptions=options(version, web=True))
            return {}

        agent.on("session/set_config_option", refuse)
        async with Client(agent, version=version, strict=False) as client:
            session = await client.new_session(CWD)
            await session.set_option("effort", "high")
            assert [option.value for option in session.options] == ["low", True]

    @pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
    async def test_has_the_chosen_value_though_the_mode_changed_meanwhile(self, version):
        agent = ScriptedAgent(version)
        modes = [{"value": "ask", "name": "Ask"}, {"value": "code", "name": "Code"}]
        mode = {
            "id": "mode",
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": "ask",
            "options": modes,
        }
        agent.on("session/new", lambda asked: {"sessionId": "s", "configOptions": [mode, *options(version)]})

        def switch(asked: Any) -> dict[str, Any]:
            agent.update("current_mode_update", currentModeId="code")
            return {}

        agent.on("session/set_config_option", switch)
        async with Client(agent, version=version, strict=False) as client:
            session = await client.new_session(CWD)
            await session.set_option("effort", "high")
            assert [option.value for option in session.options] == ["code", "high", False]

    async def test_is_an_error_in_strict_mode(self, version):
        agent = agent_with_options(version)
        agent.on("session/set_config_option", lambda asked: {})
        async with Client(agent, version=version, strict=True) as client:
            session = await client.new_session(CWD)
            with pytest.raises(Malformed, match=r"\$\.configOptions: required"):
                await session.set_option("effort", "high")
            assert session.options[0].value == "low"


class TestAListOfSessions:
    @pytest.mark.parametrize("answer", [None, {}, [], {"sessions": None}], ids=["null", "empty", "list", "member-null"])
    async def test_is_empty_when_the_answer_is(self, version, answer):
        """FN-103: deepagents-acp answers `null`."""
        agent = ScriptedAgent(version)
        agent.on("session/list", lambda asked: asked.answer(answer))
        async with Client(agent, version=version, strict=False) as client:
            assert [summary async for summary in client.list_sessions()] == []

    @pytest.mark.parametrize(
        ("answer", "message"),
        [(None, r"at \$: expected `object`, got `null`"), ({}, r"at \$\.sessions: required")],
        ids=["null", "empty"],
    )
    async def test_is_an_error_in_strict_mode(self, version, answer, message):
        agent = ScriptedAgent(version)
        agent.on("session/list", lambda asked: asked.answer(answer))
        async with Client(agent, version=version, strict=True) as client:
            with pytest.raises(Malformed, match=message):
                [summary async for summary in client.list_sessions()]


@pytest.mark.parametrize("answer", [None, {}], ids=["null", "empty"])
async def test_a_prompt_of_v2_may_be_accepted_without_an_id_as_first_published(answer):
    agent = ScriptedAgent(2)

    def accept(asked: Any) -> None:
        asked.answer(answer)
        agent.update("state_update", state="running")
        agent.update("agent_message_chunk", messageId="m", content={"type": "text", "text": "Done."})
        agent.update("state_update", state="idle", stopReason="end_turn")

    agent.on("session/prompt", accept)
    async with Client(agent, version=2, strict=False) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("Go")
        assert ((await reply).text, reply.stop_reason) == ("Done.", "end_turn")
        assert [message.text for message in session.transcript.messages.values()] == ["Go", "Done."]


@pytest.mark.requirement("AMB-01", "AMB-04")
async def test_null_results_that_the_documents_show_are_taken_in_strict_mode_too():
    agent = ScriptedAgent(1)
    agent.on("session/load", lambda asked: asked.answer(None))
    async with Client(agent, version=1, strict=True) as client:
        assert (await client.load_session("s", CWD)).id == "s"
