"""What is read although it is not quite v2, and that strict mode refuses it."""

from __future__ import annotations

from typing import Any

import pytest

from accord.dialects.v2 import V2
from accord.errors import InvalidParams, Malformed
from accord.session.capabilities import AgentLogin, ClientCapabilities, Implementation
from accord.session.content import Text
from accord.session.entities import Option, OptionChoice, Plan, SlashCommand
from accord.session.mcp_servers import StdioServer
from accord.session.requests import Initialize, NewSession, Prompt, PromptResult
from accord.session.updates import CommandsPatch, OptionsPatch, PlanPatch
from tests.dialects.json_values import raw
from tests.dialects.telling import updates_of
from tests.dialects.v2.speaking import SESSION, asked_of, reports_of

PROMPT = Prompt(session_id=SESSION, content=[Text("dig")])
OFFER = Initialize(version=2, info=Implementation(name="a", version="1"), capabilities=ClientCapabilities())


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"stopReason": "end_turn"}, PromptResult(stop_reason="end_turn")),
        ({"stopReason": "_bored"}, PromptResult(stop_reason="_bored")),
        ({"stopReason": "cancelled", "messageId": "m1"}, PromptResult(stop_reason="cancelled", message_id="m1")),
        ({"messageId": "m1", "stopReason": None}, PromptResult(message_id="m1")),
    ],
)
def test_a_stop_reason_in_the_answer_to_a_prompt_shows_an_agent_of_the_draft(result: Any, answer: PromptResult) -> None:
    """FN-51: also a stop reason that is not known is delivered as it is."""
    assert V2().result_from_wire(PROMPT, raw(result)) == answer
    with pytest.raises(Malformed):
        V2(strict=True).result_from_wire(PROMPT, raw(result))


LOOSE: list[tuple[str, dict[str, Any], Any]] = [
    (
        "a plan under `id`",
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "id": "p1", "entries": []}},
        PlanPatch(plan=Plan(id="p1")),
    ),
    (
        "an option under `id`, its groups under `group`",
        {
            "sessionUpdate": "config_option_update",
            "configOptions": [
                {
                    "type": "select",
                    "id": "model",
                    "name": "Model",
                    "currentValue": "a",
                    "options": [{"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}]}],
                }
            ],
        },
        OptionsPatch(
            options=[
                Option(
                    id="model",
                    name="Model",
                    value="a",
                    choices=[OptionChoice(value="a", name="A", group="g", group_name="G")],
                )
            ]
        ),
    ),
    (
        "a command without types",
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": "dig", "description": "Dig", "input": {"hint": "where"}}],
        },
        CommandsPatch(commands=[SlashCommand(name="dig", description="Dig", hint="where")]),
    ),
]


@pytest.mark.parametrize(("update", "report"), [case[1:] for case in LOOSE], ids=[case[0] for case in LOOSE])
def test_an_older_spelling_in_an_update_is_read_with_a_note(update: dict[str, Any], report: Any) -> None:
    dialect = V2()
    assert reports_of(dialect, **update) == [report]
    assert dialect.notes
    with pytest.raises(Malformed):
        reports_of(V2(strict=True), **update)


def test_a_server_without_a_type_is_started() -> None:
    params = {"cwd": "/srv", "mcpServers": [{"name": "seeds", "command": "/bin/seeds", "args": [], "env": []}]}
    assert asked_of(V2(), "session/new", params) == NewSession(
        cwd="/srv", servers=[StdioServer(name="seeds", command="/bin/seeds")]
    )
    with pytest.raises(InvalidParams):
        asked_of(V2(strict=True), "session/new", params)


def test_a_way_to_log_in_under_id_and_without_a_type_is_the_agents() -> None:
    result = {
        "protocolVersion": 2,
        "info": {"name": "a", "version": "1"},
        "authMethods": [{"id": "key", "name": "Key"}],
    }
    assert V2().result_from_wire(OFFER, raw(result)).auth_methods == [AgentLogin(id="key", name="Key")]
    with pytest.raises(Malformed):
        V2(strict=True).result_from_wire(OFFER, raw(result))


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Dig"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "colour": "green"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "wilting"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "content": [{"type": "chart"}]},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "title": 5},
        {"sessionUpdate": "state_update", "state": "dreaming"},
    ],
    ids=["variant", "member", "value", "item", "malformed", "state"],
)
def test_strict_mode_refuses_what_the_tolerant_reading_lets_through(update: dict[str, Any]) -> None:
    assert len(reports_of(V2(), **update)) == 1
    with pytest.raises(Malformed):
        reports_of(V2(strict=True), **update)


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "_acme_weather", "sky": "blue"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "content": [{"type": "_chart", "bars": [1]}]},
        {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "_smell"}},
        {"sessionUpdate": "plan_update", "plan": {"type": "_graph", "planId": "p", "nodes": []}},
        {"sessionUpdate": "state_update", "state": "_dreaming", "of": "sheep"},
        {"sessionUpdate": "state_update", "state": "idle", "stopReason": "_quota", "resetsAt": 7},
    ],
    ids=["update", "item", "block", "plan", "state", "stop reason"],
)
def test_strict_mode_lets_implementers_variants_through_whole(update: dict[str, Any]) -> None:
    reports = reports_of(V2(strict=True), **update)
    assert reports == reports_of(V2(), **update)
    assert updates_of(V2(), *reports) == [update]


def test_strict_mode_lets_implementers_values_through() -> None:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "kind": "_prune", "status": "_wilting"}
    assert reports_of(V2(strict=True), **update) == reports_of(V2(), **update)


def test_strict_mode_refuses_unknown_members_of_a_request() -> None:
    params = {"sessionId": SESSION, "colour": "green"}
    assert asked_of(V2(), "session/close", params).session_id == SESSION
    with pytest.raises(InvalidParams) as refused:
        asked_of(V2(strict=True), "session/close", params)
    assert refused.value.data["field"] == "colour"
