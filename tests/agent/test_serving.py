from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

import msgspec
import pytest

from accord.agent import Agent, AgentConnection, Turn
from accord.agent.blocked_loop import slow_import
from accord.dialects.negotiation import ProtocolVersion, offer
from accord.errors import AuthRequired, Denied, InvalidParams, InvalidRequest, MethodNotFound
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import Peer
from accord.session.capabilities import ClientCapabilities, Implementation
from accord.session.content import Audio, Image, Resource, ResourceLink, Text
from accord.session.mcp_servers import HttpServer, StdioServer
from accord.session.requests import Authenticate, ListSessions, Logout, NewSession, Prompt, SetMode, SetModel, SetOption
from accord.store.memory import MemoryStore
from accord.testing import ScriptedClient
from tests.agent.user import CWD, User, plain_agent
from tests.virtual_clock import VirtualClockLoop, run


def echo(**options: Any) -> Agent:
    agent = plain_agent(**options)

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


@pytest.mark.requirement("INIT-24", "INIT-26", "INIT-27", "INIT-28", "INIT-29", "INIT-33")
async def test_capabilities_are_what_was_registered(version):
    async with User(echo(image=True, meta={"acme.dev": {"ping": True}}), version) as user:
        assert user.agent is not None
        can = user.agent.capabilities
        assert (can.image, can.audio, can.embedded_context) == (True, False, False)
        assert can.meta == {"acme.dev": {"ping": True}}
        assert (can.load, can.delete) == ((True, False) if version == 2 else (False, False))
    async with User(echo(store=MemoryStore()), version) as user:
        assert user.agent is not None
        assert user.agent.capabilities.load
        assert user.agent.capabilities.delete


@pytest.mark.requirement("CHECK-04", "CHECK-18", "PROMPT-05", "CONTENT-06", "CONTENT-17")
async def test_content_that_was_not_offered_is_refused(version):
    async with User(echo(), version) as user:
        session = await user.new_session()
        link = ResourceLink(uri="file:///a", name="a")
        await user.ask(Prompt(session_id=session, content=[Text("hi"), link]))
        for block in (
            Image(data="aGk=", mime_type="image/png"),
            Audio(data="aGk=", mime_type="audio/wav"),
            Resource(uri="file:///a", text="x"),
        ):
            with pytest.raises(InvalidParams, match="this agent does not accept"):
                await user.ask(Prompt(session_id=session, content=[block]))


async def connected(agent: Agent) -> Peer:
    def receive(event: RequestReceived | NotificationReceived) -> Any:
        return None

    peer = Peer(agent.connect(), receive)
    await peer.open()
    return peer


@pytest.mark.requirement("AMB-35")
async def test_requests_before_the_handshake_are_refused(version):
    peer = await connected(echo())
    with pytest.raises(InvalidRequest, match="Not initialized"):
        await peer.request("session/new", {"cwd": CWD, "mcpServers": []})
    await peer.request("initialize", offer(version, Implementation(name="t", version="1"), ClientCapabilities()))
    params = {"cwd": CWD, "mcpServers": []}
    assert "sessionId" in msgspec.json.decode(await peer.request("session/new", params))
    with pytest.raises(InvalidRequest):
        await peer.request("initialize", offer(version, Implementation(name="t", version="1")))
    await peer.aclose()


async def test_a_second_initialize_is_allowed_in_v2_before_anything_else():
    offers: list[tuple[ProtocolVersion, bool]] = [(1, False), (2, True)]
    for version, allowed in offers:
        peer = await connected(echo())
        params = offer(version, Implementation(name="t", version="1"))
        await peer.request("initialize", params)
        if allowed:
            await peer.request("initialize", params)
        else:
            with pytest.raises(InvalidRequest):
                await peer.request("initialize", params)
        await peer.aclose()


@pytest.mark.requirement(
    "AUTH-06", "AUTH-07", "AUTH-08", "AUTH-10", "AUTH-11", "CHECK-07", "CHECK-38", "RPC-26", "RPC-31", "AMB-10"
)
async def test_a_login_opens_the_door_and_a_logout_closes_it(version):
    agent = echo()
    calls: list[str] = []

    @agent.login("key", name="With a key", description="From the environment")
    async def log_in(client: AgentConnection) -> None:
        calls.append("in")
        if len(calls) == 1:
            raise Denied("no key")

    @agent.logout
    def log_out() -> None:
        calls.append("out")

    async with User(agent, version) as user:
        assert user.agent is not None
        assert [method.id for method in user.agent.auth_methods] == ["key"]  # type: ignore[union-attr]
        with pytest.raises(AuthRequired) as required:
            await user.new_session()
        (method,) = required.value.auth_methods
        named = (method["methodId" if version == 2 else "id"], method["name"], method["description"])
        assert named == ("key", "With a key", "From the environment")
        with pytest.raises(InvalidParams):
            await user.ask(Authenticate(method_id="face"))
        with pytest.raises(Denied):
            await user.ask(Authenticate(method_id="key"))
        await user.ask(Authenticate(method_id="key"))
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        await user.ask(Logout())
        with pytest.raises(AuthRequired):
            await user.new_session()
        assert calls == ["in", "in", "out"]


@pytest.mark.requirement("RPC-31", "AMB-11")
@pytest.mark.parametrize("opens_terminals", [True, False])
async def test_a_refusal_names_the_logins_as_the_handshake_did(version, opens_terminals):
    agent = echo(store=MemoryStore())
    agent.login("key", name="With a key", description="From the environment")(lambda: None)
    agent.terminal_login("web", name="In a terminal", description="Opens a page", args=["login"], env={"A": "1"})
    client = ScriptedClient(agent, version, capabilities=ClientCapabilities(terminal_login=opens_terminals))
    async with client:
        told = (await client.initialize()).result["authMethods"]
        params = {"sessionId": "s", "cwd": CWD, "mcpServers": []}
        methods = ("session/resume",) if version == 2 else ("session/load", "session/resume")
        refused = [await client.ask(method, params) for method in methods]
        refused.append(await client.ask("session/new", {"cwd": CWD, "mcpServers": []}))
    assert len(told) == 1 + opens_terminals
    for answer in refused:
        assert answer.error["code"] == -32000
        assert answer.error["data"] == {"reason": "auth_required", "authMethods": told}


@pytest.mark.requirement("RPC-31")
@pytest.mark.parametrize("where", ["prompt", "session", "option", "method"])
async def test_a_handler_that_wants_a_login_names_those_of_the_handshake(version, where):
    agent = plain_agent(logged_in=True)
    agent.login("key", name="With a key", description="From the environment")(lambda: None)

    def refuse(*arguments: Any) -> None:
        raise AuthRequired

    agent.prompt(refuse)
    agent.method("_acme/refuse")(refuse)
    agent.option("size", choices=["s", "m"])(refuse)
    client = ScriptedClient(agent, version)
    async with client:
        told = (await client.initialize()).result["authMethods"]
        session = await client.new_session(CWD)
        kind = {"type": "id"} if version == 2 else {}
        asked = {
            "prompt": ("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}),
            "session": ("session/new", {"cwd": CWD, "mcpServers": []}),
            "option": ("session/set_config_option", {"sessionId": session, "configId": "size", "value": "m", **kind}),
            "method": ("_acme/refuse", {}),
        }[where]
        agent.new_session(refuse)
        answer = await client.ask(*asked)
        error = answer.error
        if where == "prompt" and version == 2:
            idle = await client.next("session/update", where=lambda heard: "error" in heard.params["update"])
            error = idle.params["update"]["error"]
    (method,) = told
    assert (method["name"], method["description"]) == ("With a key", "From the environment")
    assert error["code"] == -32000
    assert error["data"] == {"reason": "auth_required", "authMethods": told}


async def test_nothing_of_a_session_can_be_chosen_after_a_logout(version):
    agent = echo(legacy_models=True)
    agent.option("mode", choices=["ask", "code"])
    agent.option("model", choices=["fast", "good"])
    agent.login("key", name="With a key")(lambda: None)
    async with User(agent, version) as user:
        await user.ask(Authenticate(method_id="key"))
        session = await user.new_session()
        await user.ask(Logout())
        choices = [SetOption(session_id=session, option_id="mode", value="code")]
        if version != 2:
            choices += [SetMode(session_id=session, mode_id="code"), SetModel(session_id=session, model_id="good")]
        for choice in choices:
            with pytest.raises(AuthRequired):
                await user.ask(choice)


async def test_authenticate_and_list_may_come_as_often_as_they_like(version):
    """FN-76: both are cheap and harmless."""
    agent = echo(store=MemoryStore(), logged_in=True)
    logins: list[int] = []

    @agent.login("key", name="With a key")
    def log_in() -> None:
        logins.append(1)

    async with User(agent, version) as user:
        session = await user.new_session()
        for _ in range(3):
            await user.ask(Authenticate(method_id="key"))
            assert await user.prompt(session, "x") == "end_turn"
            assert len((await user.ask(ListSessions())).sessions) == 1
        assert len(logins) == 1


async def test_an_agent_that_looks_for_its_key_itself_hears_of_every_login(version):
    agent = echo(logged_in=lambda: True)
    logins: list[int] = []

    @agent.login("key", name="With a key")
    def log_in() -> None:
        logins.append(1)

    async with User(agent, version) as user:
        for _ in range(3):
            await user.ask(Authenticate(method_id="key"))
        assert len(logins) == 3


@pytest.mark.requirement("SESS-38", "SESS-34", "AMB-43")
async def test_mcp_servers_of_kinds_not_offered_are_skipped_with_a_report(version, monkeypatch, caplog):
    """FN-77: the session opens all the same; v2 refuses, as it must."""
    monkeypatch.setattr("accord.agent.mcp.is_installed", lambda: False)
    servers = [HttpServer(name="web", url="http://localhost:1/mcp")]
    async with User(echo(), version) as user:
        asked = NewSession(cwd=CWD, servers=list(servers))
        if version == 2:
            with pytest.raises(InvalidParams):
                await user.ask(asked)
            return
        session = (await user.ask(asked)).session_id
        await user.until("notice MCP server 'web': skipped")
        assert await user.prompt(session, "x") == "end_turn"


async def test_an_mcp_server_that_can_not_start_does_not_cost_the_session(version):
    async with User(echo(), version) as user:
        server = StdioServer(name="gone", command="/no/such/program")
        session = (await user.ask(NewSession(cwd=CWD, servers=[server]))).session_id
        assert await user.prompt(session, "x") == "end_turn"
        await user.until("notice MCP server 'gone': failed")


async def test_an_mcp_server_that_does_not_answer_in_time_has_failed(version):
    agent = echo(mcp_connect_deadline=0.01)
    async with User(agent, version) as user:
        server = StdioServer(name="slow", command=sys.executable, args=["-c", "import time; time.sleep(600)"])
        session = (await user.ask(NewSession(cwd="/", servers=[server]))).session_id
        await user.until("notice MCP server 'slow': failed")
        assert await user.prompt(session, "x") == "end_turn"


@pytest.mark.requirement("RPC-12", "AMB-06")
async def test_a_method_that_later_versions_dropped_is_not_there():
    async with User(echo(), 1) as user:
        session = await user.new_session()
        with pytest.raises(MethodNotFound) as caught:
            await user.ask(SetModel(session_id=session, model_id="fast"))
        assert caught.value.method == "session/set_model"


@pytest.mark.requirement("EXT-05", "EXT-06", "EXT-07", "EXT-08", "EXT-09", "EXT-10", "EXT-11", "EXT-12")
async def test_extensions_work_both_ways(version):
    agent = plain_agent(meta={"acme.dev": {"methods": ["_acme/ping"]}})
    noted = asyncio.Event()

    @agent.method("_acme/ping")
    async def ping(params: Any, client: AgentConnection) -> Any:
        return {"pong": params["n"], "to": client.info.name if client.info else None}

    @agent.notification("_acme/note")
    def note(params: Any) -> None:
        loop.call_soon_threadsafe(noted.set)

    @agent.prompt
    async def ask_back(turn: Turn) -> None:
        await turn.client.notify("_acme/hint", {"a": 1})
        try:
            await turn.client.request("_acme/pick", {"from": [1, 2]}, deadline=10)
        except MethodNotFound as error:
            await turn.say(f"no {error.method}")

    loop = asyncio.get_running_loop()
    async with User(agent, version) as user:
        assert await user.call("_acme/ping", {"n": 1}) == {"pong": 1, "to": "accord-tests"}
        with pytest.raises(MethodNotFound):
            await user.call("_acme/unknown", {})
        await user.peer.notify("_acme/unknown", {})
        await user.peer.notify("_acme/note", {})
        await asyncio.wait_for(noted.wait(), 10)
        session = await user.new_session()
        await user.prompt(session, "x")
        assert user.said(session) == "no _acme/pick"
        assert any(frame.get("method") == "_acme/hint" for frame in user.sent())


def test_a_name_of_the_protocols_is_refused():
    with pytest.raises(ValueError, match="underscore"):
        plain_agent().method("session/magic")


async def test_a_trace_is_carried_on(version):
    agent = plain_agent()
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}

    @agent.prompt
    async def ask(turn: Turn) -> None:
        await turn.allowed("May I?")
        await turn.client.notify("_acme/hint", {"a": 1})
        await turn.say("done")

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.ask(Prompt(session_id=session, content=[Text("x")], meta={**trace, "other": 1}))
        await user.until("agent: done")
        assert user.asked[0].meta == trace
        (hint,) = [frame for frame in user.sent() if frame.get("method") == "_acme/hint"]
        assert hint["params"] == {"a": 1, "_meta": trace}


async def test_the_trace_of_an_extension_is_carried_on(version):
    agent = plain_agent()
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=b"}

    @agent.method("_acme/ping")
    async def ping(params: Any, client: AgentConnection) -> Any:
        await client.notify("_acme/hint", {})
        return {}

    async with User(agent, version) as user:
        await user.call("_acme/ping", {"_meta": {**trace, "acme.dev": 1}})
        await user.call("_acme/ping", {"_meta": "no object"})
        hints = [frame["params"] for frame in user.sent() if frame.get("method") == "_acme/hint"]
        assert hints == [{"_meta": trace}, {}]


async def test_nothing_that_a_client_sends_chooses_an_argument(version):
    agent = plain_agent()
    names = {"client": 1, "params": 2, "self": 3, "session_id": "other", "_meta": {"client": 4, "params": 5}}

    @agent.method("_acme/ping")
    async def ping(params: Any, client: Any, session_id: str = "ours") -> Any:
        assert isinstance(client, AgentConnection)
        assert session_id == "ours"
        return params

    @agent.prompt
    async def say(turn: Turn, session_id: str = "ours") -> None:
        await turn.say(f"{session_id} {turn.meta['session_id']}")

    async with User(agent, version) as user:
        assert await user.call("_acme/ping", names) == names
        session = await user.new_session()
        await user.ask(Prompt(session_id=session, content=[Text("x")], meta={"session_id": "theirs", "turn": 1}))
        await user.until("agent: ours theirs")


async def test_a_plain_function_does_not_freeze_the_other_sessions(version):
    """FN-15: it runs in a thread; the other sessions go on."""
    import threading

    release = threading.Event()
    agent = plain_agent()

    @agent.prompt
    def block(turn: Any) -> None:
        turn.say(f"in {turn.cwd.name}")
        if turn.cwd.name == "slow":
            release.wait(30)

    async with User(agent, version) as user:
        slow, quick = await user.new_session("/slow"), await user.new_session("/quick")
        blocked = user.start(user.prompt(slow, "x"))
        await user.until("agent: in slow")
        assert await user.prompt(quick, "x") == "end_turn"
        release.set()
        assert await blocked == "end_turn"


def block_loop(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualClockLoop)
    loop.now += seconds


def test_a_loop_that_stands_still_is_reported(caplog):
    """FN-15: whoever blocks it finds out from the log."""
    agent = plain_agent(slow_loop_seconds=2)

    @agent.prompt
    async def block(turn: Turn) -> None:
        block_loop(10)
        await asyncio.sleep(5)

    async def main() -> None:
        async with User(agent, 1) as user:
            session = await user.new_session()
            await user.prompt(session, "x")

    run(main())
    assert "the event loop was blocked" in caplog.text


@pytest.mark.parametrize("is_still_loading", [False, True])
def test_nobody_is_blamed_for_a_loop_that_waited_for_a_library(caplog, is_still_loading):
    """FN-15: a module that a thread imports holds up whoever needs it, too; that is no handler's fault."""
    caplog.set_level(logging.INFO)
    agent = plain_agent(slow_loop_seconds=2)
    done = asyncio.Event()

    async def load() -> None:
        with slow_import():
            block_loop(10)
            if is_still_loading:
                await done.wait()

    @agent.prompt
    async def work(turn: Turn) -> None:
        loads = asyncio.create_task(load())
        while "while a library was imported" not in caplog.text:  # noqa: ASYNC110  # a log sets no event
            await asyncio.sleep(1)
        done.set()
        await loads

    async def main() -> None:
        async with User(agent, 1) as user:
            await user.prompt(await user.new_session(), "x")

    run(main())
    assert "a handler blocks" not in caplog.text


def test_on_a_terminal_it_explains_itself(monkeypatch, capsys):
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    echo(title="The Echo").run()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "The Echo 1.0 is an agent" in shown.err
