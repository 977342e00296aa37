from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from accord.client.target import Command
from accord.errors import ConnectionClosed
from accord.transports import process_transport as process_module
from accord.transports.process_transport import ProcessTransport
from tests.transports.recorder import Recorder, a_few_ticks
from tests.virtual_clock import run

Start = Callable[..., Any]


@pytest.fixture(params=["guarded", "unguarded"])
async def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Opens a process and closes it after the test."""
    if request.param == "unguarded":
        monkeypatch.setattr(process_module, "can_guard", lambda: False)
    opened: list[ProcessTransport] = []

    async def start(*command: str, **options: Any) -> tuple[ProcessTransport, Recorder]:
        recorder = Recorder()
        patient: dict[str, Any] = {"close_grace": 5.0, "terminate_grace": 5.0}
        process = ProcessTransport(command, **patient | options)
        await process.open(recorder)
        opened.append(process)
        return process, recorder

    yield start
    for process in opened:
        await process.aclose()


def python(source: str) -> Sequence[str]:
    return [sys.executable, "-I", "-S", "-c", source]


@pytest.mark.requirement("TRANS-01", "TRANS-11", "TRANS-12")
async def test_a_command_is_started_and_spoken_with(start: Start):
    process, recorder = await start("cat")
    process.send(b'{"id":1}')
    process.send(b'{"id":2}')
    assert await recorder.received(2) == [b'{"id":1}', b'{"id":2}']
    await process.aclose()
    assert recorder.calls[-1] == "lost"
    assert recorder.reason
    assert recorder.reason.exit_code == 0


@pytest.mark.requirement("TRANS-19", "TRANS-20", "CHECK-15")
async def test_nothing_but_the_frames_goes_to_its_stdin(start: Start):
    process, recorder = await start(*python("import sys; print(ascii(sys.stdin.buffer.read().decode()))"))
    for frame in (b"{}", b'{"a":\n1}', b"[]"):
        process.send(frame)
    departures, writer = process._frame_writer, process._writer
    departures.flush()
    await writer.finish()
    assert await recorder.received(1) == [rb"""'{}\n{"a": 1}\n[]\n'"""]


@pytest.mark.requirement("TRANS-05", "TRANS-07")
async def test_blocks_are_spoken_when_asked_for(start: Start):
    process, recorder = await start("cat", framing="content-length")
    process.send("ü".encode())
    process.send(b"{}")
    assert await recorder.received(2) == ["ü".encode(), b"{}"]


async def test_a_death_is_told_with_exit_code_and_last_words(start: Start):
    """FN-10: whoever waits learns at once why nothing will come."""
    _, recorder = await start("sh", "-c", "echo '{}'; echo why it died >&2; exit 3")
    reason = await recorder.lost()
    assert recorder.frames == [b"{}"]
    assert reason.exit_code == 3
    assert reason.stderr_tail == "why it died\n"
    assert "'sh' ended" in str(reason)


async def test_a_signal_is_a_negative_exit_code(start: Start):
    _, recorder = await start("sh", "-c", "kill -9 $$")
    assert (await recorder.lost()).exit_code == -signal.SIGKILL


async def test_a_death_is_told_even_when_something_holds_the_output_open(start: Start, monkeypatch: pytest.MonkeyPatch):
    """FN-10: the command has ended, a process that it left behind has not."""
    monkeypatch.setattr(process_module, "_REASON_SECONDS", 0.1)
    _, recorder = await start("sh", "-c", "sleep 1000 & echo '{}'; exit 4")
    assert (await recorder.lost()).exit_code == 4
    assert recorder.frames == [b"{}"]


@pytest.mark.requirement("TRANS-17", "TRANS-16")
async def test_any_amount_of_stderr_is_drained_and_its_tail_kept(start: Start):
    """FN-11: a megabyte of stderr before the first answer."""
    heard: list[bytes] = []
    source = "import sys; sys.stderr.write('x' * 1_000_000 + 'end'); print('{}', flush=True); sys.stdin.read()"
    process, recorder = await start(*python(source), on_stderr=heard.append)
    await recorder.received(1)
    await process.aclose()
    assert recorder.reason
    assert sum(map(len, heard)) == 1_000_003
    assert len(recorder.reason.stderr_tail) == 64 * 1024
    assert recorder.reason.stderr_tail.endswith("xend")


async def test_a_line_of_half_a_megabyte_comes_through(start: Start):
    """FN-92: from a real process."""
    _, recorder = await start(*python("print('{\"x\":\"' + 'x' * 564_000 + '\"}')"))
    (frame,) = await recorder.received(1)
    assert len(frame) == 564_008


async def test_a_line_past_the_limit_is_refused_and_the_rest_arrives(start: Start):
    """FN-33: from a real process."""
    source = "print('{}'); print('x' * 300_000); print('[]')"
    _, recorder = await start(*python(source), frame_limit=100_000)
    await recorder.lost()
    assert recorder.calls == ["frames", "refused", "frames", "lost"]
    assert recorder.frames == [b"{}", b"[]"]


async def test_everything_written_before_the_death_is_received(start: Start):
    _, recorder = await start(*python("for n in range(20_000): print(n)"))
    await recorder.lost()
    assert recorder.frames == [b"%d" % n for n in range(20_000)]


async def test_a_pause_loses_nothing_when_the_command_dies_meanwhile(start: Start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_module, "_REASON_SECONDS", 0.01)
    process, recorder = await start(*python("import sys; sys.stdin.readline()\nfor n in range(5_000): print(n)"))
    process.pause_receiving()
    child = process._child
    has_killed = asyncio.Event()
    kill = child.kill
    monkeypatch.setattr(child, "kill", lambda: (kill(), has_killed.set()))
    process.send(b"{}")
    await has_killed.wait()  # it has ended, and what it left behind, too
    await a_few_ticks()
    assert recorder.calls == []
    process.resume_receiving()
    await recorder.lost()
    assert recorder.frames == [b"%d" % n for n in range(5_000)]


async def test_a_command_that_does_not_read_pauses_the_sender(start: Start):
    process, recorder = await start(
        *python("import sys; sys.stdin.buffer.read(1); print('{}', flush=True); sys.stdin.read()"), high_water=100_000
    )
    while "paused" not in recorder.calls:
        process.send(b"x" * 10_000)
    assert 100_000 < process.unsent < 1_000_000
    await recorder.until(lambda: "resumed" in recorder.calls)
    assert process.unsent < 100_000


async def test_what_was_sent_before_closing_is_delivered(start: Start, tmp_path: Path):
    target = tmp_path / "received"
    process, _ = await start("sh", "-c", f"cat > {target}")
    for _ in range(100):
        process.send(b"x" * 9_999)
    await process.aclose()
    assert target.stat().st_size == 1_000_000


async def test_sending_to_the_dead_is_harmless(start: Start):
    process, recorder = await start("true")
    await recorder.lost()
    process.send(b"x" * 1_000_000)
    await process.aclose()
    process.send(b"{}")
    assert process.unsent == 0
    assert recorder.calls == ["lost"]


async def test_a_command_that_closes_its_output_is_silent_but_still_reads(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(process_module, "_REASON_SECONDS", 0.1)
    told = tmp_path / "told"
    process, recorder = await start("sh", "-c", f"echo '{{}}'; exec >&- 2>&-; read line; echo $line >{told}; exit 3")
    await recorder.until(lambda: recorder.silence)
    assert recorder.silence is not None
    assert recorder.silence.exit_code is None
    assert "closed its output" in str(recorder.silence)
    process.send(b"[]")
    assert (await recorder.lost()).exit_code == 3
    assert told.read_text() == "[]\n"
    assert recorder.calls == ["frames", "ended", "lost"]


async def test_a_command_that_closes_its_input_is_lost_though_it_lives(start: Start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_module, "_REASON_SECONDS", 0.1)
    process, recorder = await start("sh", "-c", "exec <&-; echo '{}'; exec sleep 1000", close_grace=0.0)
    await recorder.received(1)
    process.send(b"{}")
    reason = await recorder.lost()
    assert reason.exit_code is None
    assert "closed its input" in str(reason)


async def test_environment_and_directory_are_as_given(start: Start, tmp_path: Path):
    source = "import os, json; print(json.dumps([dict(os.environb and os.environ), os.getcwd()]))"
    env = {"ODD": "a=b\nc", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    _, recorder = await start(*python(source), env=env, cwd=tmp_path)
    (frame,) = await recorder.received(1)
    assert json.loads(frame) == [env, str(tmp_path)]


async def test_variables_that_were_not_given_are_not_there(start: Start):
    _, recorder = await start("/usr/bin/env", env={"ONE": "1"})
    await recorder.lost()
    assert recorder.frames == [b"ONE=1"]


async def test_it_has_a_process_group_of_its_own_and_default_signals(start: Start):
    """So a Ctrl-C in our terminal does not hit it, and a broken pipe ends it as it should."""
    process, recorder = await start("sh", "-c", "cat /proc/$$/stat; grep SigIgn /proc/$$/status; cat")
    fields, ignored = await recorder.received(2)
    _, _, group, session = fields.rpartition(b")")[2].split()[:4]
    assert int(group) != os.getpgrp()
    assert int(session) != os.getsid(0)
    assert not int(ignored.split()[1], 16) & 1 << signal.SIGPIPE - 1
    await process.aclose()


async def test_it_inherits_no_descriptor_but_its_three(start: Start):
    await start("cat")
    _, recorder = await start("ls", "/proc/self/fd")
    await recorder.lost()
    assert recorder.frames == [b"0", b"1", b"2", b"3"]  # 3 is the directory that ls reads


async def test_closing_is_safe_twice_and_from_any_task(start: Start):
    process, recorder = await start("cat")
    await asyncio.gather(process.aclose(), process.aclose(), asyncio.create_task(process.aclose()))
    await process.aclose()
    assert recorder.calls == ["lost"]
    assert "closed by this side" in str(recorder.reason)


async def test_whoever_gives_up_waiting_for_the_close_does_not_stop_it(start: Start):
    process, recorder = await start("cat")
    closing = asyncio.create_task(process.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert (await recorder.lost()).exit_code == 0


async def test_a_command_that_ends_by_itself_on_end_of_input_gets_no_signal(start: Start, tmp_path: Path):
    target = tmp_path / "signals"
    process, recorder = await start("sh", "-c", f"trap 'echo TERM >> {target}' TERM; echo '{{}}'; cat; exit 7")
    await recorder.received(1)
    await process.aclose()
    assert recorder.reason
    assert recorder.reason.exit_code == 7
    assert not target.exists()


async def test_a_command_that_ignores_the_end_of_input_is_asked_to_end(start: Start):
    source = "import time; print('{}', flush=True); time.sleep(1000)"
    process, recorder = await start(*python(source), close_grace=0.0)
    await recorder.received(1)
    await process.aclose()
    assert recorder.reason
    assert recorder.reason.exit_code == -signal.SIGTERM


async def test_a_command_that_hangs_in_a_write_while_we_are_paused_can_still_end(start: Start):
    source = "import sys; print('{}', flush=True); sys.stdin.read(); print('x' * 1_000_000); sys.exit(9)"
    process, recorder = await start(*python(source))
    await recorder.received(1)
    process.pause_receiving()
    await process.aclose()
    assert recorder.reason
    assert recorder.reason.exit_code == 9
    assert recorder.frames == [b"{}"]


async def refusal(*command: str, **options: Any) -> str:
    with pytest.raises(ConnectionClosed) as caught:
        await ProcessTransport(command, **options).open(Recorder())
    return str(caught.value)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, int], str]:
    def write(text: str, mode: int) -> str:
        path = tmp_path / "script"
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    return write


async def test_a_command_that_cannot_be_started_says_what_to_do(tmp_path: Path, script: Callable[[str, int], str]):
    runnable = stat.S_IRUSR | stat.S_IXUSR
    assert "command not found on PATH; install it" in await refusal("no-such-program")
    assert "command not found on PATH" in await refusal("sh", env={"PATH": str(tmp_path)})
    (tmp_path / "agent.py").touch()
    assert "with its interpreter, such as `python agent.py`" in await refusal("agent.py", cwd=tmp_path)
    assert "no such file; check the path" in await refusal("./no-such-file")
    assert "create it or use another cwd" in await refusal("cat", cwd=tmp_path / "missing")
    assert "interpreter not found; check the first line" in await refusal(script("#!/no/such/shell\n", runnable))
    assert "a first line such as #!/bin/sh" in await refusal(script("no first line\n", runnable))
    assert "NUL" in await refusal("cat", "a\0b")
    assert "not executable; run chmod +x" in await refusal(str(tmp_path))


async def test_a_relative_program_is_looked_for_in_the_commands_directory(start: Start, tmp_path: Path):
    (tmp_path / "agent").write_text("#!/bin/sh\necho '{}'\n")
    (tmp_path / "agent").chmod(0o700)
    _, recorder = await start("./agent", cwd=tmp_path)
    assert await recorder.received(1) == [b"{}"]


@pytest.mark.parametrize("command", ["python agent.py", []])
def test_a_command_is_a_list(command: Any):
    with pytest.raises(TypeError, match="shlex"):
        ProcessTransport(command)


async def test_closed_before_it_is_opened_it_starts_nothing():
    process = ProcessTransport(["cat"])
    with pytest.raises(ConnectionClosed):
        process.send(b"{}")
    await process.aclose()
    with pytest.raises(ConnectionClosed):
        await process.open(Recorder())


class DeafChild:
    """Ends only when it is killed."""

    def __init__(self, process: Any) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int | None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()
        self.heard: list[tuple[str, float]] = []
        process._writer = self

    def finish(self) -> None:
        self.note("end of input")

    def terminate(self) -> None:
        self.note("terminate")

    def kill(self) -> None:
        self.note("kill")
        self.gone.set_result(None)

    def note(self, what: str) -> None:
        self.heard.append((what, asyncio.get_running_loop().time()))


@pytest.mark.parametrize(
    ("options", "times"),
    [({}, [0, 2, 4]), ({"close_grace": 5.0}, [0, 5, 7]), ({"close_grace": 0.0, "terminate_grace": 9.0}, [0, 0, 9])],
    ids=str,
)
def test_a_command_that_hears_nothing_is_asked_and_then_killed_when_its_graces_are_over(
    options: dict[str, Any], times: list[float]
):
    async def main() -> None:
        for process in (ProcessTransport(["deaf"], **options), Command(["deaf"], **options).connect()):
            began = asyncio.get_running_loop().time()
            closing: Any = process
            child = DeafChild(closing)
            await closing._end(child)
            heard = [(what, at - began) for what, at in child.heard]
            assert heard == list(zip(["end of input", "terminate", "kill"], times, strict=True))

    run(main())


async def test_a_command_that_ends_with_its_input_is_left_the_time_to(start: Start, tmp_path: Path):
    source = "import sys; print('{}', flush=True); sys.stdin.read(); open(sys.argv[1], 'w').write('tidied')"
    process, recorder = await start(*python(source), str(tmp_path / "note"), close_grace=30.0)
    await recorder.received(1)
    await process.aclose()
    assert (tmp_path / "note").read_text() == "tidied"
    assert recorder.reason
    assert recorder.reason.exit_code == 0
