from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
import threading
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest

from accord.agent.mcp import ServerConnections, ServerStatus, not_offered
from accord.agent.mcp import servers as connections_module
from accord.errors import InvalidParams
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.value import Unknown
from tests.agent.mcp.peers import Watcher, scripted


@pytest.mark.requirement("SESS-38")
async def test_every_server_gets_a_status_in_the_order_given(connections: ServerConnections, watcher: Watcher):
    """FN-54: a server that can't be connected is reported with the reason, and the others are connected."""
    statuses = await connections.connect(
        [
            scripted("", "first"),
            StdioServer(name="missing", command="/no/such/server"),
            scripted("exits", "exits"),
            scripted("", "last"),
        ]
    )
    assert [(status.name, status.state, status.tools) for status in statuses] == [
        ("first", "connected", 1),
        ("missing", "failed", 0),
        ("exits", "failed", 0),
        ("last", "connected", 1),
    ]
    assert statuses == connections.statuses
    assert sorted(map(str, watcher.statuses)) == sorted(map(str, statuses))
    assert str(statuses[0]) == "MCP server 'first' (stdio): connected with 1 tool"
    assert "no such file; check the path" in str(statuses[1])
    assert statuses[2].exit_code == 3
    assert str(statuses[2]).endswith("ended (exit code 3); stderr: no configuration found")


async def test_a_session_waits_for_the_import_that_another_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watcher: Watcher
):
    loop, is_importing, may_go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    class SlowFinder(MetaPathFinder):
        def find_spec(self, fullname: str, path: object, target: object = None) -> None:
            if fullname == "accord.agent.mcp.streams":
                loop.call_soon_threadsafe(is_importing.set)
                may_go_on.wait(30)

    for module in ("server_connection", "streams"):
        monkeypatch.delitem(sys.modules, f"accord.agent.mcp.{module}", raising=False)
    monkeypatch.setattr(sys, "meta_path", [SlowFinder(), *sys.meta_path])
    async with ServerConnections(tmp_path) as first, ServerConnections(tmp_path) as second:
        begun = asyncio.create_task(first.connect([scripted("", "first")]))
        await is_importing.wait()
        waiting = asyncio.create_task(second.connect([scripted("", "second")]))
        await asyncio.wait([waiting], timeout=0)
        may_go_on.set()
        assert [status.state for status in await begun + await waiting] == ["connected", "connected"]


@pytest.mark.requirement("SESS-38")
async def test_a_server_of_a_kind_that_was_not_offered_is_skipped_and_reported(tmp_path: Path, watcher: Watcher):
    """FN-77: the session opens; each server that was skipped is reported."""
    async with ServerConnections(tmp_path, kinds=["stdio"], on_change=watcher) as connections:
        statuses = await connections.connect(
            [
                HttpServer(name="web", url="http://127.0.0.1:1"),
                SseServer(name="old", url="http://127.0.0.1:1"),
                Unknown(tag="carrier-pigeon", raw={"type": "carrier-pigeon", "name": "birds"}),
                Unknown(tag="smoke", raw={"type": "smoke"}),
            ]
        )
    assert [(status.name, status.kind, status.state) for status in statuses] == [
        ("web", "http", "skipped"),
        ("old", "sse", "skipped"),
        ("birds", "carrier-pigeon", "skipped"),
        ("smoke", "smoke", "skipped"),
    ]
    assert str(statuses[0]) == "MCP server 'web' (http): skipped: this agent does not offer servers of this kind"
    assert "does not know" in str(statuses[2])
    assert watcher.statuses == statuses


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
    (status,) = await connections.connect([scripted(behaviour)])
    assert (status.state, status.reason) == ("failed", reason)
    assert connections.tools == []


async def test_a_server_that_never_answers_fails_at_its_deadline(tmp_path: Path):
    async with ServerConnections(tmp_path, connect_deadline=0.3) as connections:
        (status,) = await connections.connect([scripted("never-answers")])
    assert (status.state, status.reason) == ("failed", "timed out after 0.3 s")


async def test_noise_on_stdout_is_skipped_and_noted(connections: ServerConnections):
    (status,) = await connections.connect([scripted("noisy")])
    assert status.is_connected
    assert str(status).endswith("connected with 1 tool; it prints text that is not MCP to stdout")


async def test_a_malformed_tool_is_left_out_and_noted(connections: ServerConnections):
    (status,) = await connections.connect([scripted("bad-tools")])
    assert [(tool.name, tool.title) for tool in connections.tools] == [("good", None), ("also-good", "T")]
    assert status.notes == (
        "its tool 'shapeless' is invalid and was dropped",
        "its tool 'None' is invalid and was dropped",
    )


async def test_all_pages_of_tools_are_read_and_a_cursor_that_repeats_ends_it(connections: ServerConnections):
    await connections.connect([scripted("pages", "pages"), scripted("endless-pages", "endless")])
    assert [tool.name for tool in connections.tools] == ["tool-1", "tool-2", "act", "again", "again"]


@pytest.mark.parametrize("behaviour", ["no-tools", "silent-without-tools"])
async def test_a_server_without_tools_is_connected(
    connections: ServerConnections, behaviour: str, monkeypatch: pytest.MonkeyPatch
):
    from accord.agent.mcp import server_connection

    monkeypatch.setattr(server_connection, "_UNDECLARED_TOOLS_SECONDS", 0.2)
    (status,) = await connections.connect([scripted(behaviour)])
    assert str(status) == "MCP server 'scripted' (stdio): connected with 0 tools"


async def test_a_command_by_its_bare_name_is_tried_and_noted(connections: ServerConnections, tmp_path: Path):
    program = tmp_path / "server"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {scripted('').args[2]} plain\n")
    program.chmod(stat.S_IRUSR | stat.S_IXUSR)
    server = StdioServer(name="bare", command="server", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    (status,) = await connections.connect([server])
    assert str(status).endswith("connected with 1 tool; its command is not an absolute path")


@pytest.mark.parametrize("command", ["", ".", "\0", "/"])
async def test_a_command_that_is_none_is_a_status_and_no_exception(connections: ServerConnections, command: str):
    (status,) = await connections.connect([StdioServer(name="odd", command=command)])
    assert status.state == "failed"
    assert status.reason


async def test_servers_of_one_name_are_told_apart(connections: ServerConnections):
    await connections.connect([scripted(""), scripted(""), scripted("")])
    assert [tool.server for tool in connections.tools] == ["scripted", "scripted-2", "scripted-3"]


async def test_servers_can_be_added_later(connections: ServerConnections):
    await connections.connect([scripted("", "one")])
    (added,) = await connections.connect([scripted("", "two")])
    assert added.name == "two"
    assert [status.name for status in connections.statuses] == ["one", "two"]
    assert await connections.connect([]) == []


async def test_a_failing_listener_hurts_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def listener(status: ServerStatus) -> None:
        raise ZeroDivisionError

    async with ServerConnections(tmp_path, on_change=listener) as connections:
        (status,) = await connections.connect([scripted("")])
    assert status.is_connected
    assert "ZeroDivisionError" in caplog.text


async def test_without_the_package_each_status_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "accord.agent.mcp.server_connection", None)
    monkeypatch.setattr(connections_module, "find_spec", lambda name: None)
    async with ServerConnections(tmp_path, kinds=["stdio"]) as connections:
        statuses = await connections.connect([scripted(""), HttpServer(name="web", url="http://127.0.0.1:1")])
    assert [status.state for status in statuses] == ["failed", "skipped"]
    assert "pip install 'accord[mcp]'" in str(statuses[0])


async def test_with_a_package_that_does_not_fit_each_status_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "accord.agent.mcp.server_connection", None)
    async with ServerConnections(tmp_path) as connections:
        (status,) = await connections.connect([scripted("")])
    assert "pip install 'accord[mcp]'" in str(status)


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


async def test_colours_and_other_sequences_on_stderr_are_left_out_of_a_status(connections: ServerConnections):
    complaint = "import sys; sys.exit('\\x1b]0;server\\x07\\x1b[31mno configuration\\x1b[0m found\\r')"
    server = StdioServer(name="coloured", command=sys.executable, args=["-I", "-S", "-c", complaint])
    (status,) = await connections.connect([server])
    assert status.stderr_tail == "no configuration found\n"
    assert str(status).endswith("stderr: no configuration found")


async def test_the_reason_in_the_data_of_a_refusal_is_told(connections: ServerConnections):
    """FN-107: the data of an error has the reason."""
    (status,) = await connections.connect([scripted("refuses-with-data")])
    assert "it refused: Internal error: no licence (error -32603)" in str(status)
