from __future__ import annotations

import pytest

from accord.schema import v1
from accord.schema.wire_values import UNSET
from tests.schema.v1.shape import assert_shape, read, refuses, write

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
