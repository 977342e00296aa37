"""Which version two sides end up with, and what may come together with the handshake."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord import Agent, Client, Image, Turn
from accord.dialects.negotiation import ProtocolVersion, offer
from accord.errors import AuthRequired, InvalidParams, InvalidRequest, MethodNotFound, VersionRefused
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import Peer
from accord.store import MemoryStore
from accord.testing import ReceivedFrame, ScriptedAgent, ScriptedClient
from accord.transports.memory import memory_pair
from tests.conversations.agent_side import AgentSide
from tests.conversations.client_side import EVERYTHING, ClientSide
from tests.conversations.story import STORY
from tests.conversations.storyteller import tell_story


@pytest.mark.parametrize(
    ("offered", "versions", "agreed"),
    [
        ("auto", (1, 2), "v2"),
        ("auto", (1,), "v1"),
        ("auto", (2,), "v2"),
        (1, (1, 2), "v1"),
        (2, (1, 2), "v2"),
        ("2-draft", (1, 2), "v2 draft"),
    ],
)
@pytest.mark.requirement("INIT-03", "INIT-06", "INIT-13", "INIT-14", "INIT-15", "RPC-30", "AMB-15")
async def test_two_sides_agree_on_the_newest_version_that_both_have(
    offered: ProtocolVersion, versions: tuple[int, ...], agreed: str
):
    ours, theirs = memory_pair()
    async with AgentSide(theirs, tell_story, versions) as agent, ClientSide(ours, version=offered) as client:
        assert client.dialect is not None
        assert agent.dialect is not None
        assert client.dialect.name == agent.dialect.name == agreed
        assert await client.prompt(await client.new_session(), "refuse") == "refusal"


async def test_a_client_that_wants_another_version_says_so():
    ours, theirs = memory_pair()
    async with AgentSide(theirs, tell_story, versions=(1,)):
        with pytest.raises(VersionRefused):
            async with ClientSide(ours, version=2):
                pass


def told_nothing(event: RequestReceived | NotificationReceived) -> None:
    return None


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_requests_sent_together_with_the_handshake_are_answered(version: ProtocolVersion):
    """FN-07: a client need not wait for the answer to the handshake before it sends its next request."""
    ours, theirs = memory_pair()
    async with AgentSide(theirs, tell_story), Peer(ours, told_nothing) as client:
        calls = [
            client.send_request("initialize", offer(version)),
            client.send_request("session/new", {"cwd": STORY["cwd"], "mcpServers": []}),
        ]
        async with asyncio.timeout(120):
            answers: list[Any] = [msgspec.json.decode(await call) for call in calls]
    assert answers[0]["protocolVersion"] == (1 if version == 1 else 2)
    assert answers[1]["sessionId"] == "session-0"


async def test_a_request_before_the_handshake_is_refused_and_the_connection_lives():
    ours, theirs = memory_pair()
    async with AgentSide(theirs, tell_story), Peer(ours, told_nothing) as client:
        with pytest.raises(InvalidRequest):
            await client.request("session/new", {"cwd": STORY["cwd"], "mcpServers": []}, deadline=10)
        with pytest.raises(InvalidParams):
            await client.request("initialize", {"protocolVersion": "1"}, deadline=10)
        assert await client.request("initialize", offer(1), deadline=10)


VERSIONS = pytest.mark.parametrize("version", [1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])


def nothing_offered(version: ProtocolVersion) -> dict[str, Any]:
    if version == 2:
        return {"info": {"name": "scripted", "version": "1"}, "capabilities": {"session": {}}}
    return {"agentCapabilities": {}}


@pytest.mark.requirement("INIT-01", "INIT-02", "SESS-02", "PROMPT-02", "AUTH-11", "RPC-32")
@VERSIONS
async def test_a_client_waits_for_each_answer_before_it_begins_the_next_phase(version: ProtocolVersion):
    login = "auth/login" if version == 2 else "authenticate"
    agent = ScriptedAgent(version)

    def late(answer: Any) -> Any:
        async def give(asked: ReceivedFrame) -> Any:
            for _ in range(50):
                await asyncio.sleep(0)
            assert agent.received[-1] is asked, "the client did not wait for the answer"
            return answer

        return give

    logins = [{"methodId": "key", "type": "agent", "name": "Key"} if version == 2 else {"id": "key", "name": "Key"}]
    shaken = {"protocolVersion": 1 if version == 1 else 2, "authMethods": logins, **nothing_offered(version)}
    agent.on("initialize", late(shaken))
    agent.on("session/new", late(AuthRequired()), late({"sessionId": "session-1"}))
    agent.on(login, late({}))
    agent.on("session/prompt", agent.reply("Hi"))
    async with Client(agent, version=version, on_login="key") as client:
        session = await client.new_session("/")
        assert (await session.prompt("hi")).text == "Hi"
    agent.check()
    assert [heard.method for heard in agent.received] == [
        "initialize",
        "session/new",
        login,
        "session/new",
        "session/prompt",
    ]


@pytest.mark.requirement("INIT-01", "INIT-02", "PROMPT-02", "AMB-35")
@VERSIONS
async def test_an_agent_refuses_every_phase_that_comes_too_early(version: ProtocolVersion):
    agent = Agent("late", strict=True)
    agent.login("key", name="Key")(lambda client: None)
    agent.prompt(lambda turn: None)
    prompt = {"sessionId": "session-1", "prompt": [{"type": "text", "text": "hi"}]}
    async with ScriptedClient(agent, version) as client:
        for method, params in (("session/new", {"cwd": "/work", "mcpServers": []}), ("session/prompt", prompt)):
            assert (await client.ask(method, params)).error["code"] == -32600
        await client.initialize()
        for method, params in (("session/new", {"cwd": "/work", "mcpServers": []}), ("session/prompt", prompt)):
            assert (await client.ask(method, params)).error["code"] == -32000
        await client.ask("auth/login" if version == 2 else "authenticate", {"methodId": "key"})
        assert (await client.ask("session/prompt", prompt)).error["code"] == -32002
        await client.new_session()
        assert await client.stop_reason(client.prompt("hi")) == "end_turn"


INFO = {"name": "scripted", "version": "1"}


@pytest.mark.requirement("INIT-06", "INIT-07", "INIT-14", "INIT-15", "RPC-30", "INIT-13")
@pytest.mark.parametrize(
    ("offered", "members", "answered", "has_info"),
    [
        (1, {}, 1, False),
        (1, {"clientCapabilities": {}, "clientInfo": INFO}, 1, False),
        (2, {"clientCapabilities": {}}, 2, False),
        (2, {"info": INFO, "capabilities": {}}, 2, True),
        (7, {"clientCapabilities": {}}, 2, False),
        (7, {"info": INFO, "capabilities": {}}, 2, True),
        (65535, {}, 2, False),
        (0, {}, 2, False),
    ],
)
async def test_an_agent_answers_every_offer_with_a_version_that_it_has_and_speaks_it(
    offered: int, members: dict[str, Any], answered: int, has_info: bool
):
    agent = Agent("willing")
    agent.prompt(lambda turn: None)
    async with ScriptedClient(agent) as client:
        said = (await client.ask("initialize", {"protocolVersion": offered, **members})).result
        assert said["protocolVersion"] == answered
        assert ("agentCapabilities" in said, "info" in said) == (not has_info, answered == 2)
        session = (await client.ask("session/new", {"cwd": "/work", "mcpServers": []})).result["sessionId"]
        assert ("stopReason" in (await client.prompt("hi", session_id=session)).result) is not has_info


@pytest.mark.bad_frames
@pytest.mark.requirement("INIT-04", "INIT-10", "INIT-11", "RPC-35", "AMB-14")
@pytest.mark.parametrize("offered", ["1", 1.5, True, None, -1, 65536, [1], ...])
async def test_an_agent_refuses_an_offer_that_is_no_version(offered: Any):
    async with ScriptedClient(Agent("willing"), 1) as client:
        params = {"clientCapabilities": {}} if offered is ... else {"protocolVersion": offered}
        refused = (await client.ask("initialize", params)).error
        assert refused["code"] == -32602
        assert "protocolVersion" in refused["data"]["field"]
        answered = (await client.initialize()).result["protocolVersion"]
        assert (answered, type(answered)) == (1, int)


@pytest.mark.requirement("INIT-03", "INIT-04", "AMB-14", "CHECK-16")
async def test_a_client_offers_the_newest_version_that_it_has():
    offers: list[tuple[ProtocolVersion, int]] = [("auto", 2), (2, 2), ("2-draft", 2), (1, 1)]
    for version, number in offers:
        agent = ScriptedAgent("auto")
        async with Client(agent, version=version):
            params = agent.calls("initialize")[0].params
            assert (params["protocolVersion"], type(params["protocolVersion"])) == (number, int)
            assert "capabilities" in params or "clientCapabilities" in params


@pytest.mark.requirement("INIT-16", "INIT-13")
@pytest.mark.parametrize(("wanted", "answered"), [(1, 2), (2, 1), (1, 7), ("auto", 0)])
@pytest.mark.bad_frames
async def test_a_client_hangs_up_on_a_version_that_it_does_not_have_and_says_why(
    wanted: ProtocolVersion, answered: int
):
    agent = ScriptedAgent(1)
    agent.on("initialize", {"protocolVersion": answered, "info": {"name": "s", "version": "1"}, "capabilities": {}})
    with pytest.raises(VersionRefused, match=str(answered)):
        async with Client(agent, version=wanted):
            pass
    assert agent.closed is not None
    assert [heard.method for heard in agent.received] == ["initialize"]


def offered_by(version: ProtocolVersion, result: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What an agent says about prompts and about MCP servers: names of what it takes, each with True."""
    if version == 2:
        can = result["capabilities"]["session"]
        return dict.fromkeys(can.get("prompt", {}), True), dict.fromkeys(can.get("mcp", {}), True)
    can = result["agentCapabilities"]
    return can.get("promptCapabilities", {}), can.get("mcpCapabilities", {})


@pytest.mark.requirement("INIT-24", "INIT-26", "INIT-27", "INIT-28", "INIT-29", "CHECK-34", "CHECK-35", "CHECK-36")
@VERSIONS
@pytest.mark.parametrize("taken", ["image", "audio", "embedded_context", None])
async def test_an_agent_says_which_content_it_takes(version: ProtocolVersion, taken: str | None):
    options: dict[str, Any] = {} if taken is None else {taken: True}
    async with ScriptedClient(Agent("taker", **options), version) as client:
        prompts, _ = offered_by(version, (await client.initialize()).result)
        names = {"image": "image", "audio": "audio", "embedded_context": "embeddedContext"}
        assert {name for name, is_on in prompts.items() if is_on} == ({names[taken]} if taken else set())


@pytest.mark.requirement("INIT-24", "INIT-30", "INIT-31", "INIT-32")
@VERSIONS
@pytest.mark.parametrize("installed", [True, False])
async def test_an_agent_says_which_mcp_servers_it_connects_to(
    version: ProtocolVersion, installed: bool, monkeypatch: pytest.MonkeyPatch
):
    """With the package for MCP at hand it takes those on the network; v2 knows no SSE."""
    monkeypatch.setattr("accord.agent.mcp.is_installed", lambda: installed)
    async with ScriptedClient(Agent("taker"), version) as client:
        _, servers = offered_by(version, (await client.initialize()).result)
        network = ({"http"} if version == 2 else {"http", "sse"}) if installed else set[str]()
        assert {name for name, is_on in servers.items() if is_on} - {"stdio"} == network


@pytest.mark.requirement("AUTH-02", "AUTH-03", "AUTH-04", "INIT-09", "AUTH-10", "AMB-12")
@VERSIONS
async def test_an_agent_names_its_logins_and_always_says_whether_there_are_any(version: ProtocolVersion):
    agent = Agent("locked")
    key = "methodId" if version == 2 else "id"
    async with ScriptedClient(agent, version) as client:
        assert (await client.initialize()).result.get("authMethods", []) == []
        assert version == 2 or "authMethods" in client.received[0].result
    agent.login("key", name="Key", description="From the environment")(lambda client: None)
    agent.login("web", name="Web")(lambda client: None)
    async with ScriptedClient(agent, version) as client:
        told = (await client.initialize()).result["authMethods"]
        assert [(each[key], each["name"], each.get("description")) for each in told] == [
            ("key", "Key", "From the environment"),
            ("web", "Web", None),
        ]


@pytest.mark.bad_frames
@pytest.mark.requirement("AMB-14", "INIT-10", "INIT-16")
@pytest.mark.parametrize("answered", ["1", 1.0, True, None, "2025-06-18"])
async def test_a_client_hangs_up_on_an_answer_that_is_no_version(answered: Any):
    agent = ScriptedAgent(1, protocolVersion=answered)
    with pytest.raises(VersionRefused, match="expected 1"):
        async with Client(agent, version=1):
            pass
    assert agent.closed is not None


@pytest.mark.bad_frames
@pytest.mark.requirement("AMB-12", "AMB-70", "AUTH-11", "AMB-10")
@VERSIONS
@pytest.mark.parametrize("said", [{}, {"authMethods": None}], ids=["absent", "null"])
async def test_what_an_agent_leaves_out_of_its_handshake_is_none_and_off(
    version: ProtocolVersion, said: dict[str, Any]
):
    bare = {"info": {"name": "s", "version": "1"}, "capabilities": {"session": None}} if version == 2 else {}
    agent = ScriptedAgent(version)
    agent.on("initialize", {"protocolVersion": 1 if version == 1 else 2, **bare, **said})
    async with Client(agent, version=version, strict=False, on_login="key") as client:
        can = client.agent.capabilities
        assert client.agent.auth_methods == []
        assert [can.load, can.image, can.audio, can.embedded_context, can.mcp_http, can.mcp_sse] == [False] * 6
        with pytest.raises(MethodNotFound):
            await client.load_session("s", "/work")
        with pytest.raises(MethodNotFound):
            await client.logout()
        with pytest.raises(ValueError, match="no login 'key'"):
            await client.authenticate("key")
        assert await client.login() is False
        with pytest.raises(ValueError, match="no login 'key'"):
            await client.login("key")
    assert [heard.method for heard in agent.received] == ["initialize"]


ODD_FLAGS = ["yes", 1, None, {}, [True]]


@pytest.mark.bad_frames
@pytest.mark.requirement("AMB-13", "INIT-19")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
@pytest.mark.parametrize("odd", ODD_FLAGS, ids=str)
async def test_a_flag_that_is_anything_but_true_is_off_for_both_sides(
    version: ProtocolVersion, odd: Any, tmp_path: Path
):
    prompts = dict.fromkeys(("image", "audio", "embeddedContext"), odd)
    agent = ScriptedAgent(version, agentCapabilities={"loadSession": odd, "promptCapabilities": prompts})
    async with Client(agent, version=version, strict=False) as client:
        session = await client.new_session("/work")
        with pytest.raises(MethodNotFound):
            await client.load_session("s", "/work")
        with pytest.raises(InvalidParams):
            session.prompt(Image(data="", mime_type="image/png"))
    (tmp_path / "a.txt").write_text("on the disk")
    worker = Agent("worker", strict=False)

    @worker.prompt
    async def work(turn: Turn) -> None:
        await turn.say(await turn.files.read("a.txt"))
        assert not turn.client.capabilities.terminals

    flags = {"fs": {"readTextFile": odd, "writeTextFile": odd}, "terminal": odd}
    async with ScriptedClient(worker, version) as client_end:
        await client_end.initialize(clientCapabilities=flags)
        await client_end.new_session(str(tmp_path))
        assert await client_end.stop_reason(client_end.prompt("go")) == "end_turn"
        assert client_end.said() == "on the disk"
        assert not [heard for heard in client_end.received if heard.is_request]


def flags_of(value: Any) -> list[Any]:
    """The values of a capability object that are neither objects nor `_meta`, however deep."""
    return [
        flag
        for name, inner in value.items()
        if name != "_meta"
        for flag in (flags_of(inner) if isinstance(inner, dict) else [inner])
    ]


@pytest.mark.requirement("AMB-13")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
async def test_both_sides_tell_what_they_can_by_booleans(version: ProtocolVersion, tmp_path: Path):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, workspace=tmp_path):
        told = agent.calls("initialize")[0].params["clientCapabilities"]
    async with ScriptedClient(Agent("able", store=MemoryStore(), image=True), version) as client:
        said = (await client.initialize()).result["agentCapabilities"]
    for flags in (told, said):
        assert flags_of(flags)
        assert {type(flag) for flag in flags_of(flags)} == {bool}


@pytest.mark.requirement("AMB-16", "AMB-17", "AMB-21")
@VERSIONS
async def test_the_draft_keeps_the_shapes_of_v1_for_what_it_does_not_say_and_v2_has_its_own(
    version: ProtocolVersion, tmp_path: Path
):
    (tmp_path / "a.txt").write_text("on the disk")
    agent = Agent("worker", strict=True, store=MemoryStore())
    agent.option("mode", choices=["ask", "code"])

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.say(await turn.files.read("a.txt"))
        await turn.set_mode("code")

    async with ScriptedClient(agent, version, capabilities=EVERYTHING) as client:
        client.on("fs/read_text_file", {"content": "unsaved"})
        shaken = (await client.initialize()).result
        opened = (await client.ask("session/new", {"cwd": str(tmp_path), "mcpServers": []})).result
        client.session_id = opened["sessionId"]
        assert await client.stop_reason(client.prompt("go")) == "end_turn"
    as_in_v1 = version != 2
    assert ("agentCapabilities" in shaken, "modes" in opened) == (as_in_v1, as_in_v1)
    assert bool(client.calls("fs/read_text_file")) is as_in_v1
    assert client.said() == ("unsaved" if as_in_v1 else "on the disk")
    modes = [update["currentModeId"] for update in client.updates("current_mode_update")]
    assert modes == (["code"] if as_in_v1 else [])
    (options,) = client.updates("config_option_update")
    (option,) = options["configOptions"]
    assert (option["category"], option["currentValue"]) == ("mode", "code")


@pytest.mark.bad_frames
@pytest.mark.requirement("AMB-61", "COMPAT-14", "EXT-02")
@VERSIONS
@pytest.mark.parametrize("strict", [True, False])
async def test_a_member_that_no_version_has_is_refused_in_strict_mode_and_ignored_else(
    version: ProtocolVersion, strict: bool
):
    worker = Agent("worker", strict=strict, merge_seconds=0.0)

    @worker.prompt
    async def work(turn: Turn) -> None:
        await turn.say("heard")

    block = {"type": "text", "text": "hi", "colour": "red"}
    async with ScriptedClient(worker, version) as client:
        session = await client.new_session("/work")
        for params in (
            {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}], "mood": "good"},
            {"sessionId": session, "prompt": [block]},
        ):
            answer = await client.ask("session/prompt", params)
            assert (None if answer.error is None else answer.error["code"]) == (-32602 if strict else None)
        fine = [{"type": "text", "text": "hi", "_meta": {"colour": "red"}}]
        assert (await client.ask("session/prompt", {"sessionId": session, "prompt": fine})).error is None
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, strict=strict) as client_side:
        session_there = await client_side.new_session("/work")
        agent.update("agent_message_chunk", messageId="m", content=block)
        agent.update("agent_message_chunk", messageId="m", content={"type": "text", "text": "!"}, mood="good")
        agent.update("agent_message_chunk", messageId="m", content={"type": "text", "text": "?"}, _meta={"mood": 1})
        await agent.ask("_acme/ping", {})
        texts = [message.text for message in session_there.transcript.messages.values()]
        assert texts == (["?"] if strict else ["hi!?"])


@pytest.mark.requirement("INIT-18", "INIT-08", "INIT-17")
@VERSIONS
async def test_a_client_works_with_an_agent_that_offers_nothing(version: ProtocolVersion):
    agent = ScriptedAgent(version, **nothing_offered(version))
    agent.on("session/prompt", agent.reply("Hi"))
    agent.on("session/close", {})
    async with Client(agent, version=version) as client:
        session = await client.new_session("/")
        assert (await session.prompt("hi")).text == "Hi"
        await session.close()


@pytest.mark.requirement("INIT-18", "INIT-05", "INIT-19")
@VERSIONS
async def test_an_agent_works_with_a_client_that_says_nothing_of_itself(version: ProtocolVersion):
    agent = Agent("worker", store=MemoryStore())

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            await turn.allowed(call)
        await turn.notice("Done")
        assert not turn.can_ask
        await turn.say("Hi")

    async with ScriptedClient(agent, version) as client:
        said: dict[str, Any] = {"protocolVersion": 1 if version == 1 else 2}
        if version == 2:
            said["info"] = {"name": "scripted", "version": "1"}
        assert (await client.ask("initialize", said)).error is None
        opened = await client.ask("session/new", {"cwd": "/work", "mcpServers": []})
        client.on("session/request_permission", {"outcome": {"outcome": "cancelled"}})
        await client.prompt("hi", session_id=opened.result["sessionId"])
        await client.next("session/update", where=lambda heard: "'Hi'" in repr(heard.params))
        assert {heard.method for heard in client.received if heard.is_request} == {"session/request_permission"}
