"""The examples as their readers start them: each a program of its own, spoken to through its pipes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from accord import Client, Command
from accord.dialects.negotiation import ProtocolVersion

__all__ = ["EXAMPLES", "agent_line", "output_of", "started", "talking"]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OLDER = Path(__file__).with_name("older.py")
PYTHON = [sys.executable, "-W", "error"]


def agent_line(program: str, version: ProtocolVersion = 2) -> list[str]:
    """The command line of an example agent that knows v2, or nothing but v1."""
    return [*PYTHON, *([str(OLDER)] if version == 1 else []), str(EXAMPLES / program)]


@asynccontextmanager
async def talking(program: str, version: ProtocolVersion, **options: Any) -> AsyncIterator[Client]:
    """A client of an example agent, which has to end well by itself when the client hangs up."""
    command = Command(agent_line(program), close_grace=20.0)
    async with Client(command, version=version, **options) as client:
        yield client
    reason = await client.wait_closed()
    assert (reason.exit_code, reason.stderr_tail) == (0, ""), reason


@asynccontextmanager
async def started(*command: str, cwd: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program that is being talked to; it is ended if it does not end by itself."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env={**os.environ, "PYTHONUTF8": "1"}
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def output_of(program: str, *arguments: str, cwd: Path, answers: str = "") -> str:
    """What an example prints when it is run; it has to end well and have nothing to complain about."""
    async with started(*PYTHON, str(EXAMPLES / program), *arguments, cwd=cwd) as process:
        out, err = await process.communicate(answers.encode())
        assert (process.returncode, err) == (0, b""), err.decode()
        return out.decode()
