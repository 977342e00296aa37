from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from tests.parity.frames import FrameValidator, Side

pytestmark = pytest.mark.interop

PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]}
ANSWERS = {1: {"stopReason": "end_turn"}, 2: {"messageId": "m"}}


@pytest.fixture(params=[1, 2])
def validator(request: pytest.FixtureRequest) -> FrameValidator:
    return FrameValidator(request.param)


def call(method: str, params: Any = None, id: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return {key: value for key, value in message.items() if value is not None}


def observe(validator: FrameValidator, sender: Side, *messages: Any) -> list[str]:
    for message in messages:
        validator.observe(sender, json.dumps(message).encode())
    return [reason for _, reason in validator.violations]


def test_a_prompt_and_its_answer_are_without_violations(validator: FrameValidator):
    chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "hi"}}
    observe(validator, "client", call("session/prompt", PROMPT, 0))
    observe(validator, "agent", call("session/update", {"sessionId": "s", "update": chunk}))
    answer = {"jsonrpc": "2.0", "id": 0, "result": ANSWERS[validator.version]}
    assert observe(validator, "agent", answer) == []
    assert validator.pending == {}


def test_params_that_do_not_fit_their_method_are_a_violation(validator: FrameValidator):
    (reason,) = observe(validator, "client", call("session/prompt", {"sessionId": 5, "prompt": []}, 0))[:1]
    assert reason.startswith("session/prompt: PromptRequest $")


def test_a_result_is_checked_against_the_method_that_was_asked(validator: FrameValidator):
    observe(validator, "client", call("session/prompt", PROMPT, "a"))
    (reason,) = observe(validator, "agent", {"jsonrpc": "2.0", "id": "a", "result": {}})
    assert reason.startswith("session/prompt: PromptResponse $")


def test_ids_of_the_two_sides_and_of_different_types_are_kept_apart(validator: FrameValidator):
    permission = {
        "sessionId": "s",
        "title": "May I?",
        "toolCall": {"toolCallId": "t"},
        "options": [{"optionId": "o", "name": "Yes", "kind": "allow_once"}],
    }
    observe(validator, "client", call("session/prompt", PROMPT, 1), call("session/prompt", PROMPT, "1"))
    observe(validator, "agent", call("session/request_permission", permission, 1))
    observe(validator, "client", {"jsonrpc": "2.0", "id": 1, "result": {"outcome": {"outcome": "cancelled"}}})
    for id in (1, "1"):
        observe(validator, "agent", {"jsonrpc": "2.0", "id": id, "result": ANSWERS[validator.version]})
    assert validator.violations == []


@pytest.mark.parametrize(
    ("sender", "message", "reason"),
    [
        ("client", "hello", "not a JSON-RPC 2.0 message"),
        ("client", {"id": 1, "method": "initialize"}, "not a JSON-RPC 2.0 message"),
        ("client", [], "an empty batch"),
        ("client", {"jsonrpc": "2.0", "id": 1}, "no message has exactly the members id"),
        ("client", {**call("session/cancel", {"sessionId": "s"}), "extra": 1}, "no message has exactly the members"),
        ("client", call("session/fly", {}, 1), "session/fly: no method of"),
        ("agent", call("session/cancel", {"sessionId": "s"}), "session/cancel: not for the agent to send"),
        ("client", call("session/cancel", {"sessionId": "s"}, 1), "session/cancel: a notification, sent as the other"),
        ("client", call("session/prompt", PROMPT), "session/prompt: a request, sent as the other"),
        ("client", call("session/prompt", PROMPT, 1.5), "RequestId $"),
        ("client", call("session/prompt", PROMPT, 2**63), "RequestId $"),
        ("agent", {"jsonrpc": "2.0", "id": 1, "result": {}}, "an answer to no open request"),
        ("agent", {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}, "an error for no open request"),
        ("agent", {"jsonrpc": "2.0", "id": None, "error": {"code": "1", "message": ""}}, "None: Error $.code"),
    ],
)
def test_a_message_that_must_not_be_sent_is_a_violation(
    validator: FrameValidator, sender: Side, message: Any, reason: str
):
    assert observe(validator, sender, message)[0].startswith(reason)


def test_what_is_not_json_is_a_violation(validator: FrameValidator):
    validator.observe("agent", b"Starting up...")
    assert validator.violations == [("agent", "not JSON")]


@pytest.mark.parametrize(
    "message",
    [
        call("_acme/ping", ["anything"], 1),
        call("session/set_model", {"model": 5}, 1),
        call("$/cancel_request", {"requestId": 1}),
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}},
        [call("session/cancel", {"sessionId": "s"}), call("_acme/ping")],
    ],
)
def test_what_may_be_sent_beyond_the_methods_of_the_schema_is_no_violation(message: Any):
    assert observe(FrameValidator(1, allowed={"session/set_model"}), "client", message) == []


def test_answers_to_methods_beyond_the_schema_may_be_anything(validator: FrameValidator):
    observe(validator, "client", call("_acme/ping", {}, 7))
    assert observe(validator, "agent", {"jsonrpc": "2.0", "id": 7, "result": None}) == []


def test_a_null_id_is_for_v1():
    message = {**call("session/prompt", PROMPT), "id": None}
    assert observe(FrameValidator(1), "client", message) == []
    assert observe(FrameValidator(2), "client", message)[0].startswith("RequestId $")


@pytest.mark.parametrize("direction", ["sent", "received"])
def test_an_observer_of_a_peer_knows_who_sent_a_frame(direction: Literal["sent", "received"]):
    validator = FrameValidator(2)
    validator.on_frame("agent")(direction, b"{}")
    at_fault: Side = "agent" if direction == "sent" else "client"
    assert validator.violations_of(at_fault) == ["not a JSON-RPC 2.0 message"]
    assert validator.violations_of("client" if at_fault == "agent" else "agent") == []
