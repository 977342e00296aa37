from __future__ import annotations

from typing import Any

import pytest

from accord.errors import Malformed
from accord.schema import v1
from accord.schema.strict_reader import Reader
from accord.schema.wire_values import UNSET, Unknown
from tests.schema.v1.shape import assert_shape, read, refuses, write

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
