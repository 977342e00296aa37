"""Who waits for MCP servers, and how that is shown: a turn that asks for them, by a pending tool call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord.agent import Agent, SyncTurn, Turn
from accord.agent.mcp import McpResult, McpTool, ServerStatus
from accord.session.capabilities import ClientCapabilities
from accord.session.content import Text, text_of
from accord.session.mcp_servers import StdioServer
from accord.session.requests import NewSession
from tests.agent.user import CWD, User, plain_agent

FILES = StdioServer(name="files", command="/bin/files")
WEB = StdioServer(name="web", command="/bin/web")


class Slow:
    """Servers that are connected when a test says so; they stand in for `ServerConnections`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **states: str) -> None:
        self.states = states
        self.statuses: list[ServerStatus] = []
        self.tools: list[McpTool] = []
        self.ready = asyncio.Event()
        self.is_closed = False
        monkeypatch.setattr("accord.agent.mcp.ServerConnections", self.made)
        monkeypatch.setattr("accord.agent.session_servers._SILENT_SECONDS", 0.0)

    def made(self, cwd: Any, *, on_change: Any = None, **settings: Any) -> Slow:
        self.on_change = on_change
        return self

    async def connect(self, servers: Any) -> None:
        self.statuses = [self._status(server.name, "connecting") for server in servers]
        await self.ready.wait()
        self.statuses = [self._status(server.name, self.states.get(server.name, "connected")) for server in servers]
        self.tools = [McpTool(server=status.name, name="look", input_schema={}) for status in self.statuses]
        for status in self.statuses:
            self.on_change(status)

    def _status(self, name: str, state: Any) -> ServerStatus:
        return ServerStatus(name=name, kind="stdio", state=state, reason="no luck" if state == "failed" else "")

    async def call(self, tool: McpTool, arguments: Any = None, **options: Any) -> McpResult:
        return McpResult(content=[Text(f"{tool.server} looked")])

    async def aclose(self) -> None:
        self.is_closed = True


def worker() -> Agent:
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        if turn.text == "look":
            servers = await turn.servers()
            result = await servers.call(servers.tools[0], {})
            await turn.say(text_of(result.content))
        else:
            await turn.say("Hello.")

    @agent.command("look", "Looks, in a thread")
    def look(turn: SyncTurn) -> None:
        servers = turn.servers()
        assert [status.state for status in servers.statuses] == ["connected"]
        turn.say(text_of(servers.call(servers.tools[0], {}, deadline=5).content))

    return agent


@asynccontextmanager
async def talking(agent: Agent, version: Any, *servers: Any, **options: Any) -> AsyncIterator[tuple[User, str]]:
    async with User(agent, version, **options) as user:
        yield user, (await user.ask(NewSession(cwd=CWD, servers=list(servers)))).session_id


async def test_a_prompt_that_needs_no_server_does_not_wait_for_one(
    version: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    async with talking(worker(), version, FILES) as (user, session):
        assert await user.prompt(session, "hello") == "end_turn"
        assert user.said(session) == "Hello."
        assert not user.transcripts[session].tool_calls
        assert not slow.ready.is_set()
    assert slow.is_closed


@pytest.mark.parametrize("prompt", ["look", "/look"])
async def test_a_turn_that_waits_for_a_server_says_so(
    version: Any, prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    async with talking(worker(), version, FILES) as (user, session):
        reply = user.start(user.prompt(session, prompt))
        await user.until("call-1 pending")
        (call,) = user.transcripts[session].tool_calls.values()
        assert (call.title, call.status) == ("Connecting to the MCP server 'files'", "pending")
        slow.ready.set()
        assert await reply == "end_turn"
        (call,) = user.transcripts[session].tool_calls.values()
        assert call.status == "completed"
        assert text_of([item.content for item in call.content]) == (  # type: ignore[union-attr]
            "MCP server 'files' (stdio): connected with 0 tools"
        )
        assert user.said(session) == "files looked"
        await user.prompt(session, prompt)
        assert len(user.transcripts[session].tool_calls) == 1


@pytest.mark.parametrize(
    "capabilities", [ClientCapabilities(), ClientCapabilities(notices=True)], ids=["plain", "notices"]
)
async def test_a_server_that_fails_meanwhile_is_told_of_once(
    version: Any, capabilities: ClientCapabilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, web="failed")
    async with talking(worker(), version, FILES, WEB, capabilities=capabilities) as (user, session):
        reply = user.start(user.prompt(session, "look"))
        await user.until("call-1 pending")
        slow.ready.set()
        assert await reply == "end_turn"
        await user.prompt(session, "look")
        (call,) = user.transcripts[session].tool_calls.values()
        assert (call.title, call.status) == ("Connecting to the MCP servers 'files', 'web'", "failed")
        shown = [item.content.text for item in call.content]  # type: ignore[union-attr]
        assert shown[1] == "MCP server 'web' (stdio): not connected: no luck"


@pytest.mark.parametrize("way", ["returns", "stops"])
async def test_a_server_that_fails_while_a_turn_needs_none_is_told_of_before_its_end(
    version: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the only turn of the session."""
    slow = Slow(monkeypatch, web="failed")
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.say("Hello.")
        slow.ready.set()
        assert turn._state.servers.connecting is not None
        await turn._state.servers.connecting
        if way == "stops":
            turn.stop("end_turn")

    async with talking(agent, version, WEB, capabilities=ClientCapabilities()) as (user, session):
        for _ in range(2):
            assert await user.prompt(session, "hello") == "end_turn"
            calls = user.transcripts[session].tool_calls.values()
            told = [("MCP server 'web': failed", "failed")] if version != 2 else []  # v2 has notices
            assert [(call.title, call.status) for call in calls] == told
        assert any("not connected: no luck" in repr(frame) for frame in user.sent())


async def test_a_turn_that_is_cancelled_while_it_waits_leaves_the_servers_alone(
    version: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    async with talking(worker(), version, FILES) as (user, session):
        reply = user.start(user.prompt(session, "look"))
        await user.until("call-1 pending")
        await user.cancel(session)
        assert await reply == "cancelled"
        slow.ready.set()
        assert await user.prompt(session, "look") == "end_turn"
        assert user.said(session) == "files looked"


async def test_without_servers_there_are_no_tools(version: Any) -> None:
    agent, tools = plain_agent(), list[Any]()

    @agent.prompt
    async def work(turn: Turn) -> None:
        tools.append((await turn.servers()).tools)

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        assert tools == [[]]
        assert not user.transcripts[session].tool_calls


async def test_a_short_wait_is_not_worth_a_word(version: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch)
    monkeypatch.setattr("accord.agent.session_servers._SILENT_SECONDS", 3600.0)
    async with talking(worker(), version, FILES) as (user, session):
        reply = user.start(user.prompt(session, "look"))
        slow.ready.set()
        assert await reply == "end_turn"
        assert not user.transcripts[session].tool_calls
