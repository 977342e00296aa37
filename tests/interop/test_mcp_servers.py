"""MCP servers that a client names, used by an agent of ours: the reference servers from npm, and one of the official package.

Whoever talks here is on both sides of the wire: what a tool brought is looked at where the client shows it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client, Turn
from accord.client.session import Session
from accord.dialects.negotiation import ProtocolVersion
from accord.session.content import Annotations, Content, Image, Resource, ResourceLink, Text
from accord.session.entities import ContentItem, ToolCall
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from tests.agent.mcp.peers import official, official_on_loopback, started_by_shell
from tests.transports.families import wait_gone

MODULES = Path(__file__).resolve().parent / "mcp" / "node_modules"
PROGRAMS = MODULES / "@modelcontextprotocol"
EVERYTHING = str(PROGRAMS / "server-everything" / "dist" / "index.js")
FILES = str(PROGRAMS / "server-filesystem" / "dist" / "index.js")


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def version(request: pytest.FixtureRequest) -> ProtocolVersion:
    return request.param


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found is None or not MODULES.is_dir():
        pytest.skip("node or the servers are not installed: make interop")
    return found


class Caller:
    """An agent that calls the tool which the prompt names, and a client that sees what comes of it."""

    def __init__(self) -> None:
        self.agent = Agent("caller", "1.0", merge_seconds=0.0)
        self.agent.prompt(self.call)
        self.brought: list[Content] = []
        self.heard: list[float] = []
        self.tools: list[str] = []

    async def call(self, turn: Turn) -> None:
        servers = await turn.servers()
        assert [status.state for status in servers.statuses] == ["connected"] * len(servers.statuses), servers.statuses
        self.tools = [tool.name for tool in servers.tools]
        name, _, arguments = turn.text.partition(" ")
        tool = next(tool for tool in servers.tools if tool.name == name)
        async with turn.tool_call(name, kind="fetch") as call:
            result = await servers.call(tool, json.loads(arguments), self.listen)
            self.brought = result.content
            await call.show(*result.content)
            await call.update(raw_output=result.structured)
            if result.is_error:
                await call.fail()

    async def listen(self, progress: float, total: float | None, message: str | None) -> None:
        self.heard.append(progress)

    @asynccontextmanager
    async def session(self, version: ProtocolVersion, place: Path, *servers: McpServer) -> AsyncIterator[Session]:
        async with Client(self.agent, version=version) as client:
            yield await client.new_session(place, servers)


async def call_of(session: Session, tool: str, **arguments: Any) -> ToolCall:
    """The tool call as the client has it after the turn."""
    reply = await session.prompt(f"{tool} {json.dumps(arguments)}")
    assert reply.stop_reason == "end_turn"
    return list(session.transcript.tool_calls.values())[-1]


async def content_of(session: Session, tool: str, **arguments: Any) -> list[Content]:
    call = await call_of(session, tool, **arguments)
    assert call.status == "completed"
    return [item.content for item in call.content if isinstance(item, ContentItem)]


@contextmanager
def everything_on_loopback(node: str, transport: str) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:  # it can't say which port it got, so we choose one
        port = free.getsockname()[1]
    with subprocess.Popen(
        [node, EVERYTHING, transport],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stderr is not None
            assert any(str(port) in line for line in running.stderr)
            yield port
        finally:
            running.kill()


async def exercise(caller: Caller, session: Session) -> None:
    assert await content_of(session, "echo", message="größe 🐘") == [Text("Echo: größe 🐘")]
    _, image, *_ = await content_of(session, "get-tiny-image")
    assert isinstance(image, Image)
    assert image.mime_type == "image/png"
    annotated, *_ = await content_of(session, "get-annotated-message", messageType="error", includeImage=False)
    assert annotated == Text(
        "Error: Operation failed", annotations=Annotations(audience=["user", "assistant"], priority=1.0)
    )
    _, link, *_ = shown = await content_of(session, "get-resource-links", count=2)
    assert isinstance(link, ResourceLink)
    assert shown == caller.brought
    _, resource, *_ = shown = await content_of(session, "get-resource-reference", resourceType="Text", resourceId=1)
    assert isinstance(resource, Resource)
    assert shown == caller.brought
    structured = await call_of(session, "get-structured-content", location="Chicago")
    assert structured.raw_output["conditions"]
    assert (await call_of(session, "echo")).status == "failed"
    caller.heard.clear()
    await content_of(session, "trigger-long-running-operation", duration=0.3, steps=3)
    assert caller.heard == [1, 2, 3]


@pytest.mark.interop
@pytest.mark.requirement("CHECK-19", "SESS-23")
async def test_the_everything_server_over_stdio(version: ProtocolVersion, node: str, tmp_path: Path):
    caller = Caller()
    server = StdioServer(name="everything", command=node, args=[EVERYTHING, "stdio"])
    async with caller.session(version, tmp_path, server) as session:
        await exercise(caller, session)


@pytest.mark.interop
@pytest.mark.requirement("CHECK-26")
async def test_the_everything_server_over_http(version: ProtocolVersion, node: str, tmp_path: Path):
    caller = Caller()
    with everything_on_loopback(node, "streamableHttp") as port:
        server = HttpServer(name="everything", url=f"http://127.0.0.1:{port}/mcp")
        async with caller.session(version, tmp_path, server) as session:
            await exercise(caller, session)


@pytest.mark.interop
@pytest.mark.requirement("CHECK-37")
async def test_the_everything_server_over_sse_which_v2_does_not_have(node: str, tmp_path: Path):
    caller = Caller()
    with everything_on_loopback(node, "sse") as port:
        server = SseServer(name="everything", url=f"http://127.0.0.1:{port}/sse")
        async with caller.session(1, tmp_path, server) as session:
            await exercise(caller, session)


@pytest.mark.interop
async def test_the_filesystem_server_beside_another(version: ProtocolVersion, node: str, tmp_path: Path):
    caller = Caller()
    note = tmp_path / "note.txt"
    files = StdioServer(name="files", command=node, args=[FILES, str(tmp_path)])
    async with caller.session(version, tmp_path, files, official()) as session:
        await call_of(session, "write_file", path=str(note), content="grün")
        assert await content_of(session, "read_text_file", path=str(note)) == [Text("grün")]
        assert (await call_of(session, "read_text_file", path="/etc/hostname")).status == "failed"
        assert await content_of(session, "add", a=1, b=2) == [Text("3")]
        assert {"read_text_file", "add"} <= set(caller.tools)
    assert read(note) == "grün"


@pytest.mark.interop
async def test_a_server_ends_with_its_session_and_with_the_connection(
    version: ProtocolVersion, node: str, tmp_path: Path
):
    caller = Caller()
    pids = [tmp_path / "first.pid", tmp_path / "second.pid"]
    servers = [started_by_shell(f"exec {node} {EVERYTHING} stdio", pid) for pid in pids]
    async with Client(caller.agent, version=version) as client:
        first, second = [await client.new_session(tmp_path, [server]) for server in servers]
        for session in (first, second):
            assert await content_of(session, "echo", message="hello") == [Text("Echo: hello")]
        await first.close()
        assert await asyncio.to_thread(wait_gone, int(read(pids[0])))
        assert await content_of(second, "echo", message="still") == [Text("Echo: still")]
    assert await asyncio.to_thread(wait_gone, int(read(pids[1])))


async def test_a_result_of_the_official_package_over_sse_is_forwarded_unchanged(tmp_path: Path):
    caller = Caller()
    with official_on_loopback("sse") as port:
        server = SseServer(name="old", url=f"http://127.0.0.1:{port}/sse")
        async with caller.session(1, tmp_path, server) as session:
            shown = await content_of(session, "everything")
    for block in caller.brought:
        if isinstance(block, ResourceLink):
            block.icons = None  # which v1 has no word for
    assert shown == caller.brought
    assert len(shown) == 7


async def test_a_result_of_the_official_package_over_http_is_forwarded_unchanged(tmp_path: Path):
    caller = Caller()
    with official_on_loopback("http") as port:
        server = HttpServer(name="new", url=f"http://127.0.0.1:{port}/mcp")
        async with caller.session(2, tmp_path, server) as session:
            assert await content_of(session, "everything") == caller.brought
            assert (await call_of(session, "fail")).status == "failed"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
