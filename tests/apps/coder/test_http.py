"""`accord agent --http`: the coding agent for clients that reach it by a URL."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from accord import Client


def program(home: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    command = [sys.executable, "-m", "accord", "agent", "--model", "offline", *arguments]
    return command, {**os.environ, "ACCORD_HOME": str(home)}


async def test_the_coding_agent_is_served_and_ends_with_a_signal(tmp_path: Path):
    command, env = program(tmp_path / "home", "--http", "127.0.0.1:0")
    process = await asyncio.create_subprocess_exec(*command, env=env, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode()
    assert line.startswith("accord agent listens on http://127.0.0.1:")
    async with Client(line.split()[-1]) as client:
        session = await client.new_session(cwd=tmp_path)
        assert (await session.prompt("hello")).stop_reason == "end_turn"
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0


@pytest.mark.parametrize("address", ["0.0.0.0:8000", "nonsense"])
async def test_an_address_that_is_refused_is_one_line(tmp_path: Path, address: str):
    command, env = program(tmp_path, "--http", address)
    process = await asyncio.create_subprocess_exec(*command, env=env, stderr=asyncio.subprocess.PIPE)
    _, stderr = await process.communicate()
    assert process.returncode == 1
    assert stderr.decode().startswith("accord agent: ")
    assert stderr.count(b"\n") == 1
