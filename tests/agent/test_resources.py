"""Files and commands: the client's where it offers them, ours otherwise."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Ran, Turn
from accord.errors import NotFound
from accord.session.capabilities import ClientCapabilities
from accord.session.entities import Exit, TerminalItem
from accord.session.requests import (
    CreateTerminal,
    Done,
    FileContent,
    KillTerminal,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    TerminalSnapshot,
    WaitForExit,
    WriteFile,
)
from tests.agent.user import User, plain_agent

NOTHING = ClientCapabilities()


async def read_once(user: User, cwd: Path) -> str:
    session = await user.new_session(str(cwd))
    await user.prompt(session, "x")
    return user.said(session)


def reader(**part: Any):
    agent = plain_agent()

    @agent.prompt
    async def read(turn: Turn) -> None:
        try:
            await turn.say(await turn.files.read("a.txt", **part))
        except FileNotFoundError:
            await turn.say("missing")

    return agent


@pytest.mark.requirement("FS-02", "FS-03", "CHECK-03", "INIT-19")
async def test_without_the_capability_files_are_read_from_the_disk(version, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    async with User(reader(line=2, limit=1), version, capabilities=NOTHING) as user:
        assert await read_once(user, tmp_path) == "two\n"
        assert user.asked == []


@pytest.mark.requirement("FS-04", "FS-05", "FS-06", "FS-07", "CHECK-28")
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_with_the_capability_the_clients_unsaved_text_is_read(version, tmp_path):
    (tmp_path / "a.txt").write_text("on disk")
    async with User(reader(line=1, limit=5), version) as user:
        user.answers[ReadFile] = lambda asked: FileContent(content="unsaved")
        assert await read_once(user, tmp_path) == "unsaved"
        (asked,) = user.asked
        assert isinstance(asked, ReadFile)
        assert (asked.path, asked.line, asked.limit) == (str(tmp_path / "a.txt"), 1, 5)


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize("answer", ["empty", "ignores the lines", "missing"])
async def test_a_client_that_answers_oddly_is_checked_against_the_disk(version, tmp_path, answer):
    """FN-71: empty for a file that is not, the whole file for a part of it, one meaning for missing."""
    text = "one\ntwo\nthree\n"

    def respond(asked: ReadFile) -> FileContent:
        if answer == "missing":
            raise NotFound(uri=asked.path)
        return FileContent(content="" if answer == "empty" else text)

    if answer != "missing":
        (tmp_path / "a.txt").write_text(text)
    async with User(reader(line=2, limit=1), version) as user:
        user.answers[ReadFile] = respond
        assert await read_once(user, tmp_path) == ("missing" if answer == "missing" else "two\n")


@pytest.mark.requirement("FS-10", "FS-11", "FS-12")
@pytest.mark.parametrize("honest", [True, False])
async def test_a_written_file_is_there(version, tmp_path, honest):
    agent = plain_agent()

    @agent.prompt
    async def write(turn: Turn) -> None:
        await turn.files.write("b.txt", "text\r\n")

    def respond(asked: WriteFile) -> Done:
        if honest:
            Path(asked.path).write_bytes(asked.content.encode())
        return Done()

    async with User(agent, version) as user:
        user.answers[WriteFile] = respond
        user.answers[ReadFile] = lambda asked: FileContent(content="")
        session = await user.new_session(str(tmp_path))
        assert await user.prompt(session, "x") == "end_turn"
        assert (tmp_path / "b.txt").read_bytes() == b"text\r\n"


def runner(*command: str, **options: Any):
    agent = plain_agent()
    ran: list[Ran] = []

    @agent.prompt
    async def run(turn: Turn) -> None:
        async with turn.tool_call("Run", kind="execute") as call:
            await turn.say("runs")
            ran.append(await turn.run(*command, call=call, **options))

    return agent, ran


PRINT = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"


@pytest.mark.requirement("TERM-03")
async def test_a_command_runs_here_and_its_terminal_is_shown(version, tmp_path):
    agent, ran = runner(sys.executable, "-u", "-c", PRINT)
    async with User(agent, version, capabilities=NOTHING) as user:
        session = await user.new_session(str(tmp_path))
        await user.prompt(session, "x")
        assert ran == [Ran(output="out\nerr\n", code=3)]
        assert user.asked == []
        transcript = user.transcripts[session]
        shown = list(transcript.tool_calls["call-1"].content)
        if version == 2:
            (terminal,) = transcript.terminals.values()
            assert (terminal.text, terminal.exit) == ("out\nerr\n", Exit(code=3))
            assert shown == [TerminalItem(terminal_id=terminal.id)]
        else:
            assert "err" in repr(shown)


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
async def test_a_line_for_the_shell_and_an_environment_and_a_limit(version, tmp_path):
    agent, ran = runner("echo $GREETING | tr a-z A-Z", env={"GREETING": "hello"}, output_limit=4)
    async with User(agent, version, capabilities=NOTHING) as user:
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran == [Ran(output="LLO\n", code=0, is_truncated=True)]
        assert ran[0].succeeded


async def test_a_command_past_its_deadline_is_ended_here(version, tmp_path):
    program = "import time; print('begun', flush=True); time.sleep(60)"
    agent, ran = runner(sys.executable, "-c", program, deadline=1.0)
    async with User(agent, version, capabilities=NOTHING) as user:
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran[0].is_timed_out
        assert ran[0].output.strip() == "begun"
        assert not ran[0].succeeded


async def test_a_program_that_is_not_there_is_an_exit_code(version, tmp_path):
    agent, ran = runner("no-such-program-at-all", "x")
    async with User(agent, version, capabilities=NOTHING) as user:
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran[0].code == 127


async def test_a_cancelled_turn_ends_its_process(version, tmp_path):
    agent, ran = runner(sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)")
    async with User(agent, version, capabilities=NOTHING) as user:
        session = await user.new_session(str(tmp_path))
        reply = user.start(user.prompt(session, "x"))
        await user.until("agent: runs")
        await user.cancel(session)
        assert await reply == "cancelled"
        assert ran == []


@pytest.mark.requirement(
    "TERM-02", "TERM-04", "TERM-05", "TERM-08", "TERM-09", "TERM-14", "TERM-17", "TERM-18", "CHECK-27"
)
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_command_runs_in_the_clients_terminal_which_is_released(version):
    agent, ran = runner("make", "-j", output_limit=100)
    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        assert [type(asked) for asked in user.asked] == [CreateTerminal, WaitForExit, ReadTerminal, ReleaseTerminal]
        assert user.terminals["terminal-0"].command == "make"
        assert user.terminals["terminal-0"].output_byte_limit == 100
        assert ran[0].code == 0
        (item,) = user.transcripts[session].tool_calls["call-1"].content
        assert item == TerminalItem(terminal_id="terminal-0")


@pytest.mark.requirement("TERM-28", "TERM-30")
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_past_its_deadline_the_clients_terminal_is_killed_read_and_released(version):
    agent, ran = runner("sleep", "60", deadline=0.01)
    async with User(agent, version) as user:
        never = asyncio.Event()
        user.answers[WaitForExit] = lambda asked: never.wait()
        user.answers[ReadTerminal] = lambda asked: TerminalSnapshot(output="partial", truncated=False)
        await user.prompt(await user.new_session(), "x")
        kinds = [CreateTerminal, WaitForExit, KillTerminal, ReadTerminal, ReleaseTerminal]
        assert [type(asked) for asked in user.asked] == kinds
        assert ran == [Ran(output="partial", is_timed_out=True)]


@pytest.mark.requirement("TERM-14")
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_cancelled_turn_releases_the_clients_terminal(version):
    agent, _ = runner("sleep", "60")
    async with User(agent, version) as user:
        never = asyncio.Event()
        user.answers[WaitForExit] = lambda asked: never.wait()
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        await user.until("asked terminal/wait_for_exit")
        await user.cancel(session)
        assert await reply == "cancelled"
        assert isinstance(user.asked[-1], ReleaseTerminal)
