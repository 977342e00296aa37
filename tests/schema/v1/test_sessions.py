from __future__ import annotations

from typing import Any

import pytest

from accord.errors import Malformed
from accord.schema import v1
from accord.schema.reader import Reader
from accord.schema.wire_values import UNSET, Unknown
from tests.schema.v1.shape import assert_shape, known, read, refuses, write

STATE = {"modes": {"currentModeId": "ask", "availableModes": []}, "configOptions": []}
SERVER = {"name": "files", "command": "/usr/bin/files", "args": [], "env": []}


@pytest.mark.requirement("SESS-03", "SESS-05", "SESS-06", "SESS-22", "MODE-02")
def test_a_new_session_has_a_directory_and_gets_an_id():
    request = {"mcpServers": [SERVER], "additionalDirectories": ["/home/user/library"]}
    assert write(read(v1.NewSessionRequest, {"cwd": "/home/user"} | request)) == {"cwd": "/home/user"} | request
    assert refuses(v1.NewSessionRequest, request)
    assert refuses(v1.NewSessionRequest, {"cwd": None} | request)
    assert_shape(v1.NewSessionResponse, {"sessionId": "sess_1"}, STATE)


@pytest.mark.requirement("SESS-11", "SESS-12", "SESS-16", "SESS-18", "AMB-04")
def test_a_stored_session_is_opened_by_id_and_directory():
    where = {"sessionId": "sess_1", "cwd": "/home/user"}
    more = {"mcpServers": [SERVER], "additionalDirectories": []}
    assert write(read(v1.LoadSessionRequest, where | more)) == where | more
    assert refuses(v1.LoadSessionRequest, {"cwd": "/home/user"} | more)
    assert refuses(v1.LoadSessionRequest, {"sessionId": "sess_1"} | more)
    assert_shape(v1.ResumeSessionRequest, where, more)
    assert_shape(v1.ForkSessionRequest, where, more)
    assert_shape(v1.LoadSessionResponse, {}, STATE)
    assert_shape(v1.ResumeSessionResponse, {}, STATE)
    assert_shape(v1.ForkSessionResponse, {"sessionId": "sess_2"}, STATE)


@pytest.mark.parametrize("request_type", [v1.NewSessionRequest, v1.LoadSessionRequest])
@pytest.mark.requirement("SESS-04", "SESS-13", "AMB-42")
def test_the_servers_are_always_written_and_may_be_missing_when_read(request_type: type):
    """FN-101: agents refuse a v1 session without `mcpServers`."""
    request = read(request_type, {"sessionId": "sess_1", "cwd": "/home/user"})
    assert request.mcp_servers == []
    assert write(request)["mcpServers"] == []


def test_two_requests_do_not_share_their_empty_servers():
    first, second = v1.NewSessionRequest(cwd="/a"), v1.NewSessionRequest(cwd="/b")
    first.mcp_servers.append(v1.McpServer(name="files", command="/usr/bin/files"))
    assert second.mcp_servers == []


@pytest.mark.parametrize("response_type", [v1.NewSessionResponse, v1.LoadSessionResponse, v1.ResumeSessionResponse])
@pytest.mark.parametrize("models", [{"currentModelId": "m1", "more": [1, None]}, [], "m1", None])
@pytest.mark.requirement("SESS-07", "AMB-04", "AMB-06")
def test_models_are_kept_as_they_come(response_type: type, models: object):
    response = {"sessionId": "sess_1", "models": models}
    assert write(read(response_type, response))["models"] == models


def test_a_list_is_asked_for_by_directory_or_by_page():
    assert_shape(v1.ListSessionsRequest, {}, {"cwd": "/home/user", "cursor": "page-2"})
    assert_shape(v1.ListSessionsResponse, {"sessions": []}, {"nextCursor": "page-3"}, forgiven=("sessions",))
    assert_shape(
        v1.SessionInfo,
        {"sessionId": "sess_1", "cwd": "/home/user"},
        {"additionalDirectories": ["/a"], "title": "Sweeping", "updatedAt": "2025-10-29T14:22:15Z"},
    )


@pytest.mark.parametrize("request_type", [v1.CloseSessionRequest, v1.DeleteSessionRequest])
def test_a_session_is_ended_by_id(request_type: type):
    assert_shape(request_type, {"sessionId": "sess_1"})


def test_a_list_without_filters_writes_none():
    assert write(v1.ListSessionsRequest()) == {}
    assert read(v1.ListSessionsRequest, {"cwd": None}).cwd is None
    assert read(v1.ListSessionsRequest, {}).cwd is UNSET


@pytest.mark.requirement("PROMPT-03", "PROMPT-04", "PROMPT-11", "CANCEL-02")
def test_a_prompt_its_answer_and_its_cancellation():
    assert_shape(v1.PromptRequest, {"sessionId": "sess_1", "prompt": [{"type": "text", "text": "Hello"}]})
    assert_shape(v1.PromptResponse, {"stopReason": "end_turn"})
    assert_shape(v1.CancelNotification, {"sessionId": "sess_1"})


def test_a_prompt_with_one_bad_block_is_refused():
    good, bad = {"type": "text", "text": "Hello"}, {"type": "text"}
    assert refuses(v1.PromptRequest, {"sessionId": "sess_1", "prompt": [good, bad]})


@pytest.mark.requirement("PROMPT-21", "PROMPT-22", "PROMPT-23", "PROMPT-24", "PROMPT-25", "PROMPT-26", "CHECK-22")
def test_the_five_stop_reasons_are_a_closed_list():
    reasons = known(v1.StopReason)
    assert reasons.closed
    assert reasons.values == ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")


def test_a_stop_reason_that_is_not_listed_is_kept():
    """FN-51: it does not raise out of the prompt."""
    assert read(v1.PromptResponse, {"stopReason": "bored"}).stop_reason == "bored"


PAIR = {"name": "KEY", "value": "secret"}
STDIO: dict[str, Any] = {"name": "files", "command": "/usr/bin/files", "args": ["--root"], "env": [PAIR]}
HTTP: dict[str, Any] = {"type": "http", "name": "api", "url": "https://example.com", "headers": [PAIR]}
SSE = HTTP | {"type": "sse"}


def without(server: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in server.items() if name != key}


@pytest.mark.requirement("SESS-36", "SESS-37")
def test_variables_and_headers_are_a_name_and_a_value():
    assert_shape(v1.EnvVariable, PAIR)
    assert_shape(v1.HttpHeader, PAIR)


@pytest.mark.parametrize("server", [STDIO, HTTP, SSE])
def test_each_kind_of_server_is_written_back_as_it_was(server: dict[str, Any]):
    assert write(read(v1.McpServer, server)) == server


@pytest.mark.requirement("SESS-24", "SESS-25", "SESS-26")
def test_a_server_to_be_started_has_a_name_and_a_command_but_no_type():
    assert read(v1.McpServer, STDIO).type is UNSET
    assert refuses(v1.McpServer, without(STDIO, "name"))
    assert refuses(v1.McpServer, without(STDIO, "command"))


@pytest.mark.parametrize("server", [HTTP, SSE])
@pytest.mark.parametrize("key", ["name", "url", "type"])
@pytest.mark.requirement("SESS-29", "SESS-30", "SESS-31", "SESS-33")
def test_a_server_to_be_called_has_a_type_a_name_and_a_url(server: dict[str, Any], key: str):
    assert refuses(v1.McpServer, without(server, key))


@pytest.mark.requirement("SESS-27", "SESS-28", "SESS-32", "SESS-33", "AMB-41")
def test_the_lists_a_server_must_have_are_filled_in_and_no_others():
    assert write(v1.McpServer(name="files", command="/bin/files")) == {
        "name": "files",
        "command": "/bin/files",
        "args": [],
        "env": [],
    }
    for server in (HTTP, SSE):
        assert write(read(v1.McpServer, without(server, "headers"))) == server | {"headers": []}


@pytest.mark.parametrize(("server", "key"), [(STDIO, "args"), (STDIO, "env"), (HTTP, "headers")])
def test_a_malformed_list_is_not_taken_for_an_empty_one(server: dict[str, Any], key: str):
    assert refuses(v1.McpServer, server | {key: "--root"})
    assert refuses(v1.McpServer, server | {key: [0.5]})


@pytest.mark.requirement("AMB-45")
def test_the_type_stdio_is_understood():
    assert read(v1.McpServer, STDIO | {"type": "stdio"}).command == "/usr/bin/files"
    assert refuses(v1.McpServer, {"type": "stdio", "name": "files"})


def test_a_server_of_a_type_nobody_knows_is_kept_to_be_reported():
    """FN-77: clients name servers of kinds that were not advertised."""
    server = {"type": "acp", "name": "inside", "id": "server-1", "url": 5}
    params = Reader(v1.NewSessionRequest).convert({"cwd": "/srv", "mcpServers": [STDIO, server]})
    assert params.mcp_servers[1] == Unknown("acp", server)


@pytest.mark.parametrize(
    ("server", "place", "reason"),
    [
        (HTTP | {"url": 5}, "$.url", "expected `str`, got `int`"),
        (STDIO | {"command": None}, "$.command", "expected `str`, got `null`"),
        ({"type": "http", "name": "x"}, "$", "an MCP server of type http needs `url`"),
    ],
    ids=["url", "command", "missing"],
)
def test_a_malformed_member_is_not_called_a_missing_one(server: dict[str, Any], place: str, reason: str):
    with pytest.raises(Malformed) as refused:
        Reader(v1.McpServer).convert(server)
    assert (refused.value.path, refused.value.reason) == (place, reason)


@pytest.mark.requirement("SESS-27", "SESS-28", "SESS-32")
@pytest.mark.parametrize(("server", "key"), [(STDIO, "args"), (STDIO, "env"), (HTTP, "headers"), (SSE, "headers")])
def test_strict_mode_fills_nothing_in(server: dict[str, Any], key: str):
    with pytest.raises(Malformed) as refused:
        Reader(v1.McpServer, strict=True).convert(without(server, key))
    assert (refused.value.path, refused.value.reason) == (f"$.{key}", "required")


@pytest.mark.parametrize("arguments", [{}, {"type": "http"}, {"type": "sse", "command": "/bin/files"}, {"url": "x"}])
def test_a_server_that_cannot_be_reached_cannot_be_made(arguments: dict[str, Any]):
    with pytest.raises(ValueError, match="needs"):
        v1.McpServer(name="nowhere", **arguments)
