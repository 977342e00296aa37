"""The three programs that show how code with accord should look: an agent, a client of it, and a test of it.

They run as they are written here; only the directory is another one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AGENT = """
from accord import Agent, Turn

agent = Agent("sweeper", version="1.0")

@agent.prompt
async def sweep(turn: Turn) -> None:
    async with turn.tool_call(f"Delete *.pyc in {turn.cwd}", kind="delete") as call:
        if await turn.allowed(call):
            for file in turn.cwd.rglob("*.pyc"):
                file.unlink()
    await turn.say("Swept.")

agent.run()                                   # stdio; v1 and v2, whichever the client speaks
"""

CLIENT = """
from accord import Client, MessageChunk, ToolCallChanged, permissions

async with Client("python agent.py", on_permission=permissions.allow_all) as client:
    session = await client.new_session(cwd="/repo")
    reply = session.prompt("Sweep, please")
    async for update in reply:
        match update:
            case MessageChunk(text=text): print(text, end="")
            case ToolCallChanged(call=call): print(f"[{call.status}] {call.title}")
    print(reply.stop_reason)
"""

TEST = """
async def test_the_sweeper_says_when_it_is_done(version):          # parametrised over the versions
    async with Client(agent, version=version, on_permission=permissions.allow_all) as client:
        session = await client.new_session(cwd="/repo")
        reply = await session.prompt("Sweep, please")               # awaited: read to its end
        assert reply.text == "Swept."
        assert reply.stop_reason == "end_turn"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "old.pyc").touch()
    return repo


def test_the_client_talks_to_the_agent(tmp_path: Path, repo: Path):
    (tmp_path / "agent.py").write_text(AGENT)
    runner = f"""
import ast, asyncio
code = compile({CLIENT.replace("/repo", str(repo))!r}, "client.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
asyncio.run(eval(code))
"""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    finished = subprocess.run(
        [sys.executable, "-c", runner], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    title = f"Delete *.pyc in {repo}"
    assert finished.stdout.startswith(f"[pending] {title}\n")
    assert finished.stdout.endswith(f"[completed] {title}\nSwept.end_turn\n")
    assert not (repo / "old.pyc").exists()


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_the_test_passes(version: Any, repo: Path):
    names: dict[str, Any] = {}
    exec("from accord import Client, permissions\n" + AGENT.partition("agent.run()")[0], names)
    exec(TEST.replace("/repo", str(repo)), names)
    await names["test_the_sweeper_says_when_it_is_done"](version)
    assert not (repo / "old.pyc").exists()
