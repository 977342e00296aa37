"""Whoever passes a message on in the version it came in says it as it came."""

from __future__ import annotations

from typing import Any

import pytest

from accord.dialects.chunk_fast_path import ChunkEncoder
from accord.dialects.dialect import Dialect
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.dialects.v2_draft import V2Draft
from accord.session.requests import AcpRequest, ElicitationRequest, Initialize, NewSession, PermissionRequest
from accord.session.transcript import Transcript
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import ABLE, SESSION

DIALECTS: list[type[Dialect]] = [V1, V2, V2Draft]
TWICE = [
    {"name": "ACCEPT", "value": "a"},
    {"name": "ACCEPT", "value": "b", "_meta": {"by": "proxy"}},
    {"name": "X", "value": "1"},
]
CHUNK = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "Hi"}}
CALL = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Dig"}
QUESTION = PermissionRequest(session_id=SESSION, options=[])


def passed_on(kind: type[Dialect], params: dict[str, Any]) -> list[Any]:
    """An update, told as an agent tells it: plain text the short way."""
    listener, transcript = kind(client=ABLE), Transcript()
    frames = ChunkEncoder(listener, SESSION)
    _, reports = kind().update_from_wire(raw(params))
    changes = [transcript.apply(report) for report in reports]
    assert [frame for change in changes if (frame := frames.encode(change))] == []
    return [plain(told) for change in changes for told in listener.update_to_wire(SESSION, change)]


def answered(kind: type[Dialect], asked: AcpRequest, result: dict[str, Any]) -> Any:
    return plain(kind(client=ABLE).result_to_wire(asked, kind().result_from_wire(asked, raw(result))))


@pytest.mark.requirement("EXT-01")
@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("update", [CHUNK, {**CHUNK, "_meta": {"inner": 1}}], ids=["around", "around and inside"])
def test_meta_around_an_update_is_kept(kind: type[Dialect], update: dict[str, Any]):
    params = {"sessionId": SESSION, "update": update, "_meta": {"traceparent": "00-1-2-01"}}
    assert passed_on(kind, params) == [params]


@pytest.mark.parametrize("kind", DIALECTS)
def test_two_headers_or_variables_of_one_name_are_kept(kind: type[Dialect]):
    local: dict[str, Any] = {"name": "files", "command": "/files", "args": ["-v"], "env": TWICE}
    servers = [local, {"type": "http", "name": "api", "url": "https://x", "headers": TWICE}]
    if kind is V2:
        local["type"] = "stdio"
    params = {"cwd": "/w", "mcpServers": servers}
    asked = kind().request_from_wire("session/new", raw(params), "client")
    assert plain(kind().request_to_wire(asked)[1]) == params


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("action", ["snooze", "_later"])
def test_an_unknown_action_of_an_elicitation_is_kept(kind: type[Dialect], action: str):
    asked = ElicitationRequest(message="Who?", mode="form", session_id=SESSION)
    result = {"action": action, "until": {"hour": 7}, "_meta": {"a": 1}}
    assert answered(kind, asked, result) == result


@pytest.mark.parametrize("outcome", ["defer", "_later"])
def test_an_unknown_outcome_of_a_permission_request_is_kept(outcome: str):
    result = {"outcome": {"outcome": outcome, "optionId": "y", "until": 7}, "_meta": {"a": 1}}
    assert answered(V2, QUESTION, result) == result


UNKNOWN_VARIANTS: list[tuple[type[Dialect], dict[str, Any]]] = [
    (V1, {"sessionUpdate": "_weather", "sky": "blue"}),
    (V2, {"sessionUpdate": "_weather", "sky": "blue"}),
    (V1, {**CHUNK, "content": {"type": "hologram", "depth": 3}}),
    (V2, {**CHUNK, "content": {"type": "_hologram", "depth": 3}}),
    (V2, {"sessionUpdate": "config_option_update", "configOptions": [
        {"type": "_slider", "configId": "o", "name": "O", "currentValue": 3, "max": 9}]}),
    (V2, {"sessionUpdate": "state_update", "state": "_dreaming", "of": "sheep"}),
    (V2, {"sessionUpdate": "state_update", "state": "idle", "stopReason": "_quota", "resetsAt": 7}),
    (V2, {"sessionUpdate": "plan_update", "plan": {"type": "_graph", "planId": "p", "edges": [[1, 2]]}}),
    (V2, {**CALL, "content": [{"type": "_chart", "bars": [1]}]}),
    (V2, {**CALL, "content": [{"type": "diff", "changes": [{"operation": "_touch", "path": "/a", "mode": 420}]}]}),
    (V2, {"sessionUpdate": "available_commands_update", "availableCommands": [
        {"type": "_macro", "name": "m", "description": "d", "keys": ["a"]}]}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "update"), UNKNOWN_VARIANTS, ids=lambda each: getattr(each, "name", ""))
def test_unknown_variants_keep_all_their_members(kind: type[Dialect], update: dict[str, Any]):
    params = {"sessionId": SESSION, "update": update}
    assert passed_on(kind, params) == [params]


def test_an_mcp_server_of_an_unknown_type_keeps_all_its_members():
    """v2 has none: there an agent refuses it."""
    params = {
        "cwd": "/w",
        "mcpServers": [{"type": "websocket", "name": "ws", "url": "wss://x", "protocols": ["mcp"]}],
    }
    asked = V1().request_from_wire("session/new", raw(params), "client")
    assert plain(V1().request_to_wire(asked)[1]) == params


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        (V1, {"id": "p", "name": "P", "type": "pigeon", "birds": 2, "_meta": {"a": 1}}),
        (V2, {"methodId": "p", "name": "P", "type": "_pigeon", "birds": 2, "_meta": {"a": 1}}),
    ],
)
def test_a_login_of_an_unknown_type_keeps_all_its_members(kind: type[Dialect], method: dict[str, Any]):
    told = {"info": {"name": "a", "version": "1"}, "capabilities": {}} if kind is V2 else {}
    result = {"protocolVersion": kind.version, **told, "authMethods": [method]}
    asked = Initialize(version=kind.version, info=None, capabilities=ABLE)
    assert answered(kind, asked, result)["authMethods"] == [method]


def test_a_group_without_choices_is_kept_in_v1():
    values = [{"value": "a", "name": "A"}]
    groups = [
        {"group": "none", "name": "None", "options": [], "_meta": {"a": 1}},
        {"group": "some", "name": "Some", "options": values},
        {"group": "last", "name": "Last", "options": []},
    ]
    option = {"id": "o", "name": "O", "type": "select", "currentValue": "a", "options": groups}
    result = {"sessionId": SESSION, "configOptions": [option]}
    assert answered(V1, NewSession(cwd="/w"), result)["configOptions"] == [option]
