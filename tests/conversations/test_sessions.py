"""Opening and taking up sessions, as raw frames against our two sides: ids, directories, modes and MCP servers."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client, InvalidParams, Turn
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.store import MemoryStore, SqliteStore
from accord.testing import ScriptedAgent, ScriptedClient
from tests.conversations.client_side import EVERYTHING

CWD = "/work/project"
PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "permission_and_diff.py"
PAIR = [{"name": "A", "value": "b"}]
# As v1 and the draft have them; in v2 each has a type.
SERVERS: dict[str, tuple[McpServer, dict[str, Any]]] = {
    "stdio": (
        StdioServer(name="files", command="/bin/files", args=["-x", ""], env={"A": "b"}),
        {"name": "files", "command": "/bin/files", "args": ["-x", ""], "env": PAIR},
    ),
    "bare stdio": (
        StdioServer(name="files", command="/bin/files"),
        {"name": "files", "command": "/bin/files", "args": [], "env": []},
    ),
    "http": (
        HttpServer(name="web", url="http://localhost:1/mcp", headers={"A": "b"}),
        {"type": "http", "name": "web", "url": "http://localhost:1/mcp", "headers": PAIR},
    ),
    "bare http": (
        HttpServer(name="web", url="http://localhost:1/mcp"),
        {"type": "http", "name": "web", "url": "http://localhost:1/mcp", "headers": []},
    ),
    "sse": (
        SseServer(name="old", url="http://localhost:1/sse", headers={"A": "b"}),
        {"type": "sse", "name": "old", "url": "http://localhost:1/sse", "headers": PAIR},
    ),
}
NEEDED = [
    *[("stdio", each) for each in ("name", "command")],
    *[(kind, each) for kind in ("http", "sse") for each in ("name", "url")],
]


def echo(store: Any = None) -> Agent:
    agent = Agent("echo", strict=True, merge_seconds=0.0, store=store)

    @agent.prompt
    async def say(turn: Turn) -> None:
        before = [message.text for message in turn.session.transcript.messages.values() if message.role == "user"]
        await turn.say(f"{turn.cwd.name}: {', '.join(before)}")

    return agent


def server_user() -> Agent:
    agent = Agent("server-user", strict=True, merge_seconds=0.0)

    @agent.prompt
    async def use(turn: Turn) -> None:
        await turn.servers()

    return agent


def in_cwd(name: str) -> str:
    return str(Path(name).absolute())


def connects(version: Any, *kinds: str) -> dict[str, Any]:
    """The handshake of an agent that connects to MCP servers of these kinds, beside those that it starts."""
    if version == 2:
        mcp = {kind: {} for kind in ("stdio", *kinds) if kind != "sse"}
        return {"capabilities": {"session": {"mcp": mcp, "fork": {}}}}
    sessions = {"resume": {}, "fork": {}}
    can = {"mcpCapabilities": dict.fromkeys(kinds, True), "loadSession": True, "sessionCapabilities": sessions}
    return {"agentCapabilities": can}


def told(version: Any, name: str) -> dict[str, Any]:
    """A server as this version tells it."""
    raw = deepcopy(SERVERS[name][1])
    if version == 2:
        raw = {"type": name.removeprefix("bare "), **raw}
        return {key: value for key, value in raw.items() if value != []}
    return raw


@pytest.mark.requirement("SESS-05", "SESS-01")
async def test_no_two_sessions_have_one_id(version, tmp_path):
    """Neither of one connection, nor of several, nor of agents that share a store."""
    ids: list[str] = []
    async with SqliteStore(tmp_path / "sessions.db") as store:
        for agent in (echo(store), echo(store), echo()):
            async with ScriptedClient(agent, version) as client:
                ids += [await client.new_session(CWD) for _ in range(10)]
                if agent._definition.store is not None:
                    params = {"sessionId": ids[-1], "cwd": CWD, "mcpServers": []}
                    ids.append((await client.ask("session/fork", params)).result["sessionId"])
    assert all(isinstance(each, str) and each for each in ids)
    assert len(set(ids)) == len(ids)


@pytest.mark.requirement("SESS-05")
async def test_no_two_sessions_of_two_processes_have_one_id():
    ids: list[str] = []
    for _ in range(2):
        async with ScriptedClient([sys.executable, str(PROGRAM)], 1, patience=60) as client:
            ids += [await client.new_session(CWD) for _ in range(3)]
    assert len(set(ids)) == 6


@pytest.mark.bad_frames
@pytest.mark.requirement("SESS-05")
@pytest.mark.parametrize("answer", [{}, {"sessionId": None}, {"sessionId": 5}])
async def test_a_client_refuses_a_session_without_an_id(version, answer):
    agent = ScriptedAgent(version)
    agent.on("session/new", answer)
    async with Client(agent, version=version) as client:
        with pytest.raises(Exception, match="sessionId"):
            await client.new_session(CWD)
        assert client.sessions == []


@pytest.mark.requirement("SESS-01", "SESS-20", "SESS-05", "PROMPT-19")
async def test_sessions_of_one_agent_have_their_own_directory_and_history(version, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with Client(echo(), version=version) as client:
        one, two = await client.new_session(tmp_path / "one"), await client.new_session(tmp_path / "two")
        assert (await one.prompt("a")).text == "one: a"
        assert (await two.prompt("b")).text == "two: b"
        assert (await one.prompt("c")).text == "one: a, c"
        assert [each.text for each in two.transcript.messages.values()] == ["b", "two: b"]


@pytest.mark.requirement("SESS-17", "SESS-14")
async def test_a_session_is_taken_up_after_a_restart_and_by_another_client(version, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    async with SqliteStore(tmp_path / "sessions.db") as store, Client(echo(store), version=version) as client:
        session = await client.new_session(project)
        await session.prompt("a")
    async with SqliteStore(tmp_path / "sessions.db") as store:
        agent = echo(store)
        async with Client(agent, version=version) as first, Client(agent, version=version) as second:
            loaded = await first.load_session(session.id, project)
            await loaded.prompt("b")
            shared = await second.load_session(session.id, project)
            texts = [message.text for message in shared.transcript.messages.values()]
            assert texts == ["a", "project: a", "b", "project: a, b"]


@pytest.mark.requirement("SESS-06", "SESS-16")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
async def test_modes_come_with_a_session_that_is_new_or_taken_up(version):
    agent = echo(MemoryStore())
    bare = echo(MemoryStore())
    agent.option("mode", choices=[("ask", "Ask"), ("code", "Code")])
    for each, has_modes in ((agent, True), (bare, False)):
        async with ScriptedClient(each, version) as client:
            await client.initialize()
            params: dict[str, Any] = {"cwd": CWD, "mcpServers": []}
            opened = (await client.ask("session/new", params)).result
            session = opened["sessionId"]
            loaded = (await client.ask("session/load", {"sessionId": session, **params})).result
            assert "sessionId" not in loaded
            for answer in (opened, loaded):
                assert ("modes" in answer) is has_modes
                if has_modes:
                    assert answer["modes"]["currentModeId"] == "ask"
                    assert [mode["id"] for mode in answer["modes"]["availableModes"]] == ["ask", "code"]


@pytest.mark.requirement("SESS-06", "SESS-16")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
async def test_a_client_shows_the_modes_of_a_session_that_is_new_or_taken_up(version):
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]}
    agent = ScriptedAgent(version)
    agent.on("session/new", {"sessionId": "a", "modes": modes}, {"sessionId": "b"})
    agent.on("session/load", {"modes": modes}, {})
    async with Client(agent, version=version) as client:
        for session, has_modes in (
            (await client.new_session(CWD), True),
            (await client.new_session(CWD), False),
            (await client.load_session("c", CWD), True),
            (await client.load_session("d", CWD), False),
        ):
            if has_modes:
                assert session.modes is not None
                assert (session.modes.current, [mode.id for mode in session.modes.available]) == (
                    "ask",
                    ["ask", "code"],
                )
            else:
                assert session.modes is None


@pytest.mark.requirement(
    "SESS-22", "SESS-24", "SESS-25", "SESS-26", "SESS-27", "SESS-28", "SESS-29", "SESS-30", "SESS-31", "SESS-32"
)
@pytest.mark.requirement("SESS-33", "SESS-36", "SESS-37", "AMB-41", "AMB-42", "AMB-45")
@pytest.mark.parametrize("name", SERVERS)
async def test_a_client_names_a_server_with_all_that_it_needs(version, name):
    if (version, name) == (2, "sse"):
        return  # v2 knows no SSE
    agent = ScriptedAgent(version, **connects(version, "http", "sse"))
    async with Client(agent, version=version) as client:
        await client.new_session(CWD, [SERVERS[name][0]])
        assert agent.calls("session/new")[0].params["mcpServers"] == [told(version, name)]


@pytest.mark.requirement("SESS-11", "SESS-12", "SESS-13", "SESS-19", "SESS-04", "AMB-42")
async def test_a_client_takes_a_session_up_with_its_id_its_directory_and_its_servers(version):
    agent = ScriptedAgent(version, **connects(version))
    for method in ("session/load", "session/resume"):
        agent.on(method, {})
    agent.on("session/fork", {"sessionId": "fork"})
    async with Client(agent, version=version) as client:
        for servers, named in (([], []), ([SERVERS["stdio"][0]], [told(version, "stdio")])):
            await client.load_session("s", "project", servers)
            await client.resume_session("s", "project", servers)
            await client.fork_session("s", "project", servers)
            asked = agent.received[-3:]
            assert [each.method for each in asked] == [
                "session/resume" if version == 2 else "session/load",
                "session/resume",
                "session/fork",
            ]
            for each in asked:
                assert (each.params["sessionId"], each.params["cwd"]) == ("s", in_cwd("project"))
                assert each.params.get("mcpServers", [] if version == 2 else None) == named


@pytest.mark.requirement("SESS-23", "SESS-24", "SESS-26", "SESS-27", "SESS-28", "SESS-36", "SESS-08", "SESS-20")
async def test_an_agent_starts_a_server_as_the_client_names_it(version, tmp_path):
    """With these arguments and variables, in the session's directory, which is not that of the agent."""
    note = tmp_path / "note.json"
    program = "import json, os, sys; json.dump([sys.argv[1:], os.environ['A'], os.getcwd()], open(sys.argv[1], 'w'))"
    server = told(version, "stdio") | {"command": sys.executable, "args": ["-c", program, str(note), "two words"]}
    agent = Agent("user of tools", strict=True)

    @agent.prompt
    async def use(turn: Turn) -> None:
        await turn.servers()

    async with ScriptedClient(agent, version) as client:
        await client.new_session(str(tmp_path), mcpServers=[server])
        assert await client.stop_reason(client.prompt("hi")) == "end_turn"
    assert json.loads(note.read_text()) == [[str(note), "two words"], "b", str(tmp_path)]


@pytest.mark.bad_frames
@pytest.mark.requirement("AMB-41", "AMB-42", "AMB-45", "AMB-48")
@pytest.mark.parametrize("odd", [{}, {"type": "stdio"}, {"env": None}], ids=["absent", "type stdio", "null"])
async def test_an_agent_takes_a_session_without_servers_and_a_server_without_variables(version, odd, tmp_path):
    note = tmp_path / "note"
    program = f"open({str(note)!r}, 'w').write('started')"
    server = {"name": "files", "command": sys.executable, "args": ["-c", program], **odd}
    if version == 2:
        server["type"] = "stdio"
    agent = server_user()
    agent._definition.strict = False
    async with ScriptedClient(agent, version) as client:
        await client.initialize()
        for place in ({}, {"mcpServers": None}, {"mcpServers": [server]}):
            opened = await client.ask("session/new", {"cwd": str(tmp_path), **place})
            assert opened.error is None
            prompt = client.prompt("hi", session_id=opened.result["sessionId"])
            assert await client.stop_reason(prompt) == "end_turn"
            assert note.exists() is bool(place.get("mcpServers"))


@pytest.mark.requirement("RPC-18", "SESS-26", "AMB-46")
@pytest.mark.parametrize("method", ["session/new", "session/load", "session/resume", "session/fork"])
@pytest.mark.parametrize("command", ["bin/prog", "./prog", "../prog", "~/prog", "bin\\prog.exe"])
async def test_an_agent_refuses_a_server_by_a_relative_path_and_starts_nothing(version, command, method, tmp_path):
    if (version, method) == (2, "session/load"):
        method = "session/resume"
    note, program = tmp_path / "note", tmp_path / "bin" / "prog"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {note}\n")
    program.chmod(0o755)
    server = told(version, "stdio") | {"command": command}
    async with ScriptedClient(echo(MemoryStore()), version) as client:
        session = await client.new_session(str(tmp_path))
        await client.stop_reason(client.prompt("hi"))
        taken_up = {} if method == "session/new" else {"sessionId": session}
        asked = {"cwd": str(tmp_path), "mcpServers": [told(version, "stdio") | {"name": "other"}, server], **taken_up}
        answer = await client.ask(method, asked)
        assert (answer.error["code"], answer.error["data"]["field"]) == (-32602, "mcpServers[1].command")
        assert await client.stop_reason(client.prompt("still there")) == "end_turn"
    assert not note.exists()


@pytest.mark.requirement("SESS-26", "AMB-46")
async def test_an_agent_starts_a_server_by_its_bare_name_and_warns(version, tmp_path, caplog):
    note = tmp_path / "note"
    server = told(version, "stdio") | {"name": "bare", "command": "sh", "args": ["-c", f"touch '{note}'"]}
    async with ScriptedClient(server_user(), version) as client:
        await client.new_session(str(tmp_path), mcpServers=[server])
        assert await client.stop_reason(client.prompt("hi")) == "end_turn"
    assert note.exists()
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert any("'bare'" in line and "its command is not an absolute path" in line for line in warnings)


@pytest.mark.bad_frames
@pytest.mark.requirement("SESS-25", "SESS-26", "SESS-29", "SESS-30", "SESS-31", "SESS-33", "SESS-36", "SESS-37")
@pytest.mark.parametrize(("name", "missing"), NEEDED)
async def test_an_agent_refuses_a_server_without_what_it_needs(version, name, missing):
    if (version, name) == (2, "sse"):
        return  # v2 knows no SSE
    server = told(version, name)
    pairs = "env" if name == "stdio" else "headers"
    odd = [
        {key: value for key, value in server.items() if key != missing},
        {**server, missing: None},
        {**server, pairs: [{"name": "A"}]},
        {**server, pairs: [{"value": "b"}]},
    ]
    async with ScriptedClient(echo(), version) as client:
        await client.initialize()
        for each in odd:
            answer = await client.ask("session/new", {"cwd": CWD, "mcpServers": [each]})
            assert answer.error["code"] == -32602
            assert answer.error["data"]["field"].startswith("mcpServers[0]")


@pytest.mark.requirement("SESS-34", "SESS-39", "INIT-31", "INIT-32")
@pytest.mark.parametrize(("name", "other"), [("http", "sse"), ("sse", "http")])
async def test_a_client_names_no_server_of_a_kind_that_was_not_offered(version, name, other):
    agent = ScriptedAgent(version, **connects(version, other))
    server = SERVERS[name][0]
    async with Client(agent, version=version) as client:
        for refused in (
            client.new_session(CWD, [server]),
            client.load_session("s", CWD, [server]),
            client.resume_session("s", CWD, [server]),
            client.fork_session("s", CWD, [server]),
        ):
            with pytest.raises(InvalidParams, match=name) as raised:
                await refused
            assert raised.value.field == "mcpServers[0].type"
        assert [heard.method for heard in agent.received] == ["initialize"]


@pytest.mark.requirement("SESS-34", "SESS-38", "INIT-31", "INIT-32")
@pytest.mark.parametrize("name", ["http", "sse"])
async def test_an_agent_connects_to_no_server_of_a_kind_that_it_did_not_offer(version, name, monkeypatch):
    """It says so: v2 refuses the session, before that the server is skipped."""
    monkeypatch.setattr("accord.agent.mcp.is_installed", lambda: False)
    server = SERVERS[name][1]
    async with ScriptedClient(echo(MemoryStore()), version, capabilities=EVERYTHING) as client:
        session = await client.new_session(CWD)
        for method in ("session/new", "session/resume", "session/fork"):
            params: dict[str, Any] = {"cwd": CWD, "mcpServers": [server]}
            if method != "session/new":
                params["sessionId"] = session
            if method == "session/resume":
                await client.ask("session/close", {"sessionId": session})
            answer = await client.ask(method, params)
            if version == 2:
                assert answer.error["code"] == -32602, method
                assert "mcpServers[0]" in answer.error["data"]["field"], method
            else:
                assert answer.error is None, method
                skipped = f"MCP server '{server['name']}': skipped"
                await client.next("session/update", where=lambda heard: skipped in repr(heard.params))  # noqa: B023
