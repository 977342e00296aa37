"""Messages between raw clients and raw agents: where they go, with which ids, and what the router says itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.asgi_driver import until
from tests.relay.raw_peers import Message, RawAgent, RawClient, RawFarm

pytestmark = pytest.mark.timeout(60)

RESUME = {"sessionCapabilities": {"resume": {}}}
PERMISSION = {
    "sessionId": "s0",
    "toolCall": {"toolCallId": "c1", "title": "Delete"},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}
YES = {"outcome": {"outcome": "selected", "optionId": "yes"}}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


async def two_clients(farm: RawFarm, **options: Any) -> tuple[RawClient, RawClient, RawAgent]:
    """Two clients on one session."""
    router = farm.router()
    first, second = RawClient(router), RawClient(router)
    await first.start(**options)
    await second.start(**options)
    await first.new()
    await second.request("session/load", {"sessionId": "s0", "cwd": "/", "mcpServers": []})
    return first, second, farm.agents[0]


def prompt(client: RawClient, text: str = "Hi", session: str = "s0", id: Any = None) -> Any:
    return client.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]}, id)


async def test_ids_of_any_kind_are_those_of_the_client():
    farm = RawFarm()
    farm.answers["_x"] = {"ok": True}
    client = RawClient(farm.router())
    await client.start()
    for id in (7, "seven", "sch\u00f6n", 0, -1):
        assert await client.request("_x", {"a": [1, 2.5, None]}, id) == {"ok": True}
    assert [each["params"] for each in farm.agents[0].requests("_x")] == [{"a": [1, 2.5, None]}] * 5


async def test_a_cancelled_request_is_cancelled_by_the_id_that_the_agent_knows():
    farm = RawFarm()
    farm.answers["_slow"] = None
    client = RawClient(farm.router())
    await client.start()
    client.ask("_slow", id="mine")
    client.send(method="$/cancel_request", params={"requestId": "mine"})
    await until(lambda: farm.agents[0].requests("$/cancel_request"))
    (slow,), (cancel,) = farm.agents[0].requests("_slow"), farm.agents[0].requests("$/cancel_request")
    assert cancel["params"]["requestId"] == slow["id"]


async def test_a_prompt_of_another_client_is_told_before_the_answer():
    first, second, agent = await two_clients(RawFarm())
    id = prompt(first)
    await until(lambda: agent.requests("session/prompt"))
    agent.say("s0", "Hello")
    agent.send(id=agent.requests("session/prompt")[0]["id"], result={"stopReason": "end_turn"})
    assert await first.response(id) == {"stopReason": "end_turn"}
    await until(lambda: len(second.texts()) == 2)
    assert second.texts() == [("user_message_chunk", "Hi"), ("agent_message_chunk", "Hello")]
    assert first.texts() == [("agent_message_chunk", "Hello")]


async def test_a_prompt_that_the_agent_echoes_is_told_once():
    first, second, agent = await two_clients(RawFarm())
    prompt(first)
    await until(lambda: agent.requests("session/prompt"))
    agent.update("s0", sessionUpdate="user_message_chunk", content={"type": "text", "text": "Hi"})
    agent.say("s0", "Hello")
    await until(lambda: len(second.texts()) == 2)
    assert second.texts() == first.texts() == [("user_message_chunk", "Hi"), ("agent_message_chunk", "Hello")]


async def test_a_refused_prompt_is_not_told():
    farm = RawFarm()
    farm.answers["session/prompt"] = LookupError({"code": -32602, "message": "no"})
    first, second, _ = await two_clients(farm)
    assert (await first.response(prompt(first)))["code"] == -32602
    await second.request("_x")
    assert second.texts() == []


async def test_another_client_can_answer_but_not_dismiss():
    first, second, agent = await two_clients(RawFarm())
    prompt(first)
    await until(lambda: agent.requests("session/prompt"))
    for expected in (CANCELLED, YES):
        agent.send(id=f"q-{expected}", method="session/request_permission", params=PERMISSION)
        await until(lambda: first.requests("session/request_permission"))
        await until(lambda: second.requests("session/request_permission"))
        (mine,), (theirs,) = (each.requests("session/request_permission") for each in (first, second))
        assert "_meta" not in mine["params"]
        assert theirs["params"]["_meta"] == {"accord/shared": True}
        second.send(id=theirs["id"], result=expected)
        if expected is CANCELLED:
            await second.request("_x")
            assert not [each for each in agent.received if each.get("id") == f"q-{expected}"]
            first.send(id=mine["id"], result=expected)
        await until(lambda: any(each.get("id") == f"q-{expected}" for each in agent.received))  # noqa: B023
        if expected is YES:
            await until(lambda: any(each.get("method") == "$/cancel_request" for each in first.received))
        first.received.clear()
        second.received.clear()


async def test_a_question_that_the_agent_withdraws_disappears_everywhere():
    first, second, agent = await two_clients(RawFarm())
    agent.send(id=1, method="session/request_permission", params=PERMISSION)
    await until(lambda: first.requests("session/request_permission") and second.requests("session/request_permission"))
    agent.send(method="$/cancel_request", params={"requestId": 1})
    for client in (first, second):
        await until(lambda: any(each.get("method") == "$/cancel_request" for each in client.received))  # noqa: B023


async def test_a_cancel_answers_the_questions_of_all_clients():
    first, second, agent = await two_clients(RawFarm())
    prompt(first)
    agent.send(id=9, method="session/request_permission", params=PERMISSION)
    await until(lambda: first.requests("session/request_permission"))
    second.send(method="session/cancel", params={"sessionId": "s0"})
    await until(lambda: any(each.get("id") == 9 for each in agent.received))
    assert agent.received[-1]["result"] == CANCELLED


async def test_files_are_those_of_the_client_that_prompted():
    farm = RawFarm()
    first, second, agent = await two_clients(farm, fs={"readTextFile": True})
    prompt(second)
    await until(lambda: agent.requests("session/prompt"))
    agent.send(id=5, method="fs/read_text_file", params={"sessionId": "s0", "path": "/x"})
    await until(lambda: second.requests("fs/read_text_file"))
    second.send(id=second.requests("fs/read_text_file")[0]["id"], result={"content": "text"})
    await until(lambda: any(each.get("id") == 5 for each in agent.received))
    assert agent.received[-1]["result"] == {"content": "text"}
    assert not first.requests("fs/read_text_file")
    agent.send(id=6, method="terminal/create", params={"sessionId": "s0", "command": "x"})
    await until(lambda: any(each.get("id") == 6 for each in agent.received))
    assert agent.received[-1]["error"]["code"] == -32601


async def test_a_file_request_fails_when_its_client_leaves():
    _, second, agent = await two_clients(RawFarm(), fs={"readTextFile": True})
    prompt(second)
    await until(lambda: agent.requests("session/prompt"))
    agent.send(id=5, method="fs/read_text_file", params={"sessionId": "s0", "path": "/x"})
    await until(lambda: second.requests("fs/read_text_file"))
    await second.close()
    await until(lambda: any(each.get("id") == 5 for each in agent.received))
    assert "has left" in agent.received[-1]["error"]["message"]


async def test_an_option_that_one_client_sets_is_told_to_the_others():
    farm = RawFarm()
    options = [{"id": "mode", "name": "Mode", "type": "select", "currentValue": "code", "options": []}]
    farm.answers["session/set_config_option"] = {"configOptions": options}
    first, second, _ = await two_clients(farm)
    await first.request("session/set_config_option", {"sessionId": "s0", "configId": "mode", "value": "code"})
    await until(second.texts)
    assert second.texts() == [("config_option_update", "")]
    third = RawClient(first.router)
    await third.start()
    assert (await third.request("session/load", {"sessionId": "s0", "cwd": "/"}))["configOptions"] == options


async def test_batches_are_answered_as_batches():
    farm = RawFarm()
    farm.answers["_x"] = {"ok": True}
    client = RawClient(farm.router())
    await client.start()
    entries = [{"jsonrpc": "2.0", "id": id, "method": "_x"} for id in ("a", "b")]
    client.send_raw([*entries, {"jsonrpc": "2.0", "method": "_note"}, 5])
    await until(lambda: isinstance(client.received[-1], list))
    batch: list[Message] = client.received[-1]
    assert {str(each["id"]) for each in batch} == {"a", "b", "None"}
    client.send_raw([])
    await until(lambda: isinstance(client.received[-1], dict))
    assert client.received[-1]["error"]["code"] == -32600


@pytest.mark.parametrize(("frame", "code"), [(b"{", -32700), (b"5", -32700), (b'{"jsonrpc":"2.0"}', -32600)])
async def test_what_is_not_a_message_is_answered_by_the_router(frame: bytes, code: int):
    farm = RawFarm()
    client = RawClient(farm.router())
    await client.open()
    client.send_raw(frame)
    await until(lambda: client.received)
    assert (client.received[0]["id"], client.received[0]["error"]["code"]) == (None, code)
    assert (await client.request("session/new"))["code"] == -32600
    assert farm.agents == []


async def test_a_form_about_a_request_names_the_id_of_the_client():
    farm = RawFarm()
    farm.answers["_slow"] = None
    client = RawClient(farm.router())
    await client.start(elicitation={"form": {}})
    client.ask("_slow", id="mine")
    await until(lambda: farm.agents[0].requests("_slow"))
    params = {"requestId": farm.agents[0].requests("_slow")[0]["id"], "mode": "form", "message": "Name?"}
    farm.agents[0].send(id="form", method="elicitation/create", params=params)
    await until(lambda: client.requests("elicitation/create"))
    (form,) = client.requests("elicitation/create")
    assert form["params"] == {**params, "requestId": "mine"}
    client.send(id=form["id"], result={"action": "decline"})
    await until(lambda: any(each.get("id") == "form" for each in farm.agents[0].received))


async def test_notifications_without_a_session_go_to_all_clients():
    first, second, agent = await two_clients(RawFarm())
    agent.send(method="elicitation/complete", params={"elicitationId": "e"})
    for client in (first, second):
        await until(lambda: client.received[-1].get("method") == "elicitation/complete")  # noqa: B023


async def test_a_mode_that_one_client_sets_is_told_to_the_others_and_to_who_comes_later():
    farm = RawFarm()
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]}
    farm.answers["session/new"] = {"sessionId": "s0", "modes": modes}
    farm.answers["session/set_mode"] = {}
    first, second, _ = await two_clients(farm)
    await first.request("session/set_mode", {"sessionId": "s0", "modeId": "code"})
    await until(second.texts)
    assert second.received[-1]["params"]["update"] == {"sessionUpdate": "current_mode_update", "currentModeId": "code"}
    third = RawClient(first.router)
    await third.start()
    setup = await third.request("session/load", {"sessionId": "s0", "cwd": "/"})
    assert setup["modes"] == {**modes, "currentModeId": "code"}


async def test_a_client_that_closes_a_shared_session_leaves_it_and_the_last_one_ends_it():
    farm = RawFarm()
    farm.answers["session/close"] = {}
    first, second, agent = await two_clients(farm)
    assert await first.request("session/close", {"sessionId": "s0"}) == {}
    assert not agent.requests("session/close")
    agent.say("s0", "Hello")
    await until(second.texts)
    assert first.texts() == []
    assert await second.request("session/close", {"sessionId": "s0"}) == {}
    assert len(agent.requests("session/close")) == 1
    assert second.router.snapshot().sessions == ()
    await first.close()  # whose own process it was
    await until(lambda: agent.is_closed)


async def test_a_fork_lives_in_the_process_of_its_session():
    farm = RawFarm()
    farm.answers["session/fork"] = {"sessionId": "fork"}
    first, second, agent = await two_clients(farm)
    assert await second.request("session/fork", {"sessionId": "s0", "cwd": "/"}) == {"sessionId": "fork"}
    prompt(second, session="fork")
    await until(lambda: agent.requests("session/prompt"))
    agent.say("fork", "Hello")
    await until(second.texts)
    assert first.texts() == []
    assert [each.id for each in first.router.snapshot().sessions] == ["s0", "fork"]
    assert len(farm.agents) == 1


async def test_a_server_that_ends_cancels_the_turns_first():
    first, second, agent = await two_clients(RawFarm())
    id = prompt(first)
    await until(lambda: agent.requests("session/prompt"))
    agent.send(id="q", method="session/request_permission", params=PERMISSION)
    await until(lambda: second.requests("session/request_permission"))
    first.router.drain()
    await until(lambda: agent.requests("session/cancel"))
    await until(lambda: any(each.get("id") == "q" and each["result"] == CANCELLED for each in agent.received))
    agent.send(id=agent.requests("session/prompt")[0]["id"], result={"stopReason": "cancelled"})
    assert await first.response(id) == {"stopReason": "cancelled"}
    await first.router.aclose()
    assert agent.is_closed
