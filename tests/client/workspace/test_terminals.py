from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord.client.workspace import terminals as terminals_module
from accord.client.workspace.terminals import TerminalEvent
from accord.client.workspace.workspace import Workspace
from accord.dialects.v1 import V1
from accord.errors import Denied, InvalidParams, NotFound, RateLimited, RequestCancelled, RequestFailed, request_failed
from accord.session import Transcript
from accord.session.entities import Exit
from accord.session.requests import EmptyResult, KillTerminal, ReadTerminal, ReleaseTerminal, WaitForExit
from accord.transports.command_output import capture_command
from accord.transports.guard_program import descendants
from tests.client.words import create, kill, outcome, output, read, release, wait
from tests.transports.families import ANNOUNCE, DEAF_FAMILY, MEMBERS, is_alive, pids, wait_gone

Make = Callable[..., Workspace]


class Events:
    def __init__(self) -> None:
        self.all: list[TerminalEvent] = []
        self._changed = asyncio.Event()

    def __call__(self, event: TerminalEvent) -> None:
        self.all.append(event)
        self._changed.set()

    @property
    def kinds(self) -> list[str]:
        """Without repetitions."""
        kinds = [event.kind for event in self.all]
        return [kind for place, kind in enumerate(kinds) if kinds[place - 1 : place] != [kind]]

    @property
    def bytes(self) -> bytes:
        return b"".join(event.data for event in self.all)

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def lines(self, count: int) -> list[bytes]:
        await self.until(lambda: self.bytes.count(b"\n") >= count)
        return self.bytes.splitlines()


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """A workspace that is closed after the test."""
    made: list[Workspace] = []

    def make(**options: Any) -> Workspace:
        patient: dict[str, Any] = {"kill_grace": 10.0}
        made.append(Workspace(tmp_path, **patient | options))
        return made[-1]

    yield make
    for workspace in made:
        await workspace.aclose()


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def workspace(make: Make, events: Events) -> Workspace:
    return make(on_terminal=events)


def arguments(*given: str) -> list[str]:
    """A program that shows exactly what it was given."""
    return [sys.executable, "-I", "-S", "-c", "import sys; print(sys.argv[1:])", *given]


# Starting


@pytest.mark.requirement("TERM-12", "TERM-13", "TERM-19", "TERM-22", "AMB-64")
async def test_the_id_comes_at_once_and_the_output_can_be_read_while_the_command_runs(
    workspace: Workspace, events: Events
):
    terminal_id = await create(workspace, "echo begun; exec sleep 1000")
    await events.lines(1)
    snapshot = await output(workspace, terminal_id)
    assert (snapshot.output, snapshot.truncated, snapshot.exit) == ("begun\n", False, None)


@pytest.mark.requirement("TERM-25")
async def test_waiting_is_answered_when_the_command_has_ended_and_not_before(
    workspace: Workspace, events: Events, tmp_path: Path
):
    terminal_id = await create(workspace, "echo begun; until [ -e go ]; do sleep 0.01; done; echo done; exit 3")
    waiting = asyncio.create_task(wait(workspace, terminal_id))
    await events.lines(1)
    assert not waiting.done()
    (tmp_path / "go").touch()
    assert await waiting == Exit(code=3)
    snapshot = await output(workspace, terminal_id)
    assert (snapshot.output, snapshot.exit) == ("begun\ndone\n", Exit(code=3))
    assert await wait(workspace, terminal_id) == Exit(code=3)


async def test_arguments_arrive_exactly_as_they_were_sent(workspace: Workspace):
    """FN-72: they are not joined into a line for a shell."""
    odd = ["", "a b", "$HOME", "`id`", "'", '"', ";", "*", "a\nb", "é", "--", "|"]
    program, *given = arguments(*odd)
    assert (await outcome(workspace, program, *given)).output == f"{odd}\n"


@pytest.mark.requirement("AMB-46")
async def test_a_command_without_arguments_is_a_program_if_there_is_one(workspace: Workspace, tmp_path: Path):
    program = tmp_path / "my program; echo"
    program.write_text("#!/bin/sh\necho it is $0\n")
    program.chmod(0o700)
    assert (await outcome(workspace, str(program))).output == f"it is {program}\n"
    assert (await outcome(workspace, "./my program; echo")).output == f"it is {program}\n"
    assert (await outcome(workspace, "pwd")).output == f"{tmp_path}\n"


async def test_a_command_without_arguments_is_a_line_for_the_shell_otherwise(workspace: Workspace):
    """FN-72: many agents send whole command lines."""
    assert (await outcome(workspace, "echo a  b && echo 'c  d' | tr c C")).output == "a b\nC  d\n"
    assert (await outcome(workspace, "X=1; echo $X")).output == "1\n"
    assert (await outcome(workspace, "exit 4")).exit == Exit(code=4)
    long = f"echo {'/x' * 5000} | wc -c"
    assert (await outcome(workspace, long)).output.strip() == "10001"


async def test_the_shell_can_be_chosen(make: Make):
    workspace = make(shell=[sys.executable, "-I", "-S", "-c"])
    assert (await outcome(workspace, "print(1 + 1)")).output == "2\n"


async def test_a_program_that_is_not_there_is_told_by_the_shell_or_refused(workspace: Workspace):
    missing = await outcome(workspace, "no-such-program")
    assert missing.exit == Exit(code=127)
    assert "not found" in missing.output
    with pytest.raises(InvalidParams, match="command not found") as caught:
        await create(workspace, "no-such-program", "argument")
    assert caught.value.field == "command"
    assert len(workspace.terminals) == 1


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"command": ""}, "command"),
        ({"command": "  "}, "command"),
        ({"command": "a\0b"}, "command"),
        ({"command": "echo", "args": ["a\0b"]}, "command"),
        ({"command": "echo", "env": {"A=B": "1"}}, "env"),
        ({"command": "echo", "env": {"": "1"}}, "env"),
        ({"command": "echo", "cwd": "sub"}, "cwd"),
    ],
)
async def test_what_can_not_be_run_is_refused(workspace: Workspace, options: dict[str, Any], field: str):
    with pytest.raises(InvalidParams) as caught:
        await create(workspace, options.pop("command"), *options.pop("args", []), **options)
    assert caught.value.field == field


async def test_variables_are_added_to_ours(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OURS", "1")
    monkeypatch.setenv("BOTH", "ours")
    env = {"THEIRS": "a b=c\nd", "BOTH": "theirs"}
    script = 'echo "$OURS $BOTH $THEIRS"'
    assert (await outcome(make(), script, env=env)).output == "1 theirs a b=c\nd\n"
    workspace = make(env={"PATH": os.environ["PATH"], "OURS": "2"})
    assert (await outcome(workspace, script, env=env)).output == "2 theirs a b=c\nd\n"


async def test_it_runs_in_the_first_root_or_in_a_directory_inside(workspace: Workspace, tmp_path: Path):
    (tmp_path / "sub").mkdir()
    assert (await outcome(workspace, "pwd")).output == f"{tmp_path}\n"
    assert (await outcome(workspace, "pwd", cwd=str(tmp_path / "sub"))).output == f"{tmp_path}/sub\n"
    workspace.enter("s", tmp_path / "sub")
    assert (await outcome(workspace, "pwd")).output == f"{tmp_path}/sub\n"
    with pytest.raises(Denied) as caught:
        await create(workspace, "pwd", cwd="/")
    assert caught.value.scope == "terminal.cwd outside the session's directories: /"
    with pytest.raises(InvalidParams, match="no such directory"):
        await create(workspace, "pwd", cwd=str(tmp_path / "missing"))


async def test_it_reads_nothing_and_waits_for_nothing(workspace: Workspace):
    """FN-16: it has a stdin of its own, which is the null device."""
    assert (await outcome(workspace, "cat; readlink /proc/self/fd/0")).output == "/dev/null\n"


# Output


@pytest.mark.requirement("TERM-10", "TERM-11", "AMB-63")
async def test_output_is_cut_from_the_front_at_a_character(workspace: Workspace):
    snapshot = await outcome(workspace, "printf 'aé€😀'", output_byte_limit=8)
    assert (snapshot.output, snapshot.truncated) == ("€😀", True)
    snapshot = await outcome(workspace, "printf 'aé€😀'", output_byte_limit=10)
    assert (snapshot.output, snapshot.truncated) == ("aé€😀", False)
    snapshot = await outcome(workspace, "printf abc", output_byte_limit=0)
    assert (snapshot.output, snapshot.truncated) == ("", True)


@pytest.mark.requirement("AMB-63")
async def test_without_a_limit_or_with_a_huge_one_ours_counts(make: Make):
    workspace = make(terminal_output_limit=100)
    for limit in (None, 2**64 - 1):
        snapshot = await outcome(workspace, "seq 1000", output_byte_limit=limit)
        assert len(snapshot.output) == 100
        assert snapshot.output.endswith("\n999\n1000\n")
        assert snapshot.truncated


@pytest.mark.requirement("AMB-63")
async def test_bytes_that_are_no_text_become_replacement_characters(workspace: Workspace):
    assert (await outcome(workspace, r"printf 'a\377b\303'")).output == "a\ufffdb\ufffd"


async def test_an_endless_output_stops_nobody_else(make: Make, tmp_path: Path):
    """FN-15: the loop stays free, and memory bounded."""
    (tmp_path / "file").write_text("text")
    workspace = make(terminal_output_limit=1000)
    noisy = await create(workspace, "yes")
    for _ in range(20):
        assert await read(workspace, tmp_path / "file") == "text"
        assert len((await output(workspace, noisy)).output) <= 1000
    await kill(workspace, noisy)
    assert (await wait(workspace, noisy)).signal == "SIGTERM"


# Ending


@pytest.mark.requirement("TERM-27", "TERM-23", "TERM-24", "AMB-65", "AMB-66")
async def test_a_kill_ends_the_command_and_keeps_the_terminal(workspace: Workspace, events: Events):
    """FN-73: the exit is there when the kill is answered, with the signal's name and no code."""
    terminal_id = await create(workspace, "echo begun; exec sleep 1000")
    waiting = asyncio.create_task(wait(workspace, terminal_id))
    await events.lines(1)
    assert await kill(workspace, terminal_id) == EmptyResult()
    snapshot = await output(workspace, terminal_id)
    assert (snapshot.output, snapshot.exit) == ("begun\n", Exit(code=None, signal="SIGTERM"))
    assert await waiting == Exit(signal="SIGTERM")
    assert await wait(workspace, terminal_id) == Exit(signal="SIGTERM")
    assert await kill(workspace, terminal_id) == EmptyResult()
    assert await release(workspace, terminal_id) == EmptyResult()


async def test_a_command_that_does_not_want_to_end_is_ended(make: Make, events: Events):
    """FN-73: after a bounded time."""
    workspace = make(on_terminal=events, kill_grace=0.05)
    terminal_id = await create(workspace, "trap '' TERM; echo deaf; while :; do sleep 0.01; done")
    await events.lines(1)
    await kill(workspace, terminal_id)
    assert await wait(workspace, terminal_id) == Exit(signal="SIGKILL")


@pytest.mark.parametrize(("options", "grace"), [({}, 1.0), ({"kill_grace": 7.0}, 7.0)], ids=str)
async def test_a_command_has_a_second_to_end_in_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], grace: float
):
    given: list[float] = []

    async def start(*command: Any, terminate_grace: float, **others: Any) -> Any:
        given.append(terminate_grace)
        return await capture_command(*command, terminate_grace=terminate_grace, **others)

    monkeypatch.setattr(terminals_module, "capture_command", start)
    async with Workspace(tmp_path, **options) as workspace:
        await outcome(workspace, "true")
    assert given == [grace]


async def test_a_command_may_say_goodbye_when_it_is_killed(workspace: Workspace, events: Events):
    terminal_id = await create(workspace, "trap 'echo goodbye; exit 0' TERM; echo begun; while :; do sleep 0.01; done")
    await events.lines(1)
    await kill(workspace, terminal_id)
    snapshot = await output(workspace, terminal_id)
    assert snapshot.output.endswith("goodbye\n")
    assert snapshot.exit == Exit(code=0)


async def test_a_signal_without_a_name_is_its_number(workspace: Workspace):
    number = signal.SIGRTMIN + 3
    assert (await outcome(workspace, f"exec sh -c 'kill -{number} $$'")).exit == Exit(signal=str(number))


@pytest.mark.requirement("TERM-28")
async def test_a_timeout_can_be_built_from_these(workspace: Workspace, events: Events):
    terminal_id = await create(workspace, "echo partial; exec sleep 1000")
    await events.lines(1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(wait(workspace, terminal_id), 0.01)
    await kill(workspace, terminal_id)
    assert (await output(workspace, terminal_id)).output == "partial\n"
    await release(workspace, terminal_id)


@pytest.mark.requirement("TERM-29", "TERM-30", "AMB-34", "AMB-66")
async def test_a_release_ends_the_command_answers_who_waits_and_makes_the_id_invalid(
    workspace: Workspace, events: Events
):
    terminal_id = await create(workspace, "echo $$; exec sleep 1000")
    (pid,) = await events.lines(1)
    waiting = asyncio.create_task(wait(workspace, terminal_id))
    await asyncio.sleep(0)
    assert await release(workspace, terminal_id) == EmptyResult()
    assert await waiting == Exit(signal="SIGTERM")
    assert not is_alive(int(pid))
    for method in (output, wait, kill, release):
        with pytest.raises(NotFound) as caught:
            await method(workspace, terminal_id)
        assert caught.value.terminal_id == terminal_id


@pytest.mark.requirement("TERM-30")
async def test_the_id_is_invalid_as_soon_as_the_release_is_asked_for(workspace: Workspace):
    terminal_id = await create(workspace, "exec sleep 1000")
    releasing = asyncio.create_task(release(workspace, terminal_id))
    await asyncio.sleep(0)
    with pytest.raises(NotFound):
        await output(workspace, terminal_id)
    await releasing


async def test_whoever_gives_up_waiting_for_a_release_does_not_stop_it(workspace: Workspace, events: Events):
    terminal_id = await create(workspace, "exec sleep 1000")
    releasing = asyncio.create_task(release(workspace, terminal_id))
    await asyncio.sleep(0)
    releasing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await releasing
    await events.until(lambda: "released" in events.kinds)
    assert events.kinds == ["created", "exited", "released"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is ended")
@pytest.mark.parametrize("how", [kill, release])
async def test_the_whole_family_ends(make: Make, events: Events, how: Callable[..., Any]):
    """FN-30: also grandchildren in sessions of their own that are deaf to signals."""
    workspace = make(on_terminal=events, kill_grace=0.05)
    terminal_id = await create(workspace, DEAF_FAMILY + "while :; do sleep 1000; done")
    members = pids(await events.lines(MEMBERS))
    await how(workspace, terminal_id)
    assert not any(map(is_alive, members))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no guard that adopts orphans")
async def test_what_a_command_leaves_behind_lives_until_the_release(workspace: Workspace, events: Events):
    terminal_id = await create(workspace, f"sh -c '{ANNOUNCE}; exec sleep 1000' & exit 5")
    assert await wait(workspace, terminal_id) == Exit(code=5)
    (pid,) = pids(await events.lines(1))
    assert is_alive(pid)
    await release(workspace, terminal_id)
    assert not is_alive(pid)


# Whose they are, and how many


async def test_another_session_can_not_touch_a_terminal(workspace: Workspace):
    terminal_id = await create(workspace, "echo secret; exec sleep 1000")
    for word in (ReadTerminal, WaitForExit, KillTerminal, ReleaseTerminal):
        with pytest.raises(NotFound):
            await workspace.answer(word(session_id="other", terminal_id=terminal_id))
    assert (await output(workspace, terminal_id)).exit is None


async def test_an_unknown_terminal_is_not_found(workspace: Workspace):
    with pytest.raises(NotFound):
        await output(workspace, "term_1")


async def test_terminals_run_side_by_side(workspace: Workspace, tmp_path: Path):
    first = await create(workspace, "until [ -e go ]; do sleep 0.01; done; echo first")
    second = await create(workspace, "touch go; echo second")
    assert first != second
    await asyncio.gather(wait(workspace, first), wait(workspace, second))
    assert (await output(workspace, first)).output == "first\n"
    assert (await output(workspace, second)).output == "second\n"


async def test_only_so_many_run_at_once_and_the_agent_learns_what_to_do(make: Make):
    workspace = make(terminal_limit=2)
    first = await create(workspace, "exec sleep 1000")
    results = await asyncio.gather(*(create(workspace, "exec sleep 1000") for _ in range(3)), return_exceptions=True)
    assert [isinstance(result, str) for result in results] == [True, False, False]
    refused = results[1]
    assert isinstance(refused, RequestFailed)
    assert "end or release one" in refused.message
    assert isinstance(request_failed(*refused.to_error()), RateLimited)
    await kill(workspace, first)
    await create(workspace, "exec sleep 1000")


async def test_agents_that_never_release_can_go_on(make: Make):
    workspace = make(terminal_limit=1)
    for _ in range(3):
        assert (await outcome(workspace, "echo again")).output == "again\n"


async def test_a_session_that_ends_takes_its_commands_with_it(workspace: Workspace, events: Events):
    terminal_id = await create(workspace, "echo $$; exec sleep 1000")
    (pid,) = await events.lines(1)
    await workspace.leave("other")
    assert is_alive(int(pid))
    await workspace.leave("s")
    assert not is_alive(int(pid))
    with pytest.raises(NotFound):
        await output(workspace, terminal_id)


async def test_closing_ends_everything_also_what_is_being_started(workspace: Workspace):
    before = set(descendants(os.getpid()))
    waiting = [asyncio.create_task(wait(workspace, await create(workspace, "exec sleep 1000"))) for _ in range(3)]
    starting = asyncio.create_task(create(workspace, "exec sleep 1000"))
    await asyncio.sleep(0)
    assert workspace._requests.terminals._starting
    await asyncio.gather(workspace.aclose(), asyncio.create_task(workspace.aclose()))
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert await asyncio.gather(*waiting) == [Exit(signal="SIGTERM")] * 3
    with pytest.raises(RequestCancelled):
        await create(workspace, "true")
    left = set(descendants(os.getpid())) - before
    assert all(terminal.is_gone for terminal in workspace.terminals.values())
    assert await asyncio.to_thread(wait_gone, *left)


async def test_leaving_the_block_closes_it(tmp_path: Path, events: Events):
    async with Workspace(tmp_path, on_terminal=events) as workspace:
        await create(workspace, "echo $$; exec sleep 1000")
        (pid,) = await events.lines(1)
    assert not is_alive(int(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="that is where they can be counted")
async def test_a_command_that_has_ended_holds_no_descriptor(workspace: Workspace):
    async def held() -> int:
        terminal_id = await create(workspace, "true")
        await wait(workspace, terminal_id)
        capture = workspace.terminals[terminal_id]._capture
        assert capture
        await capture._watch_task  # it lets go right after the end was told
        return len(list(Path("/proc/self/fd").iterdir()))  # noqa: ASYNC240

    first = await held()
    assert [await held() for _ in range(5)] == [first] * 5


# What a user interface sees


@pytest.mark.requirement("TERM-16")
async def test_everything_is_told_in_order_and_stays_after_the_release(workspace: Workspace, events: Events):
    terminal_id = await create(workspace, "printf", "%s", "a b")
    await wait(workspace, terminal_id)
    await release(workspace, terminal_id)
    assert events.kinds == ["created", "output", "exited", "released"]
    assert events.bytes == b"a b"
    terminal = workspace.terminals[terminal_id]
    assert terminal is events.all[0].terminal
    assert (terminal.command, terminal.cwd) == ("printf %s 'a b'", str(workspace._requests._roots.directories[0]))
    assert (terminal.output, terminal.exit, terminal.is_released) == ("a b", Exit(code=0), True)


@pytest.mark.requirement("TERM-16")
async def test_a_transcript_can_show_it_like_a_terminal_of_v2(workspace: Workspace, events: Events):
    terminal_id = await create(workspace, "echo one; exit 3")
    await wait(workspace, terminal_id)
    await release(workspace, terminal_id)
    transcript = Transcript()
    for event in events.all:
        if event.patch is not None:
            transcript.apply(event.patch)
    shown = transcript.terminals[terminal_id]
    assert (shown.command, shown.text, shown.exit) == ("echo one; exit 3", "one\n", Exit(code=3))


async def test_an_interface_that_fails_disturbs_nothing(make: Make, caplog: pytest.LogCaptureFixture):
    def broken(event: TerminalEvent) -> None:
        raise RuntimeError("no window")

    with caplog.at_level(logging.ERROR, "accord.client"):
        assert (await outcome(make(on_terminal=broken), "echo text")).output == "text\n"
    assert "no window" in caplog.text


async def test_what_is_kept_of_released_terminals_is_bounded(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(terminals_module, "_KEPT_RELEASED", 2)
    workspace = make()
    made = [await create(workspace, "true") for _ in range(4)]
    for terminal_id in made:
        await release(workspace, terminal_id)
    assert list(workspace.terminals) == made[2:]


async def test_what_is_kept_of_output_is_bounded_and_an_agent_learns_that_it_is_gone(
    make: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(terminals_module, "_KEPT_BYTES", 10)
    workspace = make()
    made: list[str] = []
    for text in ("aaaa", "bbbb", "cccc"):
        made.append(await create(workspace, f"printf {text}"))
        await wait(workspace, made[-1])
        if text == "bbbb":
            await release(workspace, made[-1])
    assert [terminal.output for terminal in workspace.terminals.values()] == ["aaaa", "", "cccc"]
    await wait(workspace, await create(workspace, "printf dddd"))
    snapshot = await output(workspace, made[0])
    assert (snapshot.output, snapshot.truncated, snapshot.exit) == ("", True, Exit(code=0))


@pytest.mark.requirement("TERM-23", "TERM-24", "TERM-26", "AMB-65")
async def test_answers_go_on_the_wire_as_v1_has_them(workspace: Workspace):
    dialect = V1()
    terminal_id = await create(workspace, "exec sleep 1000")
    await kill(workspace, terminal_id)
    asked = WaitForExit(session_id="s", terminal_id=terminal_id)
    wire = dialect.result_to_wire(asked, await workspace.answer(asked))
    assert msgspec.json.decode(msgspec.json.encode(wire)) == {"exitCode": None, "signal": "SIGTERM"}
