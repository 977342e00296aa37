"""Servers to connect to, and somebody who is told of their statuses."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accord.agent.mcp import McpTool, ServerConnections, ServerStatus
from accord.session.mcp_servers import StdioServer

HERE = Path(__file__).resolve().parent


def official(name: str = "official", **options: Any) -> StdioServer:
    return StdioServer(name=name, command=sys.executable, args=[str(HERE / "official_server.py"), "stdio"], **options)


def scripted(behaviour: str, name: str = "scripted") -> StdioServer:
    program = str(HERE / "scripted_server.py")
    return StdioServer(name=name, command=sys.executable, args=["-I", "-S", program, behaviour])


def started_by_shell(server: StdioServer | str, pid_file: Path) -> StdioServer:
    """The same, but it writes down its process id first."""
    command = server if isinstance(server, str) else f"exec {shlex.join([server.command, *server.args])}"
    return StdioServer(name="shell", command="/bin/sh", args=["-c", f"echo $$ > {pid_file}; {command}"])


@contextmanager
def official_on_loopback(kind: str) -> Iterator[int]:
    """The port of a server that runs meanwhile."""
    command = [sys.executable, str(HERE / "official_server.py"), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None
            yield int(running.stdout.readline())
        finally:
            running.kill()


class Watcher:
    """Writes down every status, and lets a test wait for one."""

    def __init__(self) -> None:
        self.statuses: list[ServerStatus] = []
        self._changed = asyncio.Event()

    def __call__(self, status: ServerStatus) -> None:
        self.statuses.append(status)
        self._changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()


def tool_of(connections: ServerConnections, name: str, server: str | None = None) -> McpTool:
    return next(tool for tool in connections.tools if tool.name == name and server in (None, tool.server))
