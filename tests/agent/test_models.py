"""Models as v1 once had them: `models` beside the options, and `session/set_model`, for agents that switch them on."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Client
from accord.agent import Agent, Turn
from accord.dialects.all_versions.options import models_to_option, option_to_models
from accord.errors import InvalidParams, MethodNotFound, NotFound
from accord.session.entities import OptionChoice
from accord.session.requests import LoadSession, ResumeSession, SetModel
from accord.session.value import UNSET
from accord.store import MemoryStore
from accord.testing import ScriptedClient
from tests.agent.user import CWD, User, plain_agent

CHOICES = [OptionChoice(value="fast", name="Fast", description="Quick"), OptionChoice(value="good", name="Good")]
LISTED = [{"modelId": "fast", "name": "Fast", "description": "Quick"}, {"modelId": "good", "name": "Good"}]


def an_agent(**options: Any) -> tuple[Agent, list[str]]:
    agent = plain_agent(**{"legacy_models": True, **options})
    chosen: list[str] = []

    @agent.option("llm", name="LLM", choices=CHOICES, default="good", category="model")
    async def choose(session: Any, value: str) -> None:
        chosen.append(value)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(str(turn.options["llm"]))

    return agent, chosen


def results(user: User, member: str) -> list[dict[str, Any]]:
    return [frame["result"] for frame in user.sent() if member in (frame.get("result") or {})]


@pytest.mark.requirement("SESS-07", "AMB-06")
async def test_the_option_for_the_models_is_also_told_as_models(version):
    agent, _ = an_agent()
    async with User(agent, version) as user:
        await user.new_session()
        (opened,) = results(user, "sessionId")
        assert [option["category"] for option in opened["configOptions"]] == ["model"]
        if version == 2:
            assert "models" not in opened
        else:
            assert opened["models"] == {"currentModelId": "good", "availableModels": LISTED}


@pytest.mark.requirement("SESS-42", "RPC-12")
async def test_set_model_chooses_it_and_the_result_is_empty(version):
    agent, chosen = an_agent()
    async with User(agent, version) as user:
        session = await user.new_session()
        if version == 2:
            with pytest.raises(MethodNotFound):
                await user.call("session/set_model", {"sessionId": session, "modelId": "fast"})
            return
        assert await user.call("session/set_model", {"sessionId": session, "modelId": "fast"}) == {}
        assert chosen == ["fast"]
        await user.until("options llm=fast")
        await user.prompt(session, "which?")
        assert user.said(session) == "fast"


@pytest.mark.requirement("SESS-42")
@pytest.mark.parametrize("legacy", [1, "2-draft"])
async def test_a_model_that_is_not_there_is_refused(legacy):
    agent, chosen = an_agent()
    async with User(agent, legacy) as user:
        session = await user.new_session()
        with pytest.raises(InvalidParams) as caught:
            await user.ask(SetModel(session_id=session, model_id="huge"))
        assert caught.value.field == "modelId"
        with pytest.raises(NotFound):
            await user.ask(SetModel(session_id="nobody", model_id="fast"))
        assert chosen == []


@pytest.mark.requirement("AMB-06")
@pytest.mark.parametrize("legacy", [1, "2-draft"])
async def test_it_is_off_unless_switched_on_and_there_are_models(legacy):
    off, _ = an_agent(legacy_models=False)
    untold = plain_agent()
    untold.option("model", choices=CHOICES)
    without = plain_agent(legacy_models=True)
    without.option("mode", choices=["ask"])
    for agent in (off, untold, without):
        async with User(agent, legacy) as user:
            session = await user.new_session()
            assert results(user, "models") == []
            with pytest.raises(MethodNotFound):
                await user.ask(SetModel(session_id=session, model_id="fast"))


@pytest.mark.requirement("SESS-07")
@pytest.mark.parametrize("legacy", [1, "2-draft"])
async def test_a_session_that_is_taken_up_again_tells_the_model_that_was_chosen(legacy):
    store = MemoryStore()
    agent, _ = an_agent(store=store)
    async with User(agent, legacy) as user:
        session = await user.new_session()
        await user.ask(SetModel(session_id=session, model_id="fast"))
    for asked in (LoadSession(session_id=session, cwd=CWD), ResumeSession(session_id=session, cwd=CWD)):
        again, _ = an_agent(store=store)
        async with User(again, legacy) as user:
            await user.ask(asked)
            (opened,) = results(user, "models")
            assert opened["models"]["currentModelId"] == "fast"


@pytest.mark.requirement("SESS-42", "SESS-40")
async def test_our_own_client_shows_the_models_once_and_sets_the_option(version, tmp_path):
    agent, chosen = an_agent()
    async with Client(agent, version=version) as client:
        session = await client.new_session(tmp_path)
        (option,) = session.options
        assert (option.id, option.category, option.value) == ("llm", "model", "good")
        await session.set_option("llm", "fast")
        assert chosen == ["fast"]
        assert (await session.prompt("which?")).text == "fast"


@pytest.mark.requirement("SESS-42")
async def test_a_client_that_knows_nothing_but_models_can_choose_one():
    agent, chosen = an_agent()
    async with ScriptedClient(agent, 1) as client:
        await client.initialize()
        opened = (await client.ask("session/new", {"cwd": CWD, "mcpServers": []})).result
        model = opened["models"]["availableModels"][0]["modelId"]
        said = await client.ask("session/set_model", {"sessionId": opened["sessionId"], "modelId": model})
        assert said.result == {}
        assert chosen == ["fast"]


def test_what_is_written_is_what_is_read():
    agent, _ = an_agent()
    options = [offered.option for offered in agent._definition.options.values()]
    option = models_to_option(option_to_models(options))
    assert option is not None
    assert (option.value, option.choices) == ("good", CHOICES)
    assert option_to_models([]) is UNSET
