from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, read, refuses, write

INFO = {"name": "trowel", "version": "2.1"}


def test_an_offer_names_the_version_and_the_program() -> None:
    capabilities = {"auth": {"terminal": {}}, "elicitation": {"form": {}, "url": {}}}
    assert_shape(v2.InitializeRequest, {"protocolVersion": 2, "info": INFO}, {"capabilities": capabilities})


def test_an_answer_names_the_version_and_the_program() -> None:
    session = {"prompt": {"image": {}}, "mcp": {"stdio": {}}, "delete": {}, "fork": {}, "additionalDirectories": {}}
    optional = {"capabilities": {"session": session, "auth": {}}, "authMethods": []}
    assert_shape(v2.InitializeResponse, {"protocolVersion": 2, "info": INFO}, optional)


def test_a_program_has_a_name_and_a_version() -> None:
    assert_shape(v2.Implementation, INFO, {"title": "Trowel"})


@pytest.mark.parametrize("version", ["2", -1, 65536, True, None])
def test_a_version_is_a_small_integer(version: Any) -> None:
    assert refuses(v2.InitializeRequest, {"protocolVersion": version, "info": INFO})


@pytest.mark.parametrize("marker", [True, 1, "yes"])
def test_a_capability_is_an_object_and_nothing_else_that_is_true(marker: Any) -> None:
    assert refuses(v2.SessionCapabilities, {"delete": marker})
    assert read(v2.SessionCapabilities, {"delete": {}}).delete == v2.SessionDeleteCapabilities()
    assert read(v2.SessionCapabilities, {"delete": None}).delete is None


def test_a_login_by_the_agent() -> None:
    assert_shape(v2.AuthMethod, {"type": "agent", "methodId": "m", "name": "n"}, {"description": "d"})


def test_a_login_in_a_terminal_has_its_environment_as_a_list() -> None:
    required = {"type": "terminal", "methodId": "m", "name": "n"}
    optional = {"description": "d", "args": ["login"], "env": [{"name": "A", "value": "b"}]}
    assert_shape(v2.AuthMethod, required, optional)
    assert refuses(v2.AuthMethod, {**required, "env": {"A": "b"}})


@pytest.mark.parametrize("request_id", [None, 0.5, 2**63, True])
def test_an_id_of_a_request_is_a_string_or_an_integer(request_id: Any) -> None:
    assert refuses(v2.CancelRequestNotification, {"requestId": request_id})
    assert [read(v2.CancelRequestNotification, {"requestId": each}).request_id for each in (0, "zero")] == [0, "zero"]


def test_what_errors_carry() -> None:
    assert_shape(v2.UnsupportedProtocolVersionErrorData, {"requested": 3, "supported": [1, 2]})
    assert_shape(v2.SessionNotFoundErrorData, {"sessionId": "s"})


def test_an_error_told_in_a_message_has_no_meta_and_any_details() -> None:
    assert_shape(v2.Error, {"code": -32603, "message": "m"}, {"data": ["x", None]}, opaque=("data",))
    assert refuses(v2.Error, {"code": 2**31, "message": "m"})
    assert read(v2.Error, {"code": 1, "message": "m"}).data is UNSET
    assert write(read(v2.Error, {"code": 1, "message": "m", "_meta": {}})) == {"code": 1, "message": "m"}
