from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.agent.mcp import ServerConnections
from accord.errors import ConnectionClosed
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from tests.agent.mcp.peers import Watcher, scripted, started_by_shell, tool_of
from tests.transports.families import is_alive, wait_gone


@pytest.fixture(autouse=True)
async def nothing_is_left_behind() -> Any:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    yield
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert complaints == []


async def test_closing_twice_and_from_any_task_is_closing_once(tmp_path: Path, watcher: Watcher):
    connections = ServerConnections(tmp_path, on_change=watcher)
    await connections.connect([scripted("")])
    await asyncio.gather(connections.aclose(), asyncio.create_task(connections.aclose()), connections.aclose())
    await connections.aclose()
    assert [status.state for status in watcher.statuses] == ["connected", "closed"]
    assert connections.tools == []


async def test_closing_fails_the_calls_under_way(tmp_path: Path):
    connections = ServerConnections(tmp_path)
    await connections.connect([scripted("waits")])
    begun = asyncio.Event()

    async def listen(*progress: object) -> None:
        begun.set()

    act = tool_of(connections, "act")
    call = asyncio.create_task(connections.call(act, {}, listen))
    await begun.wait()
    await connections.aclose()
    with pytest.raises(ConnectionClosed):
        await call
    with pytest.raises(ConnectionClosed):
        await connections.call(act)


async def test_after_closing_nothing_is_connected(tmp_path: Path):
    connections = ServerConnections(tmp_path)
    await connections.aclose()
    (status,) = await connections.connect([scripted("")])
    assert (status.state, status.reason) == ("closed", "the session is closed")


@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 8, 13, 21, 50, 100])
async def test_closing_while_connecting_ends_it_wherever_it_is(tmp_path: Path, ticks: int, silent_port: int):
    connections = ServerConnections(tmp_path)
    await connections.connect([StdioServer(name="warm-up", command="/none")])
    servers: list[McpServer] = [
        scripted("never-answers"),
        scripted(""),
        HttpServer(name="web", url=f"http://127.0.0.1:{silent_port}/"),
        SseServer(name="old", url=f"http://127.0.0.1:{silent_port}/"),
    ]
    connecting = asyncio.create_task(connections.connect(servers))
    for _ in range(ticks):
        await asyncio.sleep(0)
    await asyncio.create_task(connections.aclose())
    await connecting
    assert {status.state for status in connections.statuses[1:]} == {"closed"}


@pytest.mark.parametrize("ticks", [0, 1, 2, 5, 20, 100])
async def test_a_connect_that_is_cancelled_ends_what_it_began(tmp_path: Path, ticks: int):
    pid_file = tmp_path / "pid"
    connections = ServerConnections(tmp_path)
    await connections.connect([StdioServer(name="warm-up", command="/none")])
    connecting = asyncio.create_task(connections.connect([started_by_shell("exec sleep 1000", pid_file)]))
    for _ in range(ticks):
        await asyncio.sleep(0)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    await connections.aclose()
    begun = pid_file.read_text().split() if pid_file.exists() else []
    assert wait_gone(*map(int, begun))


async def test_closing_ends_a_server_that_does_not_want_to(tmp_path: Path):
    pid_file = tmp_path / "pid"
    connections = ServerConnections(tmp_path)
    (status,) = await connections.connect([started_by_shell(scripted("stays"), pid_file)])
    assert status.is_connected
    process = int(pid_file.read_text())
    assert is_alive(process)
    await connections.aclose()
    assert not is_alive(process)


async def test_the_end_of_the_program_without_closing_leaves_no_error(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.ERROR)
    finished = asyncio.get_running_loop().run_in_executor(None, asyncio.run, forgets_to_close())
    await finished
    assert caplog.records == []


async def forgets_to_close() -> None:
    connections = ServerConnections("/")
    (status,) = await connections.connect([scripted("")])
    assert status.is_connected


async def test_opening_and_closing_many_times_in_other_tasks_never_leaves_a_scope_behind(tmp_path: Path):
    async def once(number: int) -> None:
        connections = ServerConnections(tmp_path)
        connecting = asyncio.create_task(connections.connect([scripted(""), scripted("exits")]))
        if number % 2:
            await connecting
        closing = asyncio.create_task(connections.aclose())
        await asyncio.gather(connecting, closing)

    await asyncio.gather(*[once(number) for number in range(8)])


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]
