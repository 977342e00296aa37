"""MCP servers that can't be used: nobody is left to wonder why their tools are missing (FN-54, FN-77)."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Turn
from accord.session.capabilities import ClientCapabilities
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.requests import CloseSession, ForkSession, LoadSession, NewSession, ResumeSession
from accord.store import MemoryStore
from tests.agent.user import CWD, User, plain_agent
from tests.peer.joined import until

NO_NOTICES = ClientCapabilities()
GONE = StdioServer(name="gone", command="/no/such/program")
WITHOUT_NOTICES = [1, "2-draft"]  # in v2 every client has them


def talker(**options: Any) -> Agent:
    agent = plain_agent(store=MemoryStore(), **options)

    @agent.command("list", "Lists")
    async def list_all(turn: Turn) -> None:
        await turn.say("Listed.")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        await turn.say("Done.")

    return agent


def failures(user: User, session: str) -> list[str]:
    """The tool calls that failed, with what they show."""
    calls = user.transcripts[session].tool_calls.values()
    return [f"{call.title}; {call.content[0].content.text}" for call in calls if call.status == "failed"]  # type: ignore[union-attr]


async def opened(user: User, *servers: Any, cwd: str = CWD) -> str:
    session = (await user.ask(NewSession(cwd=cwd, servers=list(servers)))).session_id
    await known(user, session)
    return session


async def known(user: User, session: str) -> None:
    """Wait until it is known what becomes of the session's servers."""
    turns = user.served.sessions.find(session)
    assert turns is not None
    if turns.servers.connecting is not None:
        await asyncio.wait([turns.servers.connecting])


@pytest.mark.parametrize("version", WITHOUT_NOTICES)
@pytest.mark.parametrize("text", ["hello", "/list"])
async def test_a_client_without_notices_gets_a_failed_tool_call_first_and_once(
    version: Any, text: str, caplog: pytest.LogCaptureFixture
):
    async with User(talker(), version, capabilities=NO_NOTICES) as user:
        session = await opened(user, GONE, StdioServer(name="also gone", command="/no/other/program"))
        assert await user.prompt(session, text) == "end_turn"
        one, other = failures(user, session)
        assert one.startswith("MCP server 'gone': failed; MCP server 'gone' (stdio): not connected: ")
        assert "/no/such/program" in one
        assert other.startswith("MCP server 'also gone': failed; ")
        told = [line for line in user.seen if "MCP" in line or line.startswith("agent")]
        assert "MCP" in told[0]
        await user.prompt(session, text)
        assert len(failures(user, session)) == 2
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [line.split(": not connected")[0] for line in warnings] == [
        "MCP server 'gone' (stdio)",
        "MCP server 'also gone' (stdio)",
    ]


async def test_a_client_with_notices_gets_a_notice_and_no_tool_call(version: Any, caplog: pytest.LogCaptureFixture):
    async with User(talker(), version) as user:
        session = await opened(user, GONE)
        await user.prompt(session, "hello")
        assert any(line.startswith("notice MCP server 'gone': failed") for line in user.seen)
        assert failures(user, session) == []
    assert any("MCP server 'gone'" in record.getMessage() for record in caplog.records)


async def test_in_v2_every_client_gets_the_notice():
    async with User(talker(), 2, capabilities=NO_NOTICES) as user:
        session = await opened(user, GONE)
        await user.prompt(session, "hello")
        assert any(line.startswith("notice MCP server 'gone': failed") for line in user.seen)


@pytest.mark.parametrize("version", WITHOUT_NOTICES)
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_of_a_kind_that_is_not_offered_is_told_of(version: Any, kind: str, monkeypatch: Any):
    monkeypatch.setattr("accord.agent.mcp.is_installed", lambda: False)
    server = (HttpServer if kind == "http" else SseServer)(name="web", url="http://127.0.0.1:1/mcp")
    async with User(talker(), version, capabilities=NO_NOTICES) as user:
        session = await opened(user, server)
        await user.prompt(session, "hello")
        assert failures(user, session) == [
            f"MCP server 'web': skipped; MCP server 'web' ({kind}): skipped: this agent does not offer servers of this kind"
        ]


@pytest.mark.bad_frames
async def test_a_server_of_an_unknown_kind_is_told_of():
    agent = talker(strict=False)
    async with User(agent, 1, capabilities=NO_NOTICES) as user:
        servers = [{"name": "odd", "type": "carrier-pigeon", "url": "coo"}]
        answer = await user.call("session/new", {"cwd": CWD, "mcpServers": servers})
        await user.prompt(answer["sessionId"], "hello")
        (failure,) = failures(user, answer["sessionId"])
        assert "'odd' (carrier-pigeon): skipped: this agent does not know servers of this kind" in failure


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


async def test_each_of_many_servers_that_failed_is_in_the_log_with_its_reason(caplog: pytest.LogCaptureFixture):
    servers = [StdioServer(name=f"s{number}", command=f"/no/such/program-{number}") for number in range(30)]
    async with User(talker(), 1, capabilities=NO_NOTICES) as user:
        session = await opened(user, *servers, cwd="/")
        await user.prompt(session, "hello")
        assert len(failures(user, session)) == 30
    lines = warned(caplog)
    for number in range(30):
        (line,) = [line for line in lines if f"MCP server 's{number}' (stdio)" in line]
        assert "no such file" in line
        assert f"/no/such/program-{number}" in line


async def test_those_for_which_the_log_has_no_room_are_counted(caplog: pytest.LogCaptureFixture):
    servers = [HttpServer(name=f"s{number}", url="http://127.0.0.1:1/mcp") for number in range(130)]
    agent = talker()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("accord.agent.mcp.is_installed", lambda: False)
        async with User(agent, 1, capabilities=NO_NOTICES) as user:
            session = await opened(user, *servers)
            await user.prompt(session, "hello")
            told = warned(caplog)
            assert len(failures(user, session)) == 130
    assert len([line for line in told if "skipped: this agent does not offer" in line]) == 100
    assert any("30 more lines like this were left out" in line for line in told)  # while the session is still open


async def test_a_long_command_leaves_the_reason_in_the_log(caplog: pytest.LogCaptureFixture):
    gone = StdioServer(name="deep", command="/" + "/".join(["no-such-directory"] * 150) + "/program")
    async with User(talker(), 1, capabilities=NO_NOTICES) as user:
        await user.prompt(await opened(user, gone, cwd="/"), "hello")
    (line,) = [line for line in warned(caplog) if "'deep'" in line]
    assert "no such file" in line
    assert "/program" in line
    assert len(line) < 1200


@pytest.mark.parametrize("version", WITHOUT_NOTICES)
async def test_late_servers_of_one_name_are_all_told_of(version: Any):
    agent = talker()
    late: list[McpServer] = [StdioServer(name="late", command=f"/no/late/{number}") for number in range(2)]
    async with User(agent, 1) as user, User(agent, version, capabilities=NO_NOTICES) as second:
        session = await opened(user, StdioServer(name="late", command="/no/such/program"))
        await user.prompt(session, "hello")
        for _ in range(2):  # again is not twice
            second.take_in(session, await second.ask(LoadSession(session_id=session, cwd=CWD, servers=late)))
        await second.prompt(session, "again")
        assert len([each for each in failures(second, session) if "skipped: the session is already open" in each]) == 2
        assert len([each for each in failures(second, session) if "not connected" in each]) == 1


@pytest.mark.parametrize("version", WITHOUT_NOTICES)
@pytest.mark.parametrize("how", ["load", "resume", "fork"])
async def test_the_same_holds_for_a_session_that_is_opened_again(version: Any, how: str):
    agent = talker()
    async with User(agent, version, capabilities=NO_NOTICES) as user:
        session = await opened(user)
        await user.prompt(session, "hello")
        if how == "fork":
            session = (await user.ask(ForkSession(session_id=session, cwd=CWD, servers=[GONE]))).session_id
        else:
            await user.ask(CloseSession(session_id=session))
            asked = (LoadSession if how == "load" else ResumeSession)(session_id=session, cwd=CWD, servers=[GONE])
            user.take_in(session, await user.ask(asked))
        await known(user, session)
        await user.prompt(session, "again")
        (failure,) = failures(user, session)
        assert failure.startswith("MCP server 'gone': failed; ")


@pytest.mark.parametrize("how", [LoadSession, ResumeSession])
async def test_servers_for_a_session_that_is_open_elsewhere_are_told_of_unless_it_has_them(how: Any):
    agent = talker()
    other_server = StdioServer(name="late", command="/no/late/program")
    async with User(agent, 1) as user, User(agent, 1, capabilities=NO_NOTICES) as late, User(agent, 1) as noticed:
        session = await opened(user, GONE)
        await user.prompt(session, "hello")
        late.take_in(session, await late.ask(how(session_id=session, cwd=CWD, servers=[GONE, other_server])))
        await late.prompt(session, "again")
        (failure,) = [each for each in failures(late, session) if "late" in each]
        assert "skipped: the session is already open" in failure
        noticed.take_in(session, await noticed.ask(how(session_id=session, cwd=CWD, servers=[other_server])))
        await noticed.until("notice MCP server 'late': skipped")


FALLIBLE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        info = {"name": "f", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif asked.get("method") == "tools/list":
        result = {"tools": [{"name": "die", "inputSchema": {"type": "object"}}]}
    elif asked.get("method") == "tools/call":
        sys.stderr.write("out of coffee\\n")
        sys.exit(7)
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize("version", WITHOUT_NOTICES)
async def test_a_server_that_dies_later_is_told_of_in_the_next_turn(
    version: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        servers = await turn.servers()
        if turn.text == "die":
            with pytest.raises(Exception, match="connection is closed"):
                await servers.call(servers.tools[0], {}, deadline=30)
            await until(lambda: servers.statuses[0].state != "connected")
        await turn.say("Done.")

    program = tmp_path / "server.py"
    program.write_text(FALLIBLE, encoding="utf-8")
    server = StdioServer(name="fallible", command=sys.executable, args=[str(program)])
    async with User(agent, version, capabilities=NO_NOTICES) as user:
        session = await opened(user, server, cwd=str(tmp_path))
        await user.prompt(session, "hello")
        assert failures(user, session) == []
        await user.prompt(session, "die")
        await user.prompt(session, "next")
        (failure,) = failures(user, session)
        assert failure.startswith("MCP server 'fallible': lost; MCP server 'fallible' (stdio): lost: ")
        assert "out of coffee" in failure
    assert any("'fallible' (stdio): lost" in record.getMessage() for record in caplog.records)


async def test_a_fault_of_ours_while_servers_are_connected_is_told_of_too(monkeypatch: pytest.MonkeyPatch):
    async def broken(*_: Any) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("accord.agent.mcp.ServerConnections.connect", broken)
    async with User(talker(), 1, capabilities=NO_NOTICES) as user:
        session = await opened(user, GONE)
        await user.prompt(session, "hello")
        (failure,) = failures(user, session)
        assert "'gone' (stdio): not connected: the agent failed to connect it; see its log" in failure


async def test_the_name_and_last_words_of_a_server_can_not_draw_on_the_log(caplog: pytest.LogCaptureFixture):
    evil = StdioServer(name="\x1b[2Jevil\n", command=sys.executable, args=["-c", "import sys; sys.exit('\x1b[31m')"])
    async with User(talker(), 1, capabilities=NO_NOTICES) as user:
        await user.prompt(await opened(user, evil, cwd="/"), "hello")
    (line,) = [record.getMessage() for record in caplog.records if "evil" in record.getMessage()]
    assert line.isprintable()
    assert json.dumps(line)
