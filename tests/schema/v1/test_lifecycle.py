from __future__ import annotations

import pytest

from accord.schema import v1
from accord.schema.wire_values import UNSET
from tests.schema.v1.shape import assert_shape, read, refuses, write


@pytest.mark.requirement("INIT-04", "INIT-05", "INIT-07", "INIT-08", "INIT-09", "INIT-26", "INIT-30")
def test_only_the_version_is_needed_to_open_a_connection():
    assert_shape(v1.InitializeRequest, {"protocolVersion": 1}, {"clientCapabilities": {}, "clientInfo": None})
    assert_shape(
        v1.InitializeResponse,
        {"protocolVersion": 1},
        {"agentCapabilities": {"promptCapabilities": {}, "mcpCapabilities": {}}, "authMethods": [], "agentInfo": None},
    )


@pytest.mark.parametrize("version", ["1", True, 1.5, -1, 65536, None, "2025-06-18"])
@pytest.mark.requirement("INIT-10", "INIT-11", "AMB-14", "CHECK-16")
def test_a_version_is_a_16_bit_integer(version: object):
    """FN-45: "1" and true are not version 1."""
    assert refuses(v1.InitializeRequest, {"protocolVersion": version})
    assert refuses(v1.InitializeResponse, {"protocolVersion": version})


@pytest.mark.parametrize("version", [0, 1, 65535])
@pytest.mark.requirement("INIT-11")
def test_the_bounds_of_a_version_belong_to_it(version: int):
    assert read(v1.InitializeRequest, {"protocolVersion": version}).protocol_version == version


@pytest.mark.requirement("INIT-17", "INIT-21", "INIT-22", "INIT-23")
def test_all_client_capabilities_are_optional():
    assert_shape(v1.FileSystemCapabilities, {}, {"readTextFile": True, "writeTextFile": False})
    assert_shape(v1.ClientSessionCapabilities, {}, {"compaction": {}, "configOptions": {"boolean": {}}, "notices": {}})
    assert_shape(v1.ElicitationCapabilities, {}, {"form": {}, "url": {}})
    assert_shape(
        v1.ClientCapabilities,
        {},
        {"fs": {}, "terminal": True, "session": {}, "auth": {"terminal": True}, "elicitation": {}},
    )


@pytest.mark.requirement("INIT-17", "INIT-25", "INIT-27", "INIT-28", "INIT-29", "INIT-31", "INIT-32")
def test_all_agent_capabilities_are_optional():
    assert_shape(v1.PromptCapabilities, {}, {"image": True, "audio": True, "embeddedContext": False})
    assert_shape(v1.McpCapabilities, {}, {"http": True, "sse": False})
    assert_shape(
        v1.SessionCapabilities,
        {},
        {"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {}, "fork": {}},
    )
    assert_shape(
        v1.AgentCapabilities,
        {},
        {
            "loadSession": True,
            "promptCapabilities": {},
            "mcpCapabilities": {},
            "sessionCapabilities": {},
            "auth": {"logout": {}},
        },
    )


@pytest.mark.requirement("INIT-19", "AMB-70")
def test_a_capability_that_was_not_mentioned_is_not_invented():
    capabilities = read(v1.AgentCapabilities, {})
    assert capabilities.load_session is UNSET
    assert write(capabilities) == {}


def test_a_marker_is_absent_null_or_there():
    assert read(v1.SessionCapabilities, {}).list is UNSET
    assert read(v1.SessionCapabilities, {"list": None}).list is None
    assert read(v1.SessionCapabilities, {"list": {}}).list == v1.SessionListCapabilities()


def test_a_program_says_its_name_and_version():
    assert_shape(v1.Implementation, {"name": "editor", "version": "1.2"}, {"title": "Editor"})


@pytest.mark.requirement("AUTH-02", "AUTH-03", "AUTH-04", "AUTH-05", "AUTH-06")
def test_logging_in_names_a_method():
    assert_shape(v1.AuthMethod, {"id": "oauth", "name": "Sign in"}, {"description": "In the browser"})
    assert_shape(v1.AuthenticateRequest, {"methodId": "oauth"})
    assert write(v1.AuthenticateResponse()) == {}


def test_a_terminal_method_brings_arguments_and_an_environment():
    method = {"type": "terminal", "id": "key", "name": "Enter a key", "args": ["login"], "env": {"LOGIN": "1"}}
    assert write(read(v1.AuthMethod, method)) == method
    assert refuses(v1.AuthMethod, method | {"env": [{"name": "LOGIN", "value": "1"}]})


def test_a_method_of_an_unknown_type_is_kept_as_one_of_the_agents():
    method = read(v1.AuthMethod, {"type": "env_var", "id": "key", "name": "A key"})
    assert (method.type, method.id) == ("env_var", "key")


@pytest.mark.parametrize("request_id", [0, -1, 2**63 - 1, "a-7", None])
def test_any_request_can_be_given_up(request_id: object):
    assert_shape(v1.CancelRequestNotification, {"requestId": request_id})
    assert read(v1.CancelRequestNotification, {"requestId": request_id}).request_id == request_id
