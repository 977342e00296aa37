"""The reference servers of MCP, from npm."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from accord.agent.mcp import ServerConnections
from accord.session.content import Annotations, Image, Resource, ResourceLink, Text
from accord.session.servers import HttpServer, SseServer, StdioServer
from tests.agent.mcp.peers import tool_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(60)]

MODULES = Path(__file__).resolve().parent / "mcp" / "node_modules"
PROGRAMS = MODULES / "@modelcontextprotocol"


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found is None or not MODULES.is_dir():
        pytest.skip("node or the servers are not installed: make interop")
    return found


@pytest.fixture
async def connections(tmp_path: Path) -> AsyncIterator[ServerConnections]:
    async with ServerConnections(tmp_path) as connections:
        yield connections


@contextmanager
def everything_on_loopback(node: str, transport: str) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:  # it can't say which port it got, so we choose one
        port = free.getsockname()[1]
    command = [node, str(PROGRAMS / "server-everything" / "dist" / "index.js"), transport]
    with subprocess.Popen(
        command, env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stderr is not None
            assert any(str(port) in line for line in running.stderr)
            yield port
        finally:
            running.kill()


async def exercise(connections: ServerConnections) -> None:
    async def result_of(name: str, arguments: dict[str, object]) -> list[object]:
        return list((await connections.call(tool_of(connections, name), arguments)).content)

    assert await result_of("echo", {"message": "hello"}) == [Text("Echo: hello")]
    _, image, *_ = await result_of("get-tiny-image", {})
    assert isinstance(image, Image)
    assert image.mime_type == "image/png"
    annotated, *_ = await result_of("get-annotated-message", {"messageType": "error", "includeImage": False})
    assert annotated == Text(
        "Error: Operation failed", annotations=Annotations(audience=["user", "assistant"], priority=1.0)
    )
    _, link, *_ = await result_of("get-resource-links", {"count": 2})
    assert isinstance(link, ResourceLink)
    _, resource, *_ = await result_of("get-resource-reference", {"resourceType": "Text", "resourceId": 1})
    assert isinstance(resource, Resource)
    structured = await connections.call(tool_of(connections, "get-structured-content"), {"location": "Chicago"})
    assert structured.structured["conditions"]
    wrong = await connections.call(tool_of(connections, "echo"), {})
    assert wrong.is_error
    heard: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    await connections.call(
        tool_of(connections, "trigger-long-running-operation"), {"duration": 0.3, "steps": 3}, listen
    )
    assert heard == [1, 2, 3]


async def test_the_everything_server_over_stdio(connections: ServerConnections, node: str):
    program = str(PROGRAMS / "server-everything" / "dist" / "index.js")
    (fate,) = await connections.connect([StdioServer(name="everything", command=node, args=[program, "stdio"])])
    assert fate.is_connected, fate
    await exercise(connections)


async def test_the_everything_server_over_http(connections: ServerConnections, node: str):
    with everything_on_loopback(node, "streamableHttp") as port:
        (fate,) = await connections.connect([HttpServer(name="everything", url=f"http://127.0.0.1:{port}/mcp")])
        assert fate.is_connected, fate
        await exercise(connections)
        await connections.aclose()


async def test_the_everything_server_over_sse(connections: ServerConnections, node: str):
    with everything_on_loopback(node, "sse") as port:
        (fate,) = await connections.connect([SseServer(name="everything", url=f"http://127.0.0.1:{port}/sse")])
        assert fate.is_connected, fate
        await exercise(connections)
        await connections.aclose()


async def test_the_filesystem_server(connections: ServerConnections, node: str, tmp_path: Path):
    program = str(PROGRAMS / "server-filesystem" / "dist" / "index.js")
    (fate,) = await connections.connect([StdioServer(name="files", command=node, args=[program, str(tmp_path)])])
    assert fate.is_connected, fate
    note = str(tmp_path / "note.txt")
    await connections.call(tool_of(connections, "write_file"), {"path": note, "content": "grün"})
    assert (tmp_path / "note.txt").read_text(encoding="utf-8") == "grün"
    read = await connections.call(tool_of(connections, "read_text_file"), {"path": note})
    assert read.content == [Text("grün")]
    outside = await connections.call(tool_of(connections, "read_text_file"), {"path": "/etc/hostname"})
    assert outside.is_error
