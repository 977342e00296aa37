from __future__ import annotations

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, refuses


def test_a_server_to_start() -> None:
    required = {"type": "stdio", "name": "n", "command": "/usr/bin/bulbs"}
    assert_shape(v2.McpServer, required, {"args": ["-v"], "env": [{"name": "A", "value": "b"}]})


def test_a_server_on_the_web() -> None:
    required = {"type": "http", "name": "n", "url": "https://example.org/mcp"}
    assert_shape(v2.McpServer, required, {"headers": [{"name": "A", "value": "b"}]})


def test_server_sent_events_are_not_a_known_kind() -> None:
    assert refuses(v2.McpServer, {"type": "sse", "name": "n", "url": "https://example.org/mcp"})
