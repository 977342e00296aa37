"""Files and commands: the client's where it offers them, ours otherwise."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.agent import CommandResult, Turn
from accord.errors import Denied, NotFound
from accord.session.capabilities import ClientCapabilities
from accord.session.entities import Exit, TerminalItem
from accord.session.requests import (
    CreateTerminal,
    EmptyResult,
    FileContent,
    NewSession,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
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


@pytest.mark.requirement("FS-02", "FS-04", "FS-05", "FS-06", "FS-07", "CHECK-28", "PROMPT-16")
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

    def respond(asked: WriteFile) -> EmptyResult:
        if honest:
            Path(asked.path).write_bytes(asked.content.encode())
        return EmptyResult()

    async with User(agent, version) as user:
        user.answers[WriteFile] = respond
        user.answers[ReadFile] = lambda asked: FileContent(content="")
        session = await user.new_session(str(tmp_path))
        assert await user.prompt(session, "x") == "end_turn"
        assert (tmp_path / "b.txt").read_bytes() == b"text\r\n"


@pytest.mark.parametrize("action", ["read", "write"])
async def test_links_do_not_lead_out_of_the_sessions_directories(version, tmp_path, action):
    """FN-42: path guards defeated by symlinks; the disk is touched inside the real directories only."""
    inside, outside, more = tmp_path / "inside", tmp_path / "outside", tmp_path / "more"
    for directory in (inside, outside, more):
        directory.mkdir()
    (outside / "secret").write_text("secret")
    (inside / "file").symlink_to(outside / "secret")
    (inside / "directory").symlink_to(outside)
    (inside / "dangling").symlink_to(outside / "new")
    (inside / "fine").symlink_to(more)
    agent = plain_agent()
    refused: list[str] = []

    @agent.prompt
    async def touch(turn: Turn) -> None:
        for path in ("file", "directory/secret", "dangling", "../outside/secret", str(outside / "secret")):
            try:
                await (turn.files.read(path) if action == "read" else turn.files.write(path, "x"))
            except PermissionError as error:
                refused.append(str(error.strerror))
        await turn.files.write("fine/text", "one\ntwo\n")
        assert await turn.files.read(more / "text", line=2) == "two\n"

    async with User(agent, version, capabilities=NOTHING) as user:
        asked = NewSession(cwd=str(inside), additional_directories=[str(more)])
        session = (await user.ask(asked)).session_id
        assert await user.prompt(session, "x") == "end_turn"
    assert [reason.partition(": ")[0] for reason in refused] == [f"fs.{action} outside the session's directories"] * 5
    assert (outside / "secret").read_text() == "secret"
    assert [path.name for path in outside.iterdir()] == ["secret"]


@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_what_the_client_denies_is_not_taken_from_the_disk(version, tmp_path):
    """FN-42: nor does a client that can't find a file outside make us look there."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.txt").write_text("denied")
    (tmp_path / "secret").write_text("secret")
    agent = plain_agent()

    @agent.prompt
    async def read(turn: Turn) -> None:
        for path in ("a.txt", "../secret"):
            try:
                await turn.say(await turn.files.read(path))
            except OSError as error:
                await turn.say(f"{type(error).__name__} ")

    def respond(asked: ReadFile) -> FileContent:
        raise Denied("fs.read of this file") if asked.path.endswith("a.txt") else NotFound(uri=asked.path)

    async with User(agent, version) as user:
        user.answers[ReadFile] = respond
        assert await read_once(user, tmp_path / "inside") == "PermissionError FileNotFoundError "


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize(
    ("said", "expected"), [("one\ntwo\nthree\n", "two\n"), ("two\nthree\n", "two\n"), ("two\n", "two\n")]
)
async def test_the_lines_asked_for_are_cut_out_of_whatever_the_client_says(version, tmp_path, said, expected):
    """FN-71: it may ignore the line and the limit, or the limit alone."""
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    async with User(reader(line=2, limit=1), version) as user:
        user.answers[ReadFile] = lambda asked: FileContent(content=said)
        assert await read_once(user, tmp_path) == expected


async def test_a_write_takes_effect_in_one_step(version, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")
    agent = plain_agent()
    seen: list[str] = []
    synced = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: (synced(descriptor), seen.append((tmp_path / "a.txt").read_text()))
    )

    @agent.prompt
    async def write(turn: Turn) -> None:
        await turn.files.write("a.txt", "new")

    async with User(agent, version, capabilities=NOTHING) as user:
        await user.prompt(await user.new_session(str(tmp_path)), "x")
    assert seen == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.requirement("FS-02", "FS-03")
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_client_that_offers_only_reading_is_not_asked_to_write_and_the_other_way_round(version, tmp_path):
    agent = plain_agent()
    (tmp_path / "a.txt").write_text("old")

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.files.read("a.txt")
        await turn.files.write("b.txt", "new")

    reads, writes = ClientCapabilities(read_files=True), ClientCapabilities(write_files=True)
    for offered, asked_for in (reads, ReadFile), (writes, WriteFile):
        async with User(agent, version, capabilities=offered) as user:
            user.answers |= {ReadFile: lambda asked: FileContent(content="old"), WriteFile: lambda asked: EmptyResult()}
            assert await user.prompt(await user.new_session(str(tmp_path)), "x") == "end_turn"
            assert {type(asked) for asked in user.asked} == {asked_for}


@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_write_that_a_client_which_offers_no_reading_accepted_is_not_done_behind_it(version, tmp_path):
    """It may keep the text unsaved, and there is no way to ask."""
    agent = plain_agent()
    (tmp_path / "a.txt").write_text("old")

    @agent.prompt
    async def write(turn: Turn) -> None:
        await turn.files.write("a.txt", "new")
        await turn.files.write("other/b.txt", "new")

    async with User(agent, version, capabilities=ClientCapabilities(write_files=True)) as user:
        user.answers[WriteFile] = lambda asked: EmptyResult()
        session = await user.new_session(str(tmp_path))
        assert await user.prompt(session, "x") == "end_turn"
        assert [type(asked) for asked in user.asked] == [WriteFile, WriteFile]
    assert (tmp_path / "a.txt").read_text() == "old"
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_write_that_the_client_accepted_and_dropped_is_done_here(version, tmp_path):
    """FN-71: also one into a directory that is not there yet."""
    agent = plain_agent()

    @agent.prompt
    async def write(turn: Turn) -> None:
        await turn.files.write("new/a.txt", "text")

    async with User(agent, version) as user:
        user.answers[WriteFile] = lambda asked: EmptyResult()
        await user.prompt(await user.new_session(str(tmp_path)), "x")
    assert (tmp_path / "new" / "a.txt").read_text() == "text"


def runner(*command: str, **options: Any):
    agent = plain_agent()
    ran: list[CommandResult] = []

    @agent.prompt
    async def run(turn: Turn) -> None:
        async with turn.tool_call("Run", kind="execute") as call:
            await turn.say("runs")
            ran.append(await turn.run(*command, call=call, **options))

    return agent, ran


PRINT = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"


@pytest.mark.requirement("TERM-02", "TERM-03")
async def test_a_command_runs_here_and_its_terminal_is_shown(version, tmp_path):
    agent, ran = runner(sys.executable, "-u", "-c", PRINT)
    async with User(agent, version, capabilities=NOTHING) as user:
        session = await user.new_session(str(tmp_path))
        await user.prompt(session, "x")
        assert ran == [CommandResult(output="out\nerr\n", code=3)]
        assert user.asked == []
        transcript = user.transcripts[session]
        shown = list(next(iter(transcript.tool_calls.values())).content)
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
        assert ran == [CommandResult(output="LLO\n", code=0, is_truncated=True)]
        assert ran[0].succeeded


async def test_a_command_past_its_deadline_is_ended_here(version, tmp_path):
    program = "import time; print('begun', flush=True); time.sleep(60)"
    agent, ran = runner(sys.executable, "-c", program, deadline=1.0)
    async with User(agent, version, capabilities=NOTHING) as user:
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran[0].is_timed_out
        assert ran[0].output.strip() == "begun"
        assert not ran[0].succeeded


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
        (item,) = next(iter(user.transcripts[session].tool_calls.values())).content
        assert item == TerminalItem(terminal_id="terminal-0")


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
