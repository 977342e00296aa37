"""What a server knows of its traffic: counts, open requests, and what each session does."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from accord.agent.asgi import AgentApplication
from accord.dialects.negotiation import ProtocolVersion
from accord.schema.v1.methods import METHODS as V1
from accord.schema.v2.methods import METHODS as V2
from accord.schema.v2_draft.methods import METHODS as V2_DRAFT
from accord.telemetry.messages import METHODS
from accord.telemetry.traffic import Traffic
from tests.agent.test_asgi import connect, initialize, new_agent, prompt
from tests.asgi_driver import Driver, until
from tests.telemetry.conftest import Conversation


def test_the_methods_that_are_labels_are_those_of_all_versions():
    assert {*V1, *V2, *V2_DRAFT} == METHODS


def test_a_prompt_of_v1_runs_until_its_answer(conversation: Conversation, traffic: Traffic):
    conversation.new_session("s")
    assert conversation.state("s") == "idle"
    request = conversation.ask("session/prompt", sessionId="s", prompt=[])
    assert conversation.state("s") == "running"
    conversation.answer(request, stopReason="end_turn")
    assert conversation.state("s") == "idle"
    assert traffic.requests["client", "session/prompt", "ok"] == 1
    assert sum(traffic.turns["end_turn"].counts) == 1


def test_a_turn_of_v2_runs_until_the_session_is_idle(conversation: Conversation, traffic: Traffic):
    conversation.new_session("s")
    conversation.answer(conversation.ask("session/prompt", sessionId="s", prompt=[]), messageId="m")
    conversation.update("s", sessionUpdate="state_update", state="running")
    conversation.update("s", sessionUpdate="state_update", state="running")
    assert conversation.state("s") == "running"
    conversation.update("s", sessionUpdate="state_update", state="idle", stopReason="end_turn")
    conversation.update("s", sessionUpdate="state_update", state="idle", stopReason="end_turn")
    assert conversation.state("s") == "idle"
    assert {reason: sum(turns.counts) for reason, turns in traffic.turns.items()} == {"end_turn": 1}


def test_a_session_waits_while_its_client_is_asked(conversation: Conversation, traffic: Traffic):
    conversation.new_session("s")
    conversation.ask("session/prompt", sessionId="s", prompt=[])
    conversation.tell({"id": 7, "method": "session/request_permission", "params": {"sessionId": "s"}})
    assert conversation.state("s") == "waiting"
    assert traffic.snapshot()["sessions"][0]["waits_for"] == "permission"
    conversation.hear({"id": 7, "result": {"outcome": {"outcome": "cancelled"}}})
    assert conversation.state("s") == "running"
    assert traffic.requests["agent", "session/request_permission", "ok"] == 1


def test_a_session_lives_as_long_as_one_of_its_connections(traffic: Traffic):
    first, second = Conversation(traffic, 1), Conversation(traffic, 2, user="ada")
    first.new_session("s")
    second.answer(second.ask("session/load", sessionId="s", cwd="/"))
    first.tell({"id": 1, "method": "session/request_permission", "params": {"sessionId": "s"}})
    first.tap.ended()
    assert second.state("s") == "idle", "the lost connection's question does not count any more"
    assert traffic.requests["agent", "session/request_permission", "lost"] == 1
    second.answer(second.ask("session/close", sessionId="s"))
    assert second.state("s") is None
    second.tap.ended()
    assert not traffic.connections


def test_a_session_that_could_not_be_loaded_is_none(conversation: Conversation):
    conversation.fail(conversation.ask("session/load", sessionId="s", cwd="/"), -32002)
    assert conversation.state("s") is None


@pytest.mark.parametrize(("code", "outcome"), [(-32603, "error"), (-32800, "cancelled")])
def test_an_error_and_a_cancel_are_told_apart(conversation: Conversation, traffic: Traffic, code: int, outcome: str):
    conversation.fail(conversation.ask("session/list"), code)
    assert dict(traffic.requests) == {("client", "session/list", outcome): 1}


def test_clients_cannot_make_up_labels(conversation: Conversation, traffic: Traffic):
    for number in range(200):
        conversation.answer(conversation.ask(f"made/up/{number}"))
        conversation.answer(conversation.ask(f"_acme/{number}"))
        request = conversation.ask("session/prompt", sessionId="s")
        conversation.answer(request, stopReason=f"made up {number}")
        traffic.refused(600 + number)
    assert {method for _, method, _ in traffic.requests} == {"unknown", "extension", "session/prompt"}
    assert set(traffic.turns) == {"other"}
    assert set(traffic.refusals) == {"other"}


def test_what_a_client_leaves_open_is_bounded(conversation: Conversation, traffic: Traffic):
    for number in range(5000):
        conversation.ask("session/list")
        conversation.new_session(f"s{number}")
    assert len(conversation.tap.requests) <= 4096
    assert len(traffic.sessions) <= 1024


def test_bytes_and_messages_are_counted_in_batches_and_garbage_too(conversation: Conversation, traffic: Traffic):
    conversation.hear([{"id": 1, "method": "session/list"}, {"id": 2, "method": "session/list"}])
    conversation.tap.received([b"{", b"[1, 2]", b'"text"'])
    conversation.tell([{"id": 1, "result": {}}, {"id": 2, "result": {}}])
    assert traffic.messages_in == 5
    assert traffic.messages_out == 2
    assert traffic.requests["client", "session/list", "ok"] == 2
    assert traffic.bytes_in == conversation.tap.bytes_in > 15


def test_nothing_of_a_prompt_is_in_the_snapshot(conversation: Conversation, traffic: Traffic):
    conversation.new_session("s")
    conversation.ask("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "very secret"}])
    conversation.update("s", sessionUpdate="agent_message_chunk", content={"type": "text", "text": "very secret"})
    snapshot = str(traffic.snapshot())
    assert "very secret" not in snapshot
    assert "the-secret-part" not in snapshot


@pytest.fixture
async def app(traffic: Traffic) -> AsyncIterator[AgentApplication]:
    app = new_agent().asgi()
    app.observer = traffic
    yield app
    await app.aclose()


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_conversations_over_http_are_seen(app: AgentApplication, traffic: Traffic, version: ProtocolVersion):
    connection = await connect(app, version)
    session_id = await connection.new_session()
    stream = await connection.session_stream(session_id)
    await connection.call("session/prompt", prompt(session_id, "hello"), session_id)
    await until(lambda: traffic.turns)
    assert traffic.snapshot()["sessions"][0]["id"] == session_id
    assert traffic.snapshot()["sessions"][0]["turns"] == 1
    assert traffic.snapshot()["connections"][0]["client"] == ("test 0" if version != 1 else None)
    assert traffic.bytes_out > len(stream.body) / 2
    await connection.driver.request("DELETE", connection.headers)
    await until(lambda: not traffic.connections)
    assert traffic.snapshot()["sessions"] == []


async def test_conversations_over_a_websocket_are_seen(app: AgentApplication, traffic: Traffic):
    socket = Driver(app).websocket()
    socket.send(initialize(2))
    await until(lambda: traffic.requests["client", "initialize", "ok"])
    assert traffic.connected_total == {"websocket": 1}
    await socket.disconnect()
    await until(lambda: not traffic.connections)


async def test_refusals_are_counted_by_their_reason(app: AgentApplication, traffic: Traffic):
    driver = Driver(app)
    await driver.request("POST", {"host": "evil.example"})
    await driver.request("PUT", {})
    await driver.request("POST", {"content-type": "text/plain"})
    assert traffic.refusals == {"foreign_host_or_origin": 1, "http_method": 1, "content_type": 1}
