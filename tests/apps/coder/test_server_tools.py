"""Tools of MCP servers among our own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import permissions
from accord.agent.mcp import McpResult, McpTool, ServerStatus
from accord.apps.coder.tools.mcp_tools import tools_of
from accord.errors import DeadlineExceeded
from accord.session.content import Image, Text
from accord.session.mcp_servers import StdioServer
from tests.apps.coder.scripted import tool, until

SHOOT = McpTool(server="cam era", name="shoot", input_schema={"type": "object"})


class Servers:
    """Stands for the connections of a session."""

    def __init__(self, call: Any) -> None:
        self.tools = [SHOOT]
        self.statuses = [ServerStatus(name="cam era", kind="stdio", state="connected", tools=1)]
        self.call = call

    async def aclose(self) -> None:
        pass


def test_every_tool_has_a_name_of_its_own_that_models_take() -> None:
    tools = [
        McpTool(server=server, name=name, input_schema={})
        for server, name in [
            ("a", "b__c"),
            ("a__b", "c"),
            ("a", "b c"),
            ("a", "b.c"),
            ("s" * 60, "one"),
            ("s" * 60, "two"),
        ]
    ]
    names = [each.name for each in tools_of(tools)]
    assert names[:4] == ["a__b__c", "a__b__c_2", "a__b_c", "a__b_c_2"]
    assert len(set(names)) == 6
    assert max(len(name) for name in names) <= 64


async def test_its_text_is_bounded_and_told_once_and_its_pictures_go_beside(sit: Any) -> None:
    picture = Image(data="aGk=", mime_type="image/png")

    async def call(*_: Any, **__: Any) -> McpResult:
        return McpResult(content=[Text("x" * 100_000), picture])

    async with sit(on_permission=permissions.allow_all) as desk:
        desk.servers.connections = Servers(call)
        (outcome,) = await desk.use(tool("cam_era__shoot", at="you"))
        assert len(outcome.text) < 33_000
        assert outcome.content == [picture]
        shown: Any = desk.calls[-1].content[0]
        assert '"at": "you"' in shown.content.text
        desk.servers.connections = None


@pytest.mark.parametrize("mode", ["ask", "code"])
async def test_the_user_is_asked_for_each_in_every_mode(sit: Any, mode: str) -> None:
    async def call(*_: Any, **__: Any) -> McpResult:
        raise AssertionError("nobody allowed it")

    async with sit() as desk:
        await desk.session.set_option("mode", mode)
        desk.servers.connections = Servers(call)
        (outcome,) = await desk.use(tool("cam_era__shoot"))
        assert "The user rejected this call" in outcome.text
        desk.servers.connections = None


async def test_an_architect_has_none_of_them(sit: Any) -> None:
    async def call(*_: Any, **__: Any) -> McpResult:
        raise AssertionError("architect mode, which changes nothing")

    async with sit(on_permission=permissions.allow_all) as desk:
        await desk.session.set_option("mode", "architect")
        desk.servers.connections = Servers(call)
        (outcome,) = await desk.use(tool("cam_era__shoot"))
        assert "architect mode, which changes nothing" in outcome.text
        assert not [each for each in desk.model.requests[0].tools if "shoot" in each.name]
        desk.servers.connections = None


async def test_one_that_hangs_is_given_up_after_its_time_and_cancelled_with_the_turn(sit: Any) -> None:
    begun = asyncio.Event()

    async def call(*_: Any, deadline: float, **__: Any) -> McpResult:
        assert deadline == 0.5
        if begun.is_set():
            raise DeadlineExceeded("tools/call", deadline)
        begun.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async with sit(on_permission=permissions.allow_all, flags={"command_deadline": "0.5"}) as desk:
        desk.servers.connections = Servers(call)
        desk.model.steps = [[tool("cam_era__shoot")]]
        reply = desk.session.prompt("Go")
        await begun.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        (*_, outcome) = await desk.use(tool("cam_era__shoot"))
        assert outcome.text == "cam era timed out after 0.5 s"
        desk.servers.connections = None


def connecting(desk: Any, call: Any) -> asyncio.Event:
    """Let the session have a server that is connected when the event is set."""
    ready, servers = asyncio.Event(), desk.servers

    async def connect() -> None:
        await ready.wait()
        servers.connections = Servers(call)

    servers._servers = [StdioServer(name="cam era", command="/bin/camera")]
    servers.connecting = asyncio.create_task(connect())
    return ready


@pytest.mark.parametrize("prompt", ["/read main.py", "show main.py", "/help", "/test"])
async def test_what_needs_no_language_model_waits_for_no_server(sit: Any, prompt: str) -> None:
    async def call(*_: Any, **__: Any) -> McpResult:
        raise AssertionError("nobody asked for it")

    async with sit(flags={}, on_permission=permissions.allow_all) as desk:
        ready = connecting(desk, call)
        assert await desk.ask(prompt)
        assert not ready.is_set()
        assert not [each for each in desk.calls if "Connecting" in (each.title or "")]


async def test_a_command_waits_for_no_server_with_a_language_model_either(sit: Any) -> None:
    async with sit(on_permission=permissions.allow_all) as desk:
        ready = connecting(desk, None)
        assert "double" in await desk.ask("/read main.py")
        assert not ready.is_set()


async def test_a_language_model_is_told_of_the_tools_when_they_are_there(
    sit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.agent.session_servers._SILENT_SECONDS", 0.0)

    async def call(*_: Any, **__: Any) -> McpResult:
        return McpResult(content=[Text("a picture")])

    async with sit(on_permission=permissions.allow_all) as desk:
        ready = connecting(desk, call)
        desk.model.steps = [[tool("cam_era__shoot")]]
        reply = desk.session.prompt("Go")
        await until(lambda: bool(desk.calls))
        assert (desk.calls[0].title, desk.calls[0].status) == ("Connecting to the MCP server 'cam era'", "pending")
        assert not desk.model.requests
        ready.set()
        assert (await reply).stop_reason == "end_turn"
        assert [each.name for each in desk.model.requests[0].tools if "shoot" in each.name] == ["cam_era__shoot"]
        assert [each.status for each in desk.calls] == ["completed", "completed"]
        desk.servers.connections = None
