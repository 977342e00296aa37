"""Commands: ended with everything they started, and understood by clients of all kinds."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, CommandResult, Turn, command_runs
from accord.agent.command_runs import is_inert
from accord.agent.definition import TurnPolicy
from accord.session.capabilities import ClientCapabilities
from accord.session.entities import Exit, TerminalItem
from accord.session.requests import (
    CreateTerminal,
    CreateTerminalResult,
    EmptyResult,
    KillTerminal,
    ReadTerminal,
    ReleaseTerminal,
    TerminalSnapshot,
    WaitForExit,
)
from accord.transports.command_output import capture_command
from tests.agent.user import User, plain_agent
from tests.transports.families import DEAF_FAMILY, FAMILY, MEMBERS, is_alive, pids, wait_gone
from tests.virtual_clock import run

NOTHING = ClientCapabilities()
linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no guard that adopts orphans")
posix = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")


def runner(*command: str, **options: Any) -> tuple[Agent, list[CommandResult]]:
    agent = plain_agent(cancel_grace=20.0)
    ran: list[CommandResult] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Run", kind="execute") as call:
            ran.append(await turn.run(*command, call=call, **options))

    return agent, ran


# Here


@linux
async def test_what_a_command_leaves_behind_ends_with_it(version, tmp_path):
    """FN-30: also what hides in a session of its own, or has no parent any more."""
    agent, ran = runner("sh", "-c", f"{FAMILY} sleep 0.2; exit 3")
    async with User(agent, version, capabilities=NOTHING) as user:
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran[0].code == 3
        members = pids(ran[0].output.encode().splitlines())
        assert len(members) == MEMBERS
        assert not any(map(is_alive, members))


@linux
@pytest.mark.parametrize("how", ["cancelled", "past its deadline"])
async def test_a_whole_family_ends_that_does_not_want_to(version, tmp_path, how):
    """FN-30: deaf to signals, in sessions of their own."""
    file = tmp_path / "pids"
    options = {"deadline": 1.0} if how == "past its deadline" else {}
    line = f"{{ {DEAF_FAMILY} while :; do sleep 1000; done; }} > {file} & wait"
    agent, ran = runner("sh", "-c", line, **options)
    async with User(agent, version, capabilities=NOTHING) as user:
        session = await user.new_session(str(tmp_path))
        reply = user.start(user.prompt(session, "x"))
        if how == "cancelled":
            await lines_of(file, MEMBERS)
            await user.cancel(session)
            assert await reply == "cancelled"
        else:
            assert await reply == "end_turn"
            assert ran[0].is_timed_out
        assert not any(map(is_alive, await lines_of(file, 1)))


@posix
async def test_a_command_has_a_second_to_end_in_before_a_cancelled_turn_is_left(version, tmp_path, monkeypatch):
    """So a turn that was cancelled sees how its command ended."""
    given: list[float] = []

    async def start(*command: Any, terminate_grace: float, **others: Any) -> Any:
        given.append(terminate_grace)
        return await capture_command(*command, terminate_grace=terminate_grace, **others)

    monkeypatch.setattr(command_runs, "capture_command", start)
    agent, _ = runner("true")
    async with User(agent, version, capabilities=NOTHING) as user:
        await user.prompt(await user.new_session(str(tmp_path)), "x")
    assert given == [1.0]
    assert given[0] < TurnPolicy().cancel_grace


async def lines_of(file: Path, count: int) -> list[int]:
    """Waits until a family has written its pids."""
    while not await asyncio.to_thread(file.exists) or file.read_bytes().count(b"\n") < count:  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.01)
    return pids(file.read_bytes().splitlines())  # noqa: ASYNC240


@posix
async def test_a_client_that_shows_terminals_has_the_output_as_it_comes(version, tmp_path):
    """FN-104: in v1, clients that advertise it are told in `_meta`; the draft tells text, v2 has terminals of its own."""
    agent, ran = runner("sh", "-c", "printf one; printf two >&2; exit 5")
    async with User(agent, version, capabilities=ClientCapabilities(display_terminals=True)) as user:
        session = await user.new_session(str(tmp_path))
        await user.prompt(session, "x")
        transcript = user.transcripts[session]
        [call] = transcript.tool_calls.values()
        if version == "2-draft":
            assert transcript.terminals == {}
            return
        [terminal] = transcript.terminals.values()
        assert list(call.content) == [TerminalItem(terminal_id=terminal.id)]
        assert (terminal.text, terminal.exit, terminal.cwd) == (ran[0].output, Exit(code=5), str(tmp_path))
        assert call.status == "completed"


PROGRAM = """
from accord import Agent, Turn
agent = Agent("runner", version="1")

@agent.prompt
async def work(turn: Turn) -> None:
    await turn.run("sh", "-c", turn.text)

agent.run()
"""


@linux
async def test_a_killed_agent_leaves_no_process_behind(tmp_path):
    """FN-30: kill -9 of an agent that nobody guards ends all that its commands started."""
    program, file = tmp_path / "agent.py", tmp_path / "pids"
    program.write_text(PROGRAM)
    agent = await asyncio.create_subprocess_exec(
        sys.executable, str(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    to_agent, from_agent = agent.stdin, agent.stdout
    assert to_agent is not None
    assert from_agent is not None

    async def ask(method: str, **params: Any) -> dict[str, Any]:
        to_agent.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        return {} if method == "session/prompt" else json.loads(await from_agent.readline())["result"]

    await ask("initialize", protocolVersion=1)
    session = (await ask("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
    text = {"type": "text", "text": f"{{ {FAMILY} sleep 1000; }} > {file}"}
    await ask("session/prompt", sessionId=session, prompt=[text])
    members = await lines_of(file, MEMBERS)
    agent.kill()
    await agent.wait()
    assert await asyncio.to_thread(wait_gone, *members)


@posix
async def test_output_that_a_client_takes_slowly_is_complete(version, tmp_path):
    agent, ran = runner("seq 200000; echo last", output_limit=10_000_000)
    async with User(agent, version, capabilities=NOTHING) as user:
        session = await user.new_session(str(tmp_path))
        await user.prompt(session, "x")
        assert ran[0].output.endswith("200000\nlast\n")
        assert not ran[0].is_truncated
        if version == 2:
            (terminal,) = user.transcripts[session].terminals.values()
            assert terminal.text == ran[0].output


async def test_what_can_not_be_started_says_what_to_do(version, tmp_path):
    agent, ran = runner("no-such-program-at-all", "x")
    async with User(agent, version, capabilities=NOTHING) as user:
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran[0].code == 127
        assert "command not found on PATH; install it" in ran[0].output


# There


class Terminals:
    """A client's terminals, made of real processes; `kind` is what it does with the words of a command."""

    def __init__(self, user: User, kind: str) -> None:
        self.kind = kind
        self.processes: list[asyncio.subprocess.Process] = []
        self.created: list[CreateTerminal] = []
        user.answers[CreateTerminal] = self.create
        user.answers[WaitForExit] = self.wait
        user.answers[ReadTerminal] = self.read

    async def create(self, asked: CreateTerminal) -> CreateTerminalResult:
        self.created.append(asked)
        words = [asked.command, *asked.args]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "cwd": asked.cwd}
        if self.kind == "joins":
            process = await asyncio.create_subprocess_shell(" ".join(words), **pipes)
        else:
            if self.kind == "has another disk":
                words = [word.replace(tempfile.gettempdir(), "/no/such/directory") for word in words]
            process = await asyncio.create_subprocess_exec(*words, **pipes)
        self.processes.append(process)
        return CreateTerminalResult(terminal_id=str(len(self.processes) - 1))

    async def wait(self, asked: WaitForExit) -> Exit:
        return Exit(code=await self.processes[int(asked.terminal_id)].wait())

    async def read(self, asked: ReadTerminal) -> TerminalSnapshot:
        stdout = self.processes[int(asked.terminal_id)].stdout
        assert stdout is not None
        return TerminalSnapshot(output=(await stdout.read()).decode(), truncated=False)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


ODD = ["a b", "it's", "$HOME", "", "*", "é", "a;b", "#", "~", "line\nbreak", '"', "\\", "=sh"]


@posix
@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize("kind", ["joins", "execs", "has another disk"])
async def test_arguments_arrive_as_they_are_whatever_the_client_does_with_them(version, kind, tmp_path, temporary):
    """FN-72: arguments joined unquoted into a shell."""
    given = ODD if kind != "has another disk" else ODD[:1]
    agent, ran = runner("printf", "<%s>", *given)
    async with User(agent, version) as user:
        terminals = Terminals(user, kind)
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran == [CommandResult(output="".join(f"<{word}>" for word in given), code=0)]
        assert len(terminals.created) == (2 if kind == "has another disk" else 1)
        assert list(temporary.iterdir()) == []


@posix
@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize("kind", ["joins", "execs"])
async def test_a_line_for_the_shell_is_run_by_one_shell(version, kind, tmp_path, temporary):
    """FN-72: quotes, pipes and blanks of a line are for the shell that runs it, no other."""
    agent, ran = runner("X='a  b'; echo \"$X\" | tr a-z A-Z; exit 3")
    async with User(agent, version) as user:
        Terminals(user, kind)
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran == [CommandResult(output="A  B\n", code=3)]
        assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_words_that_mean_the_same_to_everybody_are_sent_as_they_are(version, tmp_path):
    """FN-72: the program and blank-free arguments; then a user sees what is run."""
    agent, _ = runner("echo", "--coverage", "tests/a.py::b")
    async with User(agent, version) as user:
        terminals = Terminals(user, "joins")
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        (asked,) = terminals.created
        assert (asked.command, asked.args) == ("echo", ["--coverage", "tests/a.py::b"])


@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_where_the_clients_disk_is_not_ours_the_words_are_sent(version):
    """FN-72: a file of ours would not be there."""
    agent, _ = runner("echo", "a b")
    async with User(agent, version) as user:
        await user.prompt(await user.new_session("/no/such/place"), "x")
        (asked,) = user.terminals.values()
        assert (asked.command, asked.args) == ("echo", ["a b"])


PLAIN = [
    ("echo hi there", ["echo", "hi", "there"]),
    ("  sh  --version ", ["sh", "--version"]),
    ("true ", ["true"]),
    ("./run.sh -v", ["./run.sh", "-v"]),
]


@posix
@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize("kind", ["joins", "execs"])
@pytest.mark.parametrize("plain", PLAIN)
async def test_a_line_that_is_only_a_program_and_words_is_shown_as_that(version, kind, plain, tmp_path, temporary):
    """A terminal is titled by what it is asked to run: a temporary file would tell nothing."""
    line, words = plain
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho ran $1\n")
    (tmp_path / "run.sh").chmod(0o755)
    agent, ran = runner(line)
    async with User(agent, version) as user:
        terminals = Terminals(user, kind)
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        (asked,) = terminals.created
        assert [asked.command, *asked.args] == words
        assert ran[0].succeeded or words[0] == "sh"
        assert list(temporary.iterdir()) == []


NOT_PLAIN = [
    ("cd sub && ls", "cd-sub-ls"),
    ("exit 3", "exit-3"),
    ("echo -e x", "echo-e-x"),
    ("echo 'a b' | wc -c", "echo-a-b-wc-c"),
    ("X=1 env", "X-1-env"),
    ("echo $HOME", "echo-HOME"),
    ("ls *", "ls"),
    ("true\nfalse", "true-false"),
    ("no-such-program-at-all x", "no-such-program-at-all-x"),
    ("; ;", "command"),
]


@posix
@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize(("line", "name"), NOT_PLAIN)
async def test_a_line_that_needs_a_shell_is_a_file_whose_name_tells_the_command(
    version, line, name, tmp_path, temporary
):
    agent, _ = runner(line)
    async with User(agent, version) as user:
        terminals = Terminals(user, "execs")
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        (asked,) = terminals.created
        assert asked.command == "/bin/sh"
        (path,) = map(Path, asked.args)
        assert (path.name, path.parent.parent) == (name, temporary)
        assert list(temporary.iterdir()) == []


@posix
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_program_that_nobody_finds_ends_as_in_a_shell(version, tmp_path, temporary):
    agent, ran = runner("no-such-program-at-all x")
    async with User(agent, version) as user:
        Terminals(user, "execs")
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran[0].code == 127
        assert "not found" in ran[0].output


@pytest.mark.parametrize("words", [["A=b", "x"], ["x", "=ls"], ["x", ""], ["x", "a b"], ["x", "$Y"], ["x", "~"]])
def test_what_a_shell_would_change_is_not_inert(words):
    """FN-72: assignments and expansions as well as blanks."""
    assert not is_inert(words)


def killed(version: Any, answers: dict[type, Any], **options: Any) -> tuple[list[CommandResult], list[type]]:
    """What comes of a command past its deadline, with a client that answers oddly; time is not waited for."""
    agent, ran = runner("sleep", "60", deadline=1.0)
    agent._definition.strict = False
    asked: list[type] = []

    async def story() -> None:
        async with User(agent, version) as user:
            user.answers.update(answers)
            await user.prompt(await user.new_session("/no/such/place"), "x")
            asked.extend(type(each) for each in user.asked)

    run(story())
    return ran, asked


async def never(asked: Any) -> Any:
    await asyncio.Event().wait()


async def late(asked: Any) -> Exit:
    await asyncio.sleep(30)
    return Exit(code=143)


@pytest.mark.requirement("TERM-28", "TERM-30")
@pytest.mark.parametrize("version", [1, "2-draft"])
def test_an_exit_that_is_told_late_or_never_is_not_waited_for(version):
    """FN-73: after a kill the exit is reported 30 s late, without a signal."""
    order = [CreateTerminal, WaitForExit, KillTerminal, ReadTerminal, ReleaseTerminal]
    partial = {ReadTerminal: lambda asked: TerminalSnapshot(output="partial", truncated=False)}
    for wait in (late, never):
        ran, asked = killed(version, {WaitForExit: wait, **partial})
        assert ran == [CommandResult(output="partial", is_timed_out=True)]
        assert asked == order


@pytest.mark.parametrize("version", [1, "2-draft"])
def test_the_output_may_tell_how_it_ended(version):
    """FN-73: the exit is taken from wherever it is told."""
    seen = TerminalSnapshot(output="", truncated=False, exit=Exit(signal="SIGKILL"))
    ran, _ = killed(version, {WaitForExit: never, ReadTerminal: lambda asked: seen})
    assert ran == [CommandResult(output="", signal="SIGKILL", is_timed_out=True)]


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize("silent", [KillTerminal, ReadTerminal, ReleaseTerminal])
def test_a_client_that_does_not_answer_any_more_holds_nobody(version, silent):
    """FN-73: every wait after a kill is bounded."""
    ran, asked = killed(version, {WaitForExit: never, silent: never})
    assert ran[0].is_timed_out
    assert asked[-1] is ReleaseTerminal


@pytest.mark.bad_frames
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_negative_codes_and_line_ends_of_terminals_are_taken(version, tmp_path):
    """FN-73: a code that no exit can have is no code, and CR LF is a line end."""
    agent, ran = runner("make", output_limit=8)
    agent._definition.strict = False
    async with User(agent, version) as user:
        user.answers[WaitForExit] = lambda asked: Exit(code=-15)
        user.answers[ReadTerminal] = lambda asked: TerminalSnapshot(output="long\r\nlines\r\n", truncated=False)
        user.answers[KillTerminal] = lambda asked: EmptyResult()
        await user.prompt(await user.new_session(str(tmp_path)), "x")
        assert ran == [CommandResult(output="g\nlines\n", is_truncated=True)]
        assert not ran[0].succeeded
