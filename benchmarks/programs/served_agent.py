"""Starts an agent program as a server, and ends it with the block that uses it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["served_agent"]


@asynccontextmanager
async def served_agent(command: list[str]) -> AsyncIterator[str]:
    """The URL of the agent, which it says on stderr: the last word of the first line."""
    server = await asyncio.create_subprocess_exec(*command, "--http", stderr=asyncio.subprocess.PIPE)
    assert server.stderr is not None
    try:
        words = (await server.stderr.readline()).decode().split()
        if not words:
            raise RuntimeError(f"{command[-1]} ended before it said where it listens")
        yield words[-1]
    finally:
        server.send_signal(signal.SIGUSR1)  # ends it at once, but lets valgrind write its counts
        await server.wait()
