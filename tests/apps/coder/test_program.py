"""The agent as a program: started by a client, with a provider behind it, killed and started again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord import Client, Command, permissions
from accord.errors import AuthRequired, ConnectionClosed, RateLimited, RequestFailed
from accord.session.mcp_servers import StdioServer
from tests.apps.coder.scripted import until
from tests.model_server.script import Script
from tests.model_server.server import ModelServer

Start = Callable[..., Command]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    def command(*flags: str, **environment: str) -> Command:
        home = {"ACCORD_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
        return Command([sys.executable, "-m", "accord", "agent", *flags], env={**home, **environment})

    return command


@asynccontextmanager
async def provided(start: Start, replies: list[Any], *flags: str, **options: Any) -> AsyncIterator[tuple[Any, Any]]:
    """A client of the agent whose model is a server with these replies."""
    async with ModelServer(Script(replies)) as server:
        command = start("--model", "openai:scripted", *flags, OPENAI_API_KEY="none", OPENAI_BASE_URL=f"{server.url}/v1")
        async with Client(command, on_permission=permissions.allow_all, **options) as client:
            yield client, server


async def test_it_works_at_once_without_a_key(start: Start, project: Path, version: Any) -> None:
    async with Client(start(), version=version, on_permission=permissions.allow_all) as client:
        assert client.agent.info is not None
        assert client.agent.info.name == "accord"
        session = await client.new_session(cwd=project)
        assert "main.py:1" in (await session.prompt("/search double")).text
        assert "Edited main.py" in (await session.prompt("/edit main.py n + n => 2 * n")).text


async def test_a_missing_key_is_asked_for_and_looked_for_again(start: Start, project: Path, tmp_path: Path) -> None:
    async with ModelServer(Script([{"parts": [{"text": "Hello"}]}])) as server:
        command = start("--model", "openai:scripted")
        async with Client(command) as client:
            with pytest.raises(AuthRequired):
                await client.new_session(cwd=project)
            with pytest.raises(RequestFailed, match="OPENAI_API_KEY"):
                await client.authenticate("environment")
            (tmp_path / "home").mkdir(exist_ok=True)
            (tmp_path / "home" / "config.toml").write_text(
                f'[environment]\nOPENAI_API_KEY = "sesame"\n[base_urls]\nopenai = "{server.url}/v1"\n'
            )
            await client.authenticate("environment")
            session = await client.new_session(cwd=project)
            assert (await session.prompt("Hi")).text == "Hello"


async def test_rate_limits_are_waited_for(start: Start, project: Path) -> None:
    replies = [{"fault": "status", "status": 429, "retry_after": 0.1}, {"parts": [{"text": "Now."}]}]
    async with provided(start, replies) as (client, _):
        session = await client.new_session(cwd=project)
        assert (await session.prompt("Hi")).text == "Now."


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        ({"fault": "status", "status": 429, "message": "slow down"}, RateLimited, ""),
        ({"fault": "cut", "parts": [{"text": "Half of"}]}, RequestFailed, "Half of"),
        ({"fault": "status", "status": 401, "message": "no such key"}, RequestFailed, ""),
        ({"fault": "status", "status": 404, "message": "no such model"}, RequestFailed, ""),
    ],
)
async def test_a_model_that_fails_says_so_and_the_session_lives(
    start: Start, project: Path, fault: dict[str, Any], kind: Any, said: str
) -> None:
    """FN-94: a failed model call is shown as what it is, and the session lives."""
    replies = [{"when": {"last_user": "first"}, "times": 0, **fault}, {"parts": [{"text": "Fine."}]}]
    async with provided(start, replies, "--retries", "0") as (client, _):
        session = await client.new_session(cwd=project)
        reply = session.prompt("first")
        with pytest.raises(kind):
            await reply
        assert said in session.transcript.timeline[-1].text
        assert (await session.prompt("second")).text == "Fine."


async def test_nobody_at_the_models_address_says_what_to_do(start: Start, project: Path) -> None:
    command = start(
        "--model", "openai:scripted", "--retries", "0", OPENAI_API_KEY="none", OPENAI_BASE_URL="http://127.0.0.1:1/v1"
    )
    async with Client(command) as client:
        session = await client.new_session(cwd=project)
        with pytest.raises(RequestFailed, match=r"127\.0\.0\.1:1"):
            await session.prompt("Hi")


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_what_a_model_writes_wrongly_is_told_to_it_and_it_goes_on(
    start: Start, project: Path, provider: str
) -> None:
    replies = [
        {
            "parts": [
                {"tool": "read", "arguments": '{"path": "main'},
                {"tool": "raed", "arguments": {"path": "main.py"}},
                {"tool": "read", "arguments": "[1]"},
                {"tool": "read", "arguments": {"path": "main.py"}},
            ]
        },
        {"when": {"tool_result": True}, "parts": [{"text": "I see."}]},
        {"parts": [{"text": "Still here."}]},
    ]
    async with ModelServer(Script(replies)) as server:
        variables = {
            f"{provider.upper()}_API_KEY": "none",
            f"{provider.upper()}_BASE_URL": f"{server.url}/v1" if provider == "openai" else server.url,
        }
        command = start("--model", f"{provider}:scripted", **variables)
        async with Client(command) as client:
            session = await client.new_session(cwd=project)
            assert (await session.prompt("Look")).text == "I see."
            statuses = [call.status for call in session.transcript.tool_calls.values()]
            assert statuses == ["failed", "failed", "failed", "completed"]
        async with Client(command) as client:
            again = await client.load_session(session.id, cwd=project)
            assert (await again.prompt("And now?")).text == "Still here."


async def test_an_unknown_model_says_what_to_do(start: Start, project: Path) -> None:
    async with Client(start("--model", "acme:one")) as client:
        session = await client.new_session(cwd=project)
        with pytest.raises(RequestFailed, match="acme"):
            await session.prompt("Hi")


async def test_a_cancel_hangs_up_on_the_model(start: Start, project: Path) -> None:
    async with provided(start, [{"fault": "hang", "parts": [{"text": "Once"}]}]) as (client, server):
        session = await client.new_session(cwd=project)
        reply = session.prompt("Hi")
        async for _ in reply:
            if any(message.text == "Once" for message in session.transcript.messages.values()):
                break
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert await server.ended(1) == "gone"


async def test_a_killed_agent_has_kept_what_was_said(start: Start, project: Path) -> None:
    command = start()
    async with Client(command, on_permission=permissions.allow_all) as client:
        session = await client.new_session(cwd=project)
        await session.prompt("/search double")
        reply = session.prompt("/run echo $PPID > pid; sleep 1000")
        await until(lambda: (project / "pid").exists() and bool((project / "pid").read_text().strip()))
        os.kill(_agent_of(session.id), signal.SIGKILL)
        with pytest.raises(ConnectionClosed):
            await reply
    async with Client(command) as client:
        again = await client.load_session(session.id, cwd=project)
        titles = [call.title for call in again.transcript.tool_calls.values()]
        assert titles == ["Search for 'double'", "echo $PPID > pid; sleep 1000"]
        assert list(again.transcript.tool_calls.values())[-1].status == "failed"
        assert "main.py:1" in (await again.prompt("/search double")).text


def _agent_of(session_id: str) -> int:
    """The process of the agent: the child of ours that runs it, found by what it was started with."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            is_ours = (
                f"PYTEST_CURRENT_TEST={os.environ['PYTEST_CURRENT_TEST']}".encode() in (entry / "environ").read_bytes()
            )
        except (OSError, ValueError):
            continue
        if is_ours and words[1:4] == [b"-m", b"accord", b"agent"]:
            return int(entry.name)
    raise AssertionError(f"no agent runs for {session_id}")


SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("sums")


@server.tool()
def add(a: int, b: int) -> int:
    "The sum of two numbers."
    return a + b


server.run()
"""


@pytest.mark.parametrize("named_by", ["client", "settings"])
async def test_the_tools_of_mcp_servers_are_the_models_as_well(
    start: Start, project: Path, tmp_path: Path, named_by: str
) -> None:
    (project / "server.py").write_text(SERVER)
    replies = [
        {"parts": [{"tool": "sums__add", "arguments": {"a": 1, "b": 2}}]},
        {"when": {"tool_result": True}, "parts": [{"text": "Three."}]},
    ]
    sums = StdioServer(name="sums", command=sys.executable, args=[str(project / "server.py")])
    if named_by == "settings":
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "config.toml").write_text(
            f"[servers.sums]\ncommand = {sums.command!r}\nargs = {sums.args!r}\n"
        )
    async with provided(start, replies) as (client, _):
        session = await client.new_session(cwd=project, servers=[sums] if named_by == "client" else [])
        assert (await session.prompt("Add")).text == "Three."
        *_, call = session.transcript.tool_calls.values()  # before it there may be one that tells of the waiting
        assert (call.title, call.status) == ("sums: add", "completed")
        assert call.raw_output["output"] == "3"
