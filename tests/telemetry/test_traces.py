"""The trace context reaches the agent, and OpenTelemetry gets a span for each request, without its text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from accord import Agent, Turn
from accord.store import MemoryStore
from accord.telemetry.traces import Traces
from accord.telemetry.traffic import Traffic
from accord.transports.trace_context import trace_of, with_trace
from tests.agent.test_asgi import connect, prompt
from tests.asgi_driver import until
from tests.telemetry.conftest import Conversation

TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=b"}


def frame(**params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params}).encode()


def test_a_context_is_put_into_the_meta_and_nothing_else_changes():
    original = frame(sessionId="s", big=12345678901234567890123, _meta={"other": 1})
    traced = json.loads(with_trace(original, TRACE))
    assert traced["params"].pop("_meta") == {"other": 1, **TRACE}
    assert traced["params"] == {"sessionId": "s", "big": 12345678901234567890123}
    assert b"12345678901234567890123" in with_trace(original, TRACE), "numbers stay as they were written"


def test_the_context_of_the_message_itself_wins():
    own = frame(_meta={"traceparent": "00-00000000000000000000000000000001-0000000000000001-00"})
    assert with_trace(own, TRACE) == own
    assert trace_of(with_trace(own, TRACE, replace=True)) == TRACE


@pytest.mark.parametrize(
    "untouched",
    [
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":3}}',
        b'[{"jsonrpc":"2.0","id":1,"method":"x","params":{}}]',
        b"nonsense",
    ],
)
def test_what_is_no_request_with_params_stays_as_it_is(untouched: bytes):
    assert with_trace(untouched, TRACE) == untouched


@pytest.mark.parametrize(
    "header", ["nonsense", "00-" + "0" * 32 + "-b7ad6b7169203331-01", "ff" + TRACE["traceparent"][2:]]
)
async def test_the_headers_of_a_request_reach_the_agent_if_they_are_valid(header: str):
    heard: list[Any] = []
    agent = Agent("remote", store=MemoryStore(), slow_loop_seconds=None)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        heard.append(turn.trace)

    app = agent.asgi()
    connection = await connect(app)
    session_id = await connection.new_session()
    for traceparent in (TRACE["traceparent"], header):
        connection.headers |= {**TRACE, "traceparent": traceparent}
        count = len(heard)
        await connection.call("session/prompt", prompt(session_id, "hello"), session_id)
        await until(lambda count=count: len(heard) > count)
    assert heard == [TRACE, {}]
    await app.aclose()


def test_opentelemetry_is_not_loaded_by_a_server_that_nobody_traces():
    code = "import sys, accord.agent.asgi; sys.exit(any(name.startswith(('opentelemetry', 'prometheus')) for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    trace = pytest.importorskip("opentelemetry.trace")
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def test_without_an_sdk_there_are_no_spans():
    pytest.importorskip("opentelemetry.trace")
    assert Traces.current() is None


def test_a_request_is_a_span_between_the_client_and_the_agent(spans: Any, traffic: Traffic):
    conversation = Conversation(traffic, user="ada")
    secret = {"type": "text", "text": "very secret"}
    [passed] = conversation.hear(
        {"id": 9, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [secret], "_meta": TRACE}}
    )
    conversation.answer(9, stopReason="end_turn")
    [span] = spans.get_finished_spans()
    assert span.name == "session/prompt"
    assert span.kind.name == "SERVER"
    assert dict(span.attributes) == {
        "rpc.system.name": "jsonrpc", "rpc.method": "session/prompt", "session.id": "s", "acp.connection": "00000001",
        "enduser.id": "ada", "acp.outcome": "ok",
    }  # fmt: skip
    assert f"{span.parent.trace_id:032x}-{span.parent.span_id:016x}" in TRACE["traceparent"]
    assert trace_of(passed)["traceparent"] == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01"
    assert trace_of(passed)["tracestate"] == "a=b"
    assert "very secret" not in span.to_json()
    assert json.loads(passed)["params"]["prompt"] == [secret]


def test_questions_of_the_agent_errors_and_lost_connections_are_spans(spans: Any, traffic: Traffic):
    conversation = Conversation(traffic)
    conversation.tell({"id": 1, "method": "session/request_permission", "params": {"sessionId": "s", "_meta": TRACE}})
    conversation.hear({"id": 1, "result": {}})
    conversation.fail(conversation.ask("session/load", sessionId="s"), -32002)
    conversation.ask("made/up", sessionId="s")
    conversation.tap.ended()
    question, load, lost = spans.get_finished_spans()
    assert question.kind.name == "CLIENT"
    assert f"{question.parent.trace_id:032x}" in TRACE["traceparent"]
    assert (load.status.status_code.name, load.attributes["rpc.response.status_code"]) == ("ERROR", "-32002")
    assert (lost.name, lost.attributes["acp.outcome"]) == ("unknown", "lost")
