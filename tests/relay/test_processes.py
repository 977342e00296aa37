"""Processes behind a router: started, put to sleep, woken, lost and limited."""

from __future__ import annotations

from typing import Any

import pytest

from accord.jsonrpc.error_codes import RATE_LIMITED
from accord.relay import routed_connection
from tests.asgi_driver import until
from tests.relay.raw_peers import Message, RawAgent, RawClient, RawFarm
from tests.relay.test_routes import PERMISSION, RESUME, prompt

pytestmark = pytest.mark.timeout(60)

LOAD: dict[str, Any] = {"loadSession": True}
OPEN = {"sessionId": "s0", "cwd": "/", "mcpServers": []}


def says(text: str, result: Any) -> Any:
    """An answer that follows an update."""

    def answer(agent: RawAgent, message: Message) -> Any:
        agent.say(message["params"]["sessionId"], text)
        return result

    return answer


def with_prompt(farm: RawFarm, text: str = "Hello") -> RawFarm:
    farm.answers["session/prompt"] = says(text, {"stopReason": "end_turn"})
    return farm


async def test_a_session_sleeps_and_is_resumed_by_the_next_prompt():
    farm = with_prompt(RawFarm(**RESUME))
    farm.answers["session/resume"] = {}
    router = farm.router(idle_seconds=0.05)
    client = RawClient(router)
    await client.start()
    await client.new()
    await until(lambda: router.snapshot().sessions[0].state == "asleep")
    await until(lambda: hosts(farm)[0].is_closed)
    assert await client.response(prompt(client)) == {"stopReason": "end_turn"}
    (woken,) = [each for each in farm.agents if each.requests("session/prompt")]
    assert woken.methods() == ["initialize", "session/resume", "session/prompt"]
    assert woken.requests("session/resume")[0]["params"] == OPEN
    assert client.texts() == [("agent_message_chunk", "Hello")]


async def test_the_history_of_a_session_that_is_loaded_to_wake_it_is_not_sent_again():
    farm = with_prompt(RawFarm(**LOAD))
    farm.answers["session/load"] = says("old", {})
    router = farm.router(idle_seconds=0.05)
    client = RawClient(router)
    await client.start()
    await client.new()
    await until(lambda: router.snapshot().sessions[0].state == "asleep")
    assert await client.response(prompt(client)) == {"stopReason": "end_turn"}
    assert client.texts() == [("agent_message_chunk", "Hello")]


def hosts(farm: RawFarm) -> list[RawAgent]:
    """The agents that have sessions, in the order of these."""
    return [each for each in farm.agents if each.requests("session/new")]


async def test_an_agent_that_can_neither_load_nor_resume_keeps_its_process_for_its_client():
    farm = with_prompt(RawFarm())
    router = farm.router(idle_seconds=0.05)
    first, second = RawClient(router), RawClient(router)
    for client in (first, second):
        await client.start()
        await client.new()
    await first.close()
    await until(lambda: hosts(farm)[0].is_closed)
    assert [each.id for each in router.snapshot().sessions] == ["s1"]
    assert await second.response(prompt(second, session="s1")) == {"stopReason": "end_turn"}


async def test_a_running_turn_keeps_its_process_without_any_client():
    farm = RawFarm(**RESUME)
    router = farm.router(idle_seconds=0.05)
    client, watch = RawClient(router), RawClient(router)
    await client.start()
    await client.new()
    (agent,) = hosts(farm)
    prompt(client)
    await until(lambda: agent.requests("session/prompt"))
    await client.close()
    await watch.start()
    await watch.new()
    await until(lambda: hosts(farm)[1].is_closed)  # idle as long as the other
    assert router.snapshot().sessions[0].state == "running"
    agent.send(id=agent.requests("session/prompt")[0]["id"], result={"stopReason": "end_turn"})
    await until(lambda: agent.is_closed)


async def test_a_question_that_nobody_comes_back_to_is_cancelled():
    farm = RawFarm(**RESUME)
    client = RawClient(farm.router(idle_seconds=0.05))
    await client.start()
    await client.new()
    prompt(client)
    (agent,) = hosts(farm)
    await until(lambda: agent.requests("session/prompt"))
    await client.close()
    agent.send(id="q", method="session/request_permission", params=PERMISSION)
    await until(lambda: any(each.get("id") == "q" for each in agent.received))
    assert "session/cancel" in agent.methods()


async def test_further_processes_get_the_logins_that_succeeded():
    farm = RawFarm()
    farm.answers["authenticate"] = {}
    client = RawClient(farm.router())
    await client.start()
    await client.request("authenticate", {"methodId": "key"})
    for _ in range(2):
        await client.new()
    assert farm.agents[0].methods() == farm.agents[1].methods() == ["initialize", "authenticate", "session/new"]
    farm.answers["logout"] = farm.agents[0].answers["logout"] = {}
    await client.request("logout")
    await client.new()
    assert farm.agents[2].methods() == ["initialize", "session/new"]


async def test_a_process_that_can_not_be_prepared_fails_the_request_with_its_error():
    farm = with_prompt(RawFarm(**RESUME))
    farm.answers["session/resume"] = LookupError({"code": -32002, "message": "gone"})
    router = farm.router(idle_seconds=0.05)
    client = RawClient(router)
    await client.start()
    await client.new()
    await until(lambda: router.snapshot().sessions[0].state == "asleep")
    assert (await client.response(prompt(client)))["message"] == "gone"


async def test_a_record_that_was_cut_is_sent_by_the_agent_to_the_client_that_loads():
    farm = with_prompt(RawFarm(**LOAD), "a long text")
    farm.answers["session/load"] = says("history", {})
    router = farm.router(record_bytes=100)
    first, second = RawClient(router), RawClient(router)
    await first.start()
    await second.start()
    await first.new()
    await first.response(prompt(first))
    assert await second.request("session/load", OPEN) == {}
    assert second.texts() == [("agent_message_chunk", "history")]
    assert first.texts() == [("agent_message_chunk", "a long text")]
    farm.agents[0].answers["session/prompt"] = None
    prompt(first)
    third = RawClient(router)
    await third.start()
    assert "too long" in (await third.request("session/load", OPEN))["message"]
    farm.agents[0].say("s0", "for all")
    await until(lambda: second.texts()[-1] == first.texts()[-1] == ("agent_message_chunk", "for all"))
    assert len(farm.agents) == 1


async def test_versions_can_not_be_mixed_in_one_session():
    farm = RawFarm(session={}, **LOAD)
    farm.answers["session/resume"] = {}
    router = farm.router()
    first, second = RawClient(router), RawClient(router)
    await first.start(1)
    await second.start(2)
    await first.new()
    assert "version 1" in (await second.request("session/resume", OPEN))["message"]
    await first.close()
    assert await second.request("session/resume", OPEN) == {}
    assert [each.pid for each in router.snapshot().sessions] == [None]
    await until(lambda: farm.agents[0].is_closed)


async def test_the_idle_state_of_a_lost_process_is_told_in_version_2():
    farm = RawFarm(session={})
    farm.answers["session/prompt"] = {"messageId": "m"}
    client = RawClient(farm.router())
    await client.start(2)
    await client.new()
    await client.response(prompt(client))
    farm.agents[0].update("s0", sessionUpdate="state_update", state="running")
    await until(client.texts)
    await farm.agents[0].transport.aclose()
    await until(lambda: len(client.texts()) == 2)
    update = client.received[-1]["params"]["update"]
    assert (update["state"], update["stopReason"]) == ("idle", "error")
    assert "process ended" in update["error"]["message"]


async def test_loads_of_one_session_at_the_same_time_open_it_once():
    farm = RawFarm(**LOAD)
    farm.answers["session/load"] = None
    router = farm.router()
    first, second = RawClient(router), RawClient(router)
    await first.start()
    await second.start()
    ids = [client.ask("session/load", OPEN) for client in (first, second)]
    await until(lambda: any(agent.requests("session/load") for agent in farm.agents))
    (agent,) = [each for each in farm.agents if each.requests("session/load")]
    agent.say("s0", "history")
    agent.send(id=agent.requests("session/load")[0]["id"], result={"modes": {}})
    for client, id in zip((first, second), ids, strict=True):
        assert await client.response(id) == {"modes": {}}
        assert client.texts() == [("agent_message_chunk", "history")]
    assert sum(len(each.requests("session/load")) for each in farm.agents) == 1


async def test_a_reconnect_storm_starts_no_process():
    """FN-64: connections alone start no process, each with a trace context of its own or without."""
    farm = with_prompt(RawFarm(**RESUME))
    router = farm.router(rate=1e6)
    client = RawClient(router)
    await client.start()
    await client.new()
    for number in range(100):
        other = RawClient(router)
        await other.open()
        meta = {"_meta": {"traceparent": f"00-{number:032x}-{number:016x}-01"}} if number % 2 else {}
        await other.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}, **meta})
        await other.request("session/resume", OPEN)
        await other.close()
    assert len(farm.agents) == 1
    assert router.snapshot().totals.connections == 101


async def test_warm_processes_are_started_in_advance():
    farm = RawFarm()
    router = farm.router(warm=2)
    client = RawClient(router)
    await client.open()
    await until(lambda: len(farm.agents) == 2)
    assert [each.state for each in router.snapshot().processes] == ["warm", "warm"]
    await client.request("initialize", {"protocolVersion": 1})
    await until(lambda: len(farm.agents) == 3)
    assert sorted(each.state for each in router.snapshot().processes) == ["used", "warm", "warm"]


async def test_the_process_that_was_idle_for_the_longest_time_makes_room():
    farm = with_prompt(RawFarm(**RESUME))
    farm.answers["session/resume"] = {}
    router = farm.router(processes=2)
    client = RawClient(router)
    await client.start()
    for _ in range(3):
        await client.new()
    assert len(router.snapshot().processes) == 2
    assert [each.state for each in router.snapshot().sessions] == ["asleep", "idle", "idle"]
    assert await client.response(prompt(client)) == {"stopReason": "end_turn"}


async def test_too_many_sessions_processes_and_requests_are_refused():
    farm = RawFarm()
    router = farm.router(processes=2, sessions=3, rate=5)
    client = RawClient(router, "ada")
    await client.start()
    for _ in range(2):
        await client.new()
    refused = await client.request("session/new", {"cwd": "/"})
    assert (refused["code"], refused["data"]) == (RATE_LIMITED, {"reason": "rate_limited"})
    assert "processes" in refused["message"]
    for _ in range(10):
        refused = await client.request("_x")
    assert "rate limit" in refused["message"]
    assert router.snapshot().totals.refused >= 2
    other = RawClient(router, "bob")
    assert (await other.start())["protocolVersion"] == 1


async def test_a_client_that_does_not_read_is_disconnected_and_does_not_stop_the_others():
    farm = RawFarm(**RESUME)
    router = farm.router(unread_bytes=200_000)
    first, second = RawClient(router), RawClient(router)
    await first.start()
    await second.start()
    await first.new()
    await second.request("session/resume", OPEN)
    second.transport.pause_receiving()
    for _ in range(400):
        farm.agents[0].say("s0", "x" * 1000)
    await until(lambda: len(first.texts()) == 400)
    assert "does not read" in str(second.link.lost)
    await until(lambda: len(router.snapshot().connections) == 1)


async def test_a_process_waits_for_the_only_client_that_reads_it():
    farm = RawFarm()
    router = farm.router(unread_bytes=10_000_000)
    client = RawClient(router)
    await client.start()
    await client.new()
    client.transport.pause_receiving()
    for _ in range(1000):
        farm.agents[0].say("s0", "x" * 1000)
    await until(lambda: client.link.unsent > 50_000)
    for _ in range(3):
        assert client.link.unsent < 400_000
        await router_turn()
    client.transport.resume_receiving()
    await until(lambda: len(client.texts()) == 1000)


async def router_turn() -> None:
    """Let everything run that can."""
    seen: list[int] = []
    await until(lambda: len(seen) > 20 or seen.append(1))


async def test_sessions_of_other_users_do_not_exist():
    farm = RawFarm(**RESUME)
    entries = [{"sessionId": "s0", "cwd": "/"}, {"sessionId": "old", "cwd": "/"}]
    farm.answers["session/list"] = {"sessions": entries, "nextCursor": "x"}
    farm.answers["session/resume"] = {}
    router = farm.router()
    ada, bob, phone = RawClient(router, "ada"), RawClient(router, "bob"), RawClient(router, "ada")
    for client in (ada, bob, phone):
        await client.start()
    await ada.new()
    for method in ("session/resume", "session/load", "session/prompt", "session/delete", "session/fork"):
        assert (await bob.request(method, OPEN))["code"] == -32002
    assert await bob.request("session/list") == {"sessions": [], "nextCursor": "x"}
    assert await ada.request("session/list") == {"sessions": entries[:1], "nextCursor": "x"}
    assert await phone.request("session/resume", OPEN) == {}


async def test_a_client_waits_for_a_process_that_is_not_ready():
    farm = with_prompt(RawFarm(**LOAD))
    farm.answers["session/load"] = {}
    client = RawClient(farm.router())
    await client.start()
    await client.new()
    farm.answers["initialize"] = None
    client.ask("session/load", {"sessionId": "big", "cwd": "x" * 100_000})
    await until(lambda: len(farm.agents) == 2 and farm.agents[1].received)
    ids = [client.ask("session/prompt", {"sessionId": "big", "prompt": ["x" * 50_000]}) for _ in range(40)]
    await router_turn()
    assert client.transport.unsent > 1_000_000
    farm.agents[1].send(id=farm.agents[1].received[0]["id"], result={"protocolVersion": 1})
    for id in ids:
        assert await client.response(id) == {"stopReason": "end_turn"}


async def test_too_many_open_requests_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routed_connection, "_MOST_REQUESTS", 3)
    farm = RawFarm()
    farm.answers["_slow"] = None
    client = RawClient(farm.router())
    await client.start()
    for _ in range(3):
        client.ask("_slow")
    assert "too many open requests" in (await client.request("_slow"))["message"]
