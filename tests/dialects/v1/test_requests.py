"""Requests of v1: what is refused, what is forgiven, and what a peer cannot choose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from accord.dialects.dialect import Side
from accord.dialects.v1 import V1
from accord.errors import InvalidParams, Malformed, MethodNotFound
from accord.session import requests as words
from accord.session.content import Text
from accord.session.entities import Exit
from accord.session.mcp_servers import HttpServer, SseServer, StdioServer
from accord.session.value import Unknown
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import SESSION
from tests.dialects.v1.speaking import speaker

BY_CLIENT = [name for name, method in V1.METHODS.items() if method.sender == "client" and method.kind == "request"]
BY_AGENT = [name for name, method in V1.METHODS.items() if method.sender == "agent" and method.kind == "request"]


def ask(method: str, params: Any, sender: Side = "client", dialect: V1 | None = None) -> Any:
    return (dialect or speaker()).request_from_wire(method, raw(params), sender)


@pytest.mark.parametrize(
    ("method", "sender"), [*((name, "agent") for name in BY_CLIENT), *((name, "client") for name in BY_AGENT)]
)
@pytest.mark.requirement("RPC-33", "RPC-34")
def test_a_method_of_the_wrong_side_is_not_found(method: str, sender: Side):
    """FN-97: a side is asked for what only the other side has."""
    with pytest.raises(MethodNotFound) as refused:
        ask(method, {}, sender)
    assert refused.value.to_error() == (-32601, f"Method not found: {method}", {"method": method})


@pytest.mark.parametrize(
    "method", ["craft/drainMidTurnQueue", "_x.ai/ask_user_question", "session/update", "auth/login"]
)
@pytest.mark.parametrize("sender", ["client", "agent"])
@pytest.mark.requirement("EXT-07", "EXT-08")
def test_a_method_that_v1_does_not_have_is_not_found_and_named(method: str, sender: Side):
    """FN-98: requests of a vendor, with and without an underscore."""
    with pytest.raises(MethodNotFound) as refused:
        ask(method, {"sessionId": SESSION}, sender)
    assert refused.value.method == method


@pytest.mark.requirement("EXT-11", "AMB-62")
def test_a_notification_that_v1_does_not_have_is_ignored():
    assert speaker().notification_from_wire("_acme/ping", raw({}), "client") is None
    assert speaker().notification_from_wire("session/cancel", raw({"sessionId": SESSION}), "agent") is None


def test_words_that_v1_has_no_method_for_cannot_be_asked():
    with pytest.raises(MethodNotFound):
        speaker().request_to_wire(words.CancelToolCall(session_id=SESSION, tool_call_id="c"))


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("session/new", {"cwd": "project"}, "cwd"),
        ("session/new", {"cwd": "/w", "additionalDirectories": ["../lib"]}, "additionalDirectories"),
        ("session/load", {"sessionId": "s", "cwd": "./x"}, "cwd"),
        ("session/resume", {"sessionId": "s", "cwd": ""}, "cwd"),
        ("session/fork", {"sessionId": "s", "cwd": "~/x"}, "cwd"),
        ("session/list", {"cwd": "x"}, "cwd"),
        (
            "session/new",
            {"cwd": "/w", "mcpServers": [{"name": "n", "command": "bin/n", "args": [], "env": []}]},
            "mcpServers[0].command",
        ),
        ("fs/read_text_file", {"sessionId": "s", "path": "../file.txt"}, "path"),
        ("fs/write_text_file", {"sessionId": "s", "path": "file.txt", "content": ""}, "path"),
        ("terminal/create", {"sessionId": "s", "command": "npm", "cwd": "src"}, "cwd"),
    ],
)
@pytest.mark.requirement("RPC-18", "AMB-46", "RPC-35", "RPC-36")
def test_a_path_that_is_not_absolute_is_refused(method: str, params: Any, field: str):
    sender: Any = V1.METHODS[method].sender
    with pytest.raises(InvalidParams) as refused:
        ask(method, params, sender)
    assert refused.value.field == field


@pytest.mark.parametrize("path", ["/", "/home/user", "C:\\work", "c:/work", "\\\\server\\share"])
@pytest.mark.requirement("RPC-18", "AMB-46", "SESS-03")
def test_absolute_paths_of_all_systems_are_taken(path: str):
    assert ask("session/new", {"cwd": path, "mcpServers": []}).cwd == path


@pytest.mark.parametrize("line", [0, -1, 2**32, 1.5, "1", True])
@pytest.mark.requirement("RPC-19", "AMB-47", "RPC-35", "CHECK-21")
def test_a_line_that_does_not_count_from_one_is_refused(line: Any):
    with pytest.raises(InvalidParams) as refused:
        ask("fs/read_text_file", {"sessionId": "s", "path": "/f", "line": line}, "agent")
    assert refused.value.field == "line"


@pytest.mark.requirement("FS-06", "FS-07", "AMB-47")
def test_reading_nothing_and_reading_from_the_first_line_are_fine():
    read = ask("fs/read_text_file", {"sessionId": "s", "path": "/f", "line": 1, "limit": 0}, "agent")
    assert (read.line, read.limit) == (1, 0)


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("session/prompt", {"prompt": []}, "sessionId"),
        ("session/prompt", {"sessionId": 7, "prompt": []}, "sessionId"),
        ("session/prompt", {"sessionId": "s", "prompt": [{"type": "text"}]}, "prompt[0].text"),
        ("session/prompt", {"sessionId": "s", "prompt": [{"type": "hologram"}]}, "prompt[0].type"),
        ("session/set_config_option", {"sessionId": "s", "configId": "c", "value": True}, None),
        ("authenticate", {}, "methodId"),
    ],
)
@pytest.mark.requirement("RPC-35", "RPC-36")
def test_params_that_do_not_fit_are_refused_with_the_place(method: str, params: Any, reason: str | None):
    with pytest.raises(InvalidParams) as refused:
        ask(method, params)
    assert refused.value.field == reason
    assert refused.value.reason


@pytest.mark.requirement("EXT-01", "EXT-04")
def test_no_meta_of_a_peer_overwrites_what_was_asked():
    """FN-40: a peer's `_meta` is data, whatever its keys are called."""
    meta = {"session_id": "other", "sessionId": "other", "content": [], "dialect": 1, "self": 2, "meta": 3, "params": 4}
    word = ask("session/prompt", {"sessionId": SESSION, "prompt": [{"type": "text", "text": "hi"}], "_meta": meta})
    assert word == words.Prompt(session_id=SESSION, content=[Text("hi")], meta=meta)
    assert plain(speaker().request_to_wire(word)[1])["_meta"] == meta


def test_no_member_of_a_peer_chooses_a_keyword():
    """FN-40: members that are not the protocol's reach no function."""
    params = {"session_id": "other", "answer": "x", "__class__": "y", "sessionId": SESSION, "modeId": "m"}
    assert ask("session/set_mode", params) == words.SetMode(session_id=SESSION, mode_id="m")


def test_a_client_that_says_little_wrong_or_too_much_is_served():
    """FN-75: info missing, misplaced or of the wrong type, extra members, no capabilities at all."""
    for said in (
        {},
        {"clientInfo": {"name": "x"}},
        {"clientInfo": "x"},
        {"clientCapabilities": {"clientInfo": {"name": "x", "version": "1"}}},
        {"clientCapabilities": None, "extra": [1]},
        {"clientCapabilities": "all"},
    ):
        word = ask("initialize", {"protocolVersion": 1, **said})
        assert word.info is None
        assert (
            word.capabilities
            == words.Initialize(version=1, info=None, capabilities=type(word.capabilities)()).capabilities
        )


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (words.WriteFile(session_id="s", path="/f", content=""), words.EmptyResult()),
        (words.SetMode(session_id="s", mode_id="m"), words.EmptyResult()),
        (words.SetModel(session_id="s", model_id="m"), words.EmptyResult()),
        (words.Authenticate(method_id="m"), words.EmptyResult()),
        (words.Logout(), words.EmptyResult()),
        (words.LoadSession(session_id="s", cwd="/w"), words.SessionSetup()),
        (words.ResumeSession(session_id="s", cwd="/w"), words.SessionSetup()),
        (words.CloseSession(session_id="s"), words.EmptyResult()),
        (words.DeleteSession(session_id="s"), words.EmptyResult()),
        (words.KillTerminal(session_id="s", terminal_id="t"), words.EmptyResult()),
        (words.ReleaseTerminal(session_id="s", terminal_id="t"), words.EmptyResult()),
        (words.WaitForExit(session_id="s", terminal_id="t"), Exit()),
    ],
    ids=lambda word: type(word).__name__,
)
@pytest.mark.requirement(
    "AMB-01", "AMB-02", "AMB-03", "AMB-04", "AMB-05", "AMB-06", "FS-14", "MODE-12", "AUTH-06", "TERM-32"
)
def test_a_null_answer_says_that_it_worked_where_nothing_else_has_to_be_said(asked: words.AcpRequest, answer: Any):
    assert speaker().result_from_wire(asked, Raw(b"null")) == answer
    assert speaker().result_from_wire(asked, Raw(b"{}")) == answer
    assert speaker().result_from_wire(asked, Raw(b"[]")) == answer
    with pytest.raises(Malformed):
        speaker(strict=True).result_from_wire(asked, Raw(b"[]"))
    if isinstance(asked, words.WriteFile | words.LoadSession):  # the documents show it
        assert speaker(strict=True).result_from_wire(asked, Raw(b"null")) == answer
    else:
        with pytest.raises(Malformed):
            speaker(strict=True).result_from_wire(asked, Raw(b"null"))
    if isinstance(answer, words.EmptyResult):
        assert plain(speaker().result_to_wire(asked, answer)) == {}


def test_a_prompt_answered_with_null_is_a_clear_error():
    """FN-53: the prompt fails, and only the prompt."""
    asked = words.Prompt(session_id=SESSION, content=[Text("hi")])
    with pytest.raises(Malformed, match=r"Malformed at \$: expected `object`, got `null`"):
        speaker().result_from_wire(asked, Raw(b"null"))
    with pytest.raises(Malformed, match=r"Malformed at \$\.stopReason: required"):
        speaker().result_from_wire(asked, Raw(b"{}"))


def test_an_unknown_stop_reason_is_delivered_as_it_is():
    """FN-51: what the agent said is what the client gets."""
    asked = words.Prompt(session_id=SESSION, content=[])
    assert speaker().result_from_wire(asked, raw({"stopReason": "out_of_coffee"})).stop_reason == "out_of_coffee"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/new", {"cwd": "/w", "mcpServers": [], "extra": 1}),
        ("session/new", {"cwd": "/w", "mcpServers": None}),
        (
            "session/new",
            {"cwd": "/w", "mcpServers": [{"name": "n", "command": "/c", "args": [], "env": [], "type": "stdio"}]},
        ),
        ("initialize", {"protocolVersion": 1, "clientCapabilities": {"terminal": "yes"}}),
    ],
)
@pytest.mark.requirement("COMPAT-12", "COMPAT-14", "AMB-61")
def test_strict_mode_refuses_what_is_otherwise_forgiven(method: str, params: Any):
    ask(method, params)
    with pytest.raises(InvalidParams):
        ask(method, params, dialect=speaker(strict=True))


@pytest.mark.requirement("COMPAT-12")
def test_what_was_forgiven_is_noted():
    dialect = speaker()
    ask("initialize", {"protocolVersion": 1, "clientCapabilities": {"terminal": "yes"}}, dialect=dialect)
    assert dialect.notes == ["$.clientCapabilities.terminal: ignored, expected `bool`, got `str`"]


@pytest.mark.requirement(
    "SESS-24", "SESS-27", "SESS-28", "SESS-32", "SESS-33", "SESS-36", "SESS-37", "AMB-41", "AMB-45"
)
def test_mcp_servers_of_all_kinds_go_both_ways():
    servers = [
        {"name": "files", "command": "/bin/files", "args": ["-v"], "env": [{"name": "A", "value": "1"}]},
        {"type": "http", "name": "api", "url": "https://a", "headers": [{"name": "B", "value": "2"}]},
        {"type": "sse", "name": "events", "url": "https://b", "headers": []},
    ]
    word = ask("session/new", {"cwd": "/w", "mcpServers": servers})
    assert word.servers == [
        StdioServer("files", "/bin/files", args=["-v"], env={"A": "1"}),
        HttpServer("api", "https://a", headers={"B": "2"}),
        SseServer("events", "https://b"),
    ]
    assert plain(speaker().request_to_wire(word)[1])["mcpServers"] == servers


@pytest.mark.requirement("AMB-41", "AMB-42", "AMB-45", "SESS-04")
def test_lists_that_are_missing_are_empty_and_always_written():
    loose = {"type": "stdio", "name": "files", "command": "files"}
    word = ask("session/new", {"cwd": "/w", "mcpServers": [loose]})
    assert word.servers == [StdioServer("files", "files")]
    assert plain(speaker().request_to_wire(word)[1]) == {
        "cwd": "/w",
        "mcpServers": [{"name": "files", "command": "files", "args": [], "env": []}],
    }
    assert plain(speaker().request_to_wire(ask("session/new", {"cwd": "/w"}))[1]) == {"cwd": "/w", "mcpServers": []}


def test_an_mcp_server_of_another_kind_is_kept_whole():
    """FN-77: it can be reported as skipped, and the session opens."""
    server = {"type": "websocket", "name": "ws", "url": "wss://x", "protocols": ["mcp"]}
    word = ask("session/new", {"cwd": "/w", "mcpServers": [server]})
    assert word.servers == [Unknown(tag="websocket", raw=server, version="v1")]
    assert plain(speaker().request_to_wire(word)[1])["mcpServers"] == [server]


@pytest.mark.requirement("EXT-01")
def test_two_variables_or_headers_of_one_name_are_both_kept():
    variables = [{"name": "PATH", "value": "/a"}, {"name": "PATH", "value": "/b", "_meta": {"why": "last"}}]
    servers = [
        {"name": "files", "command": "/files", "args": [], "env": variables},
        {"type": "http", "name": "api", "url": "https://x", "headers": variables},
    ]
    word = ask("session/new", {"cwd": "/w", "mcpServers": servers})
    assert word.servers[0].env["PATH"] == word.servers[1].headers["PATH"] == "/b"
    assert plain(speaker().request_to_wire(word)[1])["mcpServers"] == servers
    terminal = {"sessionId": "s", "command": "make", "env": variables}
    asked = speaker().request_from_wire("terminal/create", raw(terminal), "agent")
    assert plain(speaker().request_to_wire(asked)[1]) == terminal


@pytest.mark.parametrize(
    "server",
    [{"name": "x"}, {"name": "x", "type": "http"}, {"type": "http", "url": "u"}, {"name": "x", "type": "stdio"}],
)
def test_an_mcp_server_that_cannot_be_reached_is_refused(server: Any):
    with pytest.raises(InvalidParams):
        ask("session/new", {"cwd": "/w", "mcpServers": [server]})


@pytest.mark.requirement("TERM-08", "TERM-22", "AMB-48", "AMB-64")
def test_exits_are_written_with_both_members_and_only_when_there_is_one():
    dialect, asked = speaker(), words.ReadTerminal(session_id="s", terminal_id="t")
    running = words.TerminalSnapshot(output="x", truncated=False)
    assert plain(dialect.result_to_wire(asked, running)) == {"output": "x", "truncated": False}
    killed = words.TerminalSnapshot(output="x", truncated=True, exit=Exit(signal="SIGTERM"))
    assert plain(dialect.result_to_wire(asked, killed))["exitStatus"] == {"exitCode": None, "signal": "SIGTERM"}
    waited = words.WaitForExit(session_id="s", terminal_id="t")
    assert plain(dialect.result_to_wire(waited, Exit(code=0))) == {"exitCode": 0, "signal": None}
    null = {"output": "", "truncated": False, "exitStatus": None}
    assert dialect.result_from_wire(asked, raw(null)).exit is None


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        ({"outcome": "selected", "optionId": "yes"}, words.PermissionAnswer("selected", option_id="yes")),
        ({"outcome": "cancelled"}, words.PermissionAnswer("cancelled")),
        ({"outcome": "later", "at": 5}, words.PermissionAnswer("later", raw={"outcome": "later", "at": 5})),
    ],
)
@pytest.mark.requirement("PERM-13", "PERM-14", "PERM-15")
def test_the_outcome_of_a_permission_request_is_kept_as_it_is(outcome: Any, answer: words.PermissionAnswer):
    asked = words.PermissionRequest(session_id="s", options=[])
    assert speaker().result_from_wire(asked, raw({"outcome": outcome})) == answer


def test_an_outcome_that_is_not_known_is_written_as_not_approved():
    asked = words.PermissionRequest(session_id="s", options=[])
    for answer in (words.PermissionAnswer("later"), words.PermissionAnswer("selected")):
        assert plain(speaker().result_to_wire(asked, answer)) == {"outcome": {"outcome": "cancelled"}}


@pytest.mark.requirement("PERM-03", "AMB-57")
def test_the_tool_call_of_a_permission_request_is_its_subject_and_its_title():
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "Delete", "kind": "delete"}, "options": []}
    word = ask("session/request_permission", params, "agent")
    assert word.title == "Delete"
    assert isinstance(word.subject, words.ToolCallSubject)
    assert (word.subject.call.id, word.subject.call.kind) == ("c", "delete")
    bare = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []}
    assert ask("session/request_permission", bare, "agent").title is None


def test_each_question_without_a_tool_call_gets_one_of_its_own():
    dialect = speaker()
    asked = words.PermissionRequest(session_id="s", title="May I?", options=[])
    ids = [plain(dialect.request_to_wire(asked)[1])["toolCall"]["toolCallId"] for _ in range(2)]
    assert len(set(ids)) == 2


def test_a_mode_of_elicitation_that_is_not_known_is_refused():
    with pytest.raises(InvalidParams) as refused:
        ask("elicitation/create", {"mode": "telepathy", "sessionId": "s", "message": "?"}, "agent")
    assert refused.value.field == "mode"


def test_an_elicitation_for_a_request_with_the_id_null_goes_both_ways():
    params = {"mode": "url", "requestId": None, "message": "?", "elicitationId": "e", "url": "https://x"}
    word = ask("elicitation/create", params, "agent")
    assert plain(speaker().request_to_wire(word)[1]) == params


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"action": "accept", "content": {"n": 2}}, words.ElicitationAnswer("accept", content={"n": 2})),
        ({"action": "decline"}, words.ElicitationAnswer("decline")),
        ({"action": "cancel"}, words.ElicitationAnswer("cancel")),
        ({"action": "snooze", "minutes": 5}, words.ElicitationAnswer("snooze", raw={"action": "snooze", "minutes": 5})),
    ],
)
def test_the_action_of_an_elicitation_is_kept_as_it_is(result: Any, answer: words.ElicitationAnswer):
    asked = words.ElicitationRequest(message="?", mode="form", session_id="s")
    assert speaker().result_from_wire(asked, raw(result)) == answer
    assert plain(speaker().result_to_wire(asked, answer)) == result


def test_half_a_surrogate_pair_in_a_prompt_is_read_as_a_replacement_character():
    params = Raw(b'{"sessionId": "s", "prompt": [{"type": "text", "text": "\\ud83d"}]}')
    word: Any = speaker().request_from_wire("session/prompt", params, "client")
    assert word.content == [Text("\ufffd")]


def test_params_that_are_not_an_object_are_refused():
    for params in (b"[]", b"null", b"7", json.dumps("x").encode()):
        with pytest.raises(InvalidParams):
            speaker().request_from_wire("session/prompt", Raw(params), "client")
