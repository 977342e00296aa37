from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from accord.agent.mcp import ServerConnections, ServerFate, not_offered
from accord.agent.mcp import servers as connections_module
from accord.errors import InvalidParams
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.value import Unknown
from tests.agent.mcp.peers import Watcher, scripted

pytestmark = pytest.mark.timeout(60)


@pytest.mark.requirement("SESS-38")
async def test_every_server_gets_a_fate_in_the_order_given(connections: ServerConnections, watcher: Watcher):
    """FN-54: a server that can't be connected is reported with the reason, and the others are connected."""
    fates = await connections.connect(
        [
            scripted("", "first"),
            StdioServer(name="missing", command="/no/such/server"),
            scripted("exits", "exits"),
            scripted("", "last"),
        ]
    )
    assert [(fate.name, fate.state, fate.tools) for fate in fates] == [
        ("first", "connected", 1),
        ("missing", "failed", 0),
        ("exits", "failed", 0),
        ("last", "connected", 1),
    ]
    assert fates == connections.fates
    assert sorted(map(str, watcher.fates)) == sorted(map(str, fates))
    assert str(fates[0]) == "MCP server 'first' (stdio): connected with 1 tool"
    assert "there is no such file; check the path" in str(fates[1])
    assert fates[2].exit_code == 3
    assert str(fates[2]).endswith("ended (exit code 3); its last words: no configuration found")


@pytest.mark.requirement("SESS-38")
async def test_a_server_of_a_kind_that_was_not_offered_is_skipped_and_reported(tmp_path: Path, watcher: Watcher):
    """FN-77: the session opens; each server that was skipped is reported."""
    async with ServerConnections(tmp_path, kinds=["stdio"], on_change=watcher) as connections:
        fates = await connections.connect(
            [
                HttpServer(name="web", url="http://127.0.0.1:1"),
                SseServer(name="old", url="http://127.0.0.1:1"),
                Unknown(tag="carrier-pigeon", raw={"type": "carrier-pigeon", "name": "birds"}),
                Unknown(tag="smoke", raw={"type": "smoke"}),
            ]
        )
    assert [(fate.name, fate.kind, fate.state) for fate in fates] == [
        ("web", "http", "skipped"),
        ("old", "sse", "skipped"),
        ("birds", "carrier-pigeon", "skipped"),
        ("smoke", "smoke", "skipped"),
    ]
    assert str(fates[0]) == "MCP server 'web' (http): skipped: this agent does not offer servers of this kind"
    assert "does not know" in str(fates[2])
    assert watcher.fates == fates


def test_where_a_kind_that_was_not_offered_is_refused_the_refusal_names_it():
    servers: list[McpServer] = [scripted(""), HttpServer(name="web", url="http://127.0.0.1:1")]
    refusal = not_offered(servers, ["stdio"])
    assert isinstance(refusal, InvalidParams)
    assert refusal.field == "mcpServers[1].type"
    assert not_offered(servers, ["stdio", "http"]) is None


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("refuses", "it refused: no licence (error -32603)"),
        ("ancient", "Unsupported protocol version from the server: 1999-12-31"),
        ("not-mcp", "it does not speak MCP: capabilities: Field required"),
        ("list-refused", "it refused: the disk is full (error -32603)"),
    ],
)
async def test_a_server_that_refuses_says_why(connections: ServerConnections, behaviour: str, reason: str):
    (fate,) = await connections.connect([scripted(behaviour)])
    assert (fate.state, fate.reason) == ("failed", reason)
    assert connections.tools == []


async def test_a_server_that_never_answers_fails_at_its_deadline(tmp_path: Path):
    async with ServerConnections(tmp_path, connect_deadline=0.3) as connections:
        (fate,) = await connections.connect([scripted("never-answers")])
    assert (fate.state, fate.reason) == ("failed", "it did not answer within 0.3 s")


async def test_noise_on_stdout_is_skipped_and_noted(connections: ServerConnections):
    (fate,) = await connections.connect([scripted("noisy")])
    assert fate.is_connected
    assert str(fate).endswith("connected with 1 tool; it prints what is no MCP message to stdout")


async def test_a_malformed_tool_is_left_out_and_noted(connections: ServerConnections):
    (fate,) = await connections.connect([scripted("bad-tools")])
    assert [(tool.name, tool.title) for tool in connections.tools] == [("good", None), ("also-good", "T")]
    assert fate.notes == (
        "its tool 'shapeless' is malformed and was left out",
        "its tool 'None' is malformed and was left out",
    )


async def test_all_pages_of_tools_are_read_and_a_cursor_that_repeats_ends_it(connections: ServerConnections):
    await connections.connect([scripted("pages", "pages"), scripted("endless-pages", "endless")])
    assert [tool.name for tool in connections.tools] == ["tool-1", "tool-2", "act", "again", "again"]


@pytest.mark.parametrize("behaviour", ["no-tools", "silent-without-tools"])
async def test_a_server_without_tools_is_connected(
    connections: ServerConnections, behaviour: str, monkeypatch: pytest.MonkeyPatch
):
    from accord.agent.mcp import server_connection

    monkeypatch.setattr(server_connection, "_UNDECLARED_SECONDS", 0.2)
    (fate,) = await connections.connect([scripted(behaviour)])
    assert str(fate) == "MCP server 'scripted' (stdio): connected with 0 tools"


async def test_a_command_by_its_bare_name_is_tried_and_noted(connections: ServerConnections, tmp_path: Path):
    program = tmp_path / "server"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {scripted('').args[2]} plain\n")
    program.chmod(stat.S_IRUSR | stat.S_IXUSR)
    server = StdioServer(name="bare", command="server", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    (fate,) = await connections.connect([server])
    assert str(fate).endswith("connected with 1 tool; its command is not an absolute path")


@pytest.mark.parametrize("command", ["", ".", "\0", "/"])
async def test_a_command_that_is_none_is_a_fate_and_no_exception(connections: ServerConnections, command: str):
    (fate,) = await connections.connect([StdioServer(name="odd", command=command)])
    assert fate.state == "failed"
    assert fate.reason


async def test_servers_of_one_name_are_told_apart(connections: ServerConnections):
    await connections.connect([scripted(""), scripted(""), scripted("")])
    assert [tool.server for tool in connections.tools] == ["scripted", "scripted-2", "scripted-3"]


async def test_servers_can_be_added_later(connections: ServerConnections):
    await connections.connect([scripted("", "one")])
    (added,) = await connections.connect([scripted("", "two")])
    assert added.name == "two"
    assert [fate.name for fate in connections.fates] == ["one", "two"]
    assert await connections.connect([]) == []


async def test_a_failing_listener_hurts_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def listener(fate: ServerFate) -> None:
        raise ZeroDivisionError

    async with ServerConnections(tmp_path, on_change=listener) as connections:
        (fate,) = await connections.connect([scripted("")])
    assert fate.is_connected
    assert "ZeroDivisionError" in caplog.text


async def test_without_the_package_each_fate_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "accord.agent.mcp.server_connection", None)
    monkeypatch.setattr(connections_module, "find_spec", lambda name: None)
    async with ServerConnections(tmp_path, kinds=["stdio"]) as connections:
        fates = await connections.connect([scripted(""), HttpServer(name="web", url="http://127.0.0.1:1")])
    assert [fate.state for fate in fates] == ["failed", "skipped"]
    assert "pip install 'accord[mcp]'" in str(fates[0])


async def test_with_a_package_that_does_not_fit_each_fate_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "accord.agent.mcp.server_connection", None)
    async with ServerConnections(tmp_path) as connections:
        (fate,) = await connections.connect([scripted("")])
    assert "pip install --upgrade 'accord[mcp]'" in str(fate)


def test_the_package_is_imported_when_the_first_server_is_named():
    program = """
import asyncio, sys
from accord.agent.mcp import ServerConnections, is_installed
from accord.session.mcp_servers import HttpServer
heavy = ("mcp", "anyio", "httpx2", "pydantic")
async def main():
    async with ServerConnections("/", kinds=["stdio"]) as connections:
        await connections.connect([])
        await connections.connect([HttpServer(name="web", url="http://127.0.0.1:1")])
        assert is_installed()
asyncio.run(main())
print([name for name in heavy if name in sys.modules])
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"


async def test_importing_the_package_does_not_stop_the_loop(tmp_path: Path):
    program = """
import asyncio
from accord.agent.mcp import ServerConnections
from accord.session.mcp_servers import StdioServer
async def main():
    ticks = 0
    async with ServerConnections("/") as connections:
        connecting = asyncio.create_task(connections.connect([StdioServer(name="none", command="/none")]))
        while not connecting.done():
            ticks += 1
            await asyncio.sleep(0)
    print(ticks)
asyncio.run(main())
"""
    started = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
    output, _ = await started.communicate()
    assert int(output) > 20


async def test_colours_and_other_sequences_on_stderr_are_left_out_of_a_fate(connections: ServerConnections):
    complaint = "import sys; sys.exit('\\x1b]0;server\\x07\\x1b[31mno configuration\\x1b[0m found\\r')"
    server = StdioServer(name="coloured", command=sys.executable, args=["-I", "-S", "-c", complaint])
    (fate,) = await connections.connect([server])
    assert fate.stderr_tail == "no configuration found\n"
    assert str(fate).endswith("its last words: no configuration found")


async def test_the_reason_in_the_data_of_a_refusal_is_told(connections: ServerConnections):
    """FN-107: the data of an error has the reason."""
    (fate,) = await connections.connect([scripted("refuses-with-data")])
    assert "it refused: Internal error: no licence (error -32603)" in str(fate)
