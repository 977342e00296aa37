"""`accord serve` and `accord connect` as programs: an agent behind one, and a client before the other."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from accord import Client, Command, ConnectionClosed, Remote, RequestFailed, permissions
from accord.cli import main
from accord.local.token_file import TokenFile
from tests.asgi_driver import until
from tests.transports.families import wait_gone

pytest.importorskip("hypercorn")

ACCORD = [sys.executable, "-m", "accord"]
AGENT = """
import asyncio, os, sys
from accord import Agent, Turn
agent = Agent("served")

@agent.prompt
async def answer(turn: Turn) -> None:
    if turn.text == "pid":
        await turn.say(str(os.getpid()))
    elif turn.text == "wait":
        await turn.say("waiting")
        await asyncio.Event().wait()
    elif turn.text == "die":
        os._exit(3)
    elif turn.text == "ask":
        async with turn.tool_call("Delete everything", kind="delete") as call:
            await turn.say("yes" if await turn.allowed(call) else "no")
    else:
        for word in turn.text.split():
            await turn.say(word + " ")

agent.run()
"""


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return path


@pytest.fixture
def stored_agent(tmp_path: Path) -> Path:
    """An agent that keeps its sessions."""
    path = tmp_path / "stored_agent.py"
    store = f"store=SqliteStore({str(tmp_path / 'sessions.db')!r})"
    path.write_text("from accord.store import SqliteStore\n" + AGENT.replace('"served"', f'"served", {store}'))
    return path


@asynccontextmanager
async def serving(agent: Path, *options: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    command = [*ACCORD, "serve", "--http", "127.0.0.1:0", *options, "--", sys.executable, str(agent)]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, start_new_session=True)
    try:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        assert "accord serve listens on http://" in line
        yield line.split()[-1], process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it has ended, and nobody has noticed yet
                os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def reply_to(client: Client, text: str) -> str:
    session = await client.new_session("/")
    return (await session.prompt(text)).text


async def test_an_editor_reaches_an_agent_through_both_programs(agent_file: Path):
    async with serving(agent_file) as (url, _):
        for profile in ("websocket", "http"):
            command = Command([*ACCORD, "connect", url, "--profile", profile])
            async with Client(command, on_permission=permissions.allow_all) as client:
                assert await reply_to(client, "a b c") == "a b c "
                assert await reply_to(client, "ask") == "yes"


async def test_each_connection_can_have_a_process_which_ends_with_it(agent_file: Path):
    async with serving(agent_file, "--process-per", "connection") as (url, _):
        async with Client(url) as first, Client(url) as second:
            pids = {int(await reply_to(client, "pid")) for client in (first, second)}
            assert len(pids) == 2
        for pid in pids:
            assert wait_gone(pid)


async def test_a_process_belongs_to_a_session_and_outlives_its_connection(agent_file: Path):
    async with serving(agent_file) as (url, _):
        async with Client(url) as first:
            session = await first.new_session("/")
            pid = (await session.prompt("pid")).text
            assert await reply_to(first, "pid") != pid
        async with Client(url) as second:
            found = await second.load_session(session.id, "/")
            assert [each.text for each in found.transcript.messages.values()] == ["pid", pid]
            assert (await found.prompt("pid")).text == pid


async def test_a_session_ends_some_time_after_its_last_client(agent_file: Path):
    async with serving(agent_file, "--idle-seconds", "1") as (url, _):
        async with Client(url) as client:
            pid = int(await reply_to(client, "pid"))
        assert await asyncio.to_thread(wait_gone, pid)


async def test_a_session_belongs_to_its_user(agent_file: Path, tmp_path: Path):
    tokens = TokenFile(tmp_path / "tokens.json")
    ada, bob = tokens.create("laptop", "ada"), tokens.create("phone", "bob")
    async with (
        serving(agent_file, "--tokens", str(tmp_path / "tokens.json"), "--audit", str(tmp_path / "audit.log")) as (
            url,
            _,
        ),
        Client(Remote(url, token=ada), on_permission=permissions.allow_all) as first,
        Client(Remote(url, token=bob)) as second,
    ):
        session = await first.new_session("/")
        with pytest.raises(RequestFailed, match="not found"):
            await second.load_session(session.id, "/")
        with pytest.raises(ConnectionClosed, match=r"answered 401: .*--token-file"):
            async with Client(Remote(url, token="accord_wrong")):
                pass
        assert (await session.prompt("ask")).text == "yes"
    lines = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    told = [(each["event"], each["user"]) for each in lines if each["event"] in ("opened", "prompted", "answered")]
    assert told == [("opened", "ada"), ("prompted", "ada"), ("answered", "ada")]
    assert "refused" in {each["event"] for each in lines}
    (answer,) = [each for each in lines if each["event"] == "answered"]
    assert (answer["request"], answer["allowed"]) == ("Delete everything", True)


async def test_users_share_sessions_of_processes_per_connection_where_that_is_said(stored_agent: Path, tmp_path: Path):
    tokens = TokenFile(tmp_path / "tokens.json")
    ada, bob = tokens.create("laptop", "ada"), tokens.create("phone", "bob")
    options = ("--process-per", "connection", "--tokens", str(tokens.path), "--shared-sessions")
    async with serving(stored_agent, *options) as (url, _):
        async with Client(Remote(url, token=ada)) as client:
            session = await client.new_session("/")
            assert (await session.prompt("Hello")).text == "Hello "
        async with Client(Remote(url, token=bob)) as client:
            assert [each.session_id async for each in client.list_sessions()] == [session.id]


@pytest.mark.parametrize("mode", ["session", "connection"])
async def test_an_agent_that_dies_fails_its_requests_and_no_others(agent_file: Path, mode: str):
    async with serving(agent_file, "--process-per", mode) as (url, _), Client(url) as healthy:
        async with Client(Remote(url, resume_seconds=0)) as client:
            with pytest.raises((RequestFailed, ConnectionClosed), match="exit code 3"):
                await reply_to(client, "die")
        assert await reply_to(healthy, "still here") == "still here "


@pytest.mark.parametrize("mode", ["session", "connection"])
async def test_what_an_agent_writes_when_it_dies_is_for_the_log_only(tmp_path: Path, mode: str):
    path = tmp_path / "broken.py"
    path.write_text("import sys\nsys.exit('the password of the database is sesame')")
    async with serving(path, "--process-per", mode) as (url, process):
        with pytest.raises((RequestFailed, ConnectionClosed), match="exit code 1") as failed:
            async with Client(Remote(url, resume_seconds=0)):
                pass
        assert "sesame" not in str(failed.value)
        assert str(tmp_path) not in str(failed.value)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert b"sesame" in await process.stderr.read()


async def test_sigterm_in_the_middle_of_a_turn_cancels_it(agent_file: Path):
    async with serving(agent_file) as (url, process), Client(Remote(url, resume_seconds=0)) as client:
        session = await client.new_session("/")
        reply = session.prompt("wait")
        await until(lambda: any(each.text == "waiting" for each in session.transcript.messages.values()))
        process.send_signal(signal.SIGTERM)
        assert (await reply).stop_reason == "cancelled"
        assert await process.wait() == 0


@pytest.mark.parametrize("mode", ["session", "connection"])
async def test_sigterm_ends_the_server_and_its_processes(agent_file: Path, mode: str):
    async with serving(agent_file, "--process-per", mode) as (url, process):
        async with Client(Remote(url, resume_seconds=0)) as client:
            pid = int(await reply_to(client, "pid"))
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
        assert wait_gone(pid)


async def test_a_token_is_needed_and_comes_from_a_file_or_the_environment(agent_file: Path, tmp_path: Path):
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.create("laptop", "ada")
    (tmp_path / "token").write_text(f"{token}\n")
    async with serving(agent_file, "--tokens", str(tmp_path / "tokens.json")) as (url, _):
        from_file = Command([*ACCORD, "connect", url, "--token-file", str(tmp_path / "token")])
        from_environment = Command([*ACCORD, "connect", url], env={"ACCORD_TOKEN": token})
        for command in (from_file, from_environment):
            async with Client(command) as client:
                assert await reply_to(client, "hello") == "hello "
        with pytest.raises((RequestFailed, ConnectionClosed), match="401"):
            async with Client(Command([*ACCORD, "connect", url])):
                pass


async def test_the_log_is_json_and_the_status_page_tells_of_processes(agent_file: Path):
    async with serving(agent_file, "--log-json", "--status", "127.0.0.1:0") as (line, process):
        url = line.strip('"}')
        log = process.stderr
        assert log is not None
        page = json.loads(await log.readline())["message"].split()[-1]
        async with Client(url) as client:
            assert await reply_to(client, "very secret words") == "very secret words "
            found = await asyncio.to_thread(lambda: json.load(urlopen(f"{page}status.json")))
            assert found["sessions"][0]["pid"] in {each["pid"] for each in found["processes"]}
            assert found["process_starts"] >= 1
        process.send_signal(signal.SIGTERM)
        lines = (await log.read()).decode()
        entries = [json.loads(line) for line in lines.splitlines()]
        assert "session/prompt" in {entry.get("method") for entry in entries}
        assert "very secret" not in lines


async def test_health_and_readiness_need_no_token(agent_file: Path, tmp_path: Path):
    TokenFile(tmp_path / "tokens.json").create("laptop", "ada")
    async with serving(agent_file, "--tokens", str(tmp_path / "tokens.json")) as (url, _):
        host, port = url.removeprefix("http://").removesuffix("/acp").split(":")
        for path, status in (("/healthz", b"200"), ("/readyz", b"200"), ("/acp", b"401")):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
            assert (await reader.readline()).split()[1] == status
            writer.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["serve"], "accord serve -- COMMAND"),
        (["serve", "--", "no-such-program"], "no-such-program"),
        (["serve", "--connections", "0", "--", "true"], "from 1 to 100000"),
        (["serve", "--idle-seconds", "soon", "--", "true"], "--idle-seconds takes a number"),
        (["serve", "--http", "0.0.0.0:0", "--", "true"], "tokens"),
        (["serve", "--process-per", "connection", "--tokens", "none", "--", "true"], "--shared-sessions"),
        (["serve", "--process-per", "connection", "--owners", "none", "--", "true"], "--process-per session"),
        (["serve", "--shared-sessions", "--", "true"], "--process-per connection"),
        (["serve", "--http", "127.0.0.1:0", "--status", "0.0.0.0:0", "--", "true"], "for this machine only"),
        (["serve", "--tls-cert", "x", "--", "true"], "both --tls-cert and --tls-key"),
        (["connect"], "accord connect URL"),
        (["connect", "nonsense"], "invalid URL"),
        (["connect", "https://x", "--resume-seconds", "soon"], "a number of seconds"),
        (["connect", "https://x", "--token-file", "/no/such/file"], "can't be read"),
    ],
)
def test_what_is_missing_is_said(words: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    assert main(words) == 1
    assert told in capsys.readouterr().err


async def test_an_agent_that_cannot_be_reached_is_said_to_the_editor():
    with pytest.raises((RequestFailed, ConnectionClosed), match=r"refused|unreachable|[Cc]onnect"):
        async with Client(Command([*ACCORD, "connect", "http://127.0.0.1:1"])):
            pass
