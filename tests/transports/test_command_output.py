from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from accord.errors import ConnectionClosed
from accord.transports import command_output as capture_module
from accord.transports.command_output import CapturedCommand, capture_command
from accord.transports.guard_program import descendants
from tests.transports.families import ANNOUNCE, DEAF_FAMILY, FAMILY, MEMBERS, is_alive, pids, wait_gone
from tests.virtual_clock import run

Start = Callable[..., Any]


class Heard:
    def __init__(self) -> None:
        self.bytes = bytearray()
        self._changed = asyncio.Event()

    def __call__(self, piece: bytes) -> None:
        self.bytes += piece
        self._changed.set()

    async def lines(self, count: int) -> list[bytes]:
        while self.bytes.count(b"\n") < count:
            self._changed.clear()
            await self._changed.wait()
        return bytes(self.bytes).splitlines()


@pytest.fixture(params=["guarded", "unguarded"])
async def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Starts a command in a shell and ends it after the test."""
    if request.param == "unguarded":
        monkeypatch.setattr(capture_module, "can_guard", lambda: False)
    started: list[CapturedCommand] = []

    async def start(script: str, **options: Any) -> tuple[CapturedCommand, Heard]:
        heard = Heard()
        options = {"env": os.environ, "cwd": "/", "terminate_grace": 10.0} | options
        capture = await capture_command(["sh", "-c", script], on_output=heard, **options)
        started.append(capture)
        return capture, heard

    yield start
    for capture in started:
        await capture.end()


async def test_all_that_was_written_is_heard_before_the_end_is_told(start: Start):
    capture, heard = await start("seq 100000; exit 3")
    assert await capture.ended == 3
    assert heard.bytes == b"".join(b"%d\n" % number for number in range(1, 100_001))


async def test_a_pause_stops_the_command_and_loses_nothing(start: Start):
    capture, heard = await start("seq 500000; exit 3")
    for _ in range(3):
        await heard.lines(heard.bytes.count(b"\n") + 1)
        capture.pause()
        before = len(heard.bytes)
        assert not (await asyncio.wait((capture.ended,), timeout=0.2))[0]
        assert len(heard.bytes) == before
        capture.resume()
    assert await capture.ended == 3
    assert heard.bytes == b"".join(b"%d\n" % number for number in range(1, 500_001))


async def test_its_end_is_told_when_what_it_wrote_was_heard_however_late(start: Start):
    capture, heard = await start("echo begin; read line; head -c 60000 /dev/zero")
    await heard.lines(1)
    capture.pause()
    await asyncio.wait((capture._child.exited,))
    done, _ = await asyncio.wait((capture.ended,), timeout=0.3)
    assert not done
    capture.resume()
    await capture.ended
    assert len(heard.bytes) == 6 + 60000


async def test_ending_it_ends_a_pause(start: Start):
    capture, heard = await start("echo begin; head -c 60000 /dev/zero; exec sleep 1000")
    await heard.lines(1)
    capture.pause()
    await capture.end()
    assert await capture.ended == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no guard that adopts orphans")
async def test_what_was_left_behind_does_not_put_off_the_end_however_much_it_writes():
    taken = 0

    def take(piece: bytes) -> None:
        nonlocal taken
        taken += len(piece)
        capture.pause()
        asyncio.get_running_loop().call_soon(capture.resume)

    capture = await capture_command(["sh", "-c", "yes & exit 5"], env=os.environ, cwd="/", on_output=take)
    assert await capture.ended == 5
    await capture.end()
    assert taken


async def test_both_streams_are_heard_in_the_order_they_were_written(start: Start):
    capture, heard = await start("for n in 1 2 3 4; do echo out $n; echo err $n >&2; done")
    await capture.ended
    assert heard.bytes == b"".join(b"out %d\nerr %d\n" % (n, n) for n in range(1, 5))


async def test_it_reads_from_the_null_device(start: Start):
    """FN-16: a child can't eat what is meant for somebody else, nor wait for it."""
    capture, heard = await start("readlink /proc/self/fd/0; cat; echo end")
    assert await capture.ended == 0
    assert heard.bytes == b"/dev/null\nend\n"


async def test_it_inherits_no_descriptor_but_its_three(start: Start):
    await start("exec sleep 1000")
    capture, heard = await start("exec ls /proc/self/fd")
    await capture.ended
    assert heard.bytes == b"0\n1\n2\n3\n"  # 3 is the directory that ls reads


async def test_ending_it_asks_first(start: Start):
    capture, heard = await start("trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.01; done")
    await heard.lines(1)
    await capture.end()
    assert await capture.ended == 5
    assert heard.bytes.endswith(b"asked\n")
    assert capture.is_gone


async def test_ending_it_does_not_wait_for_ever(start: Start):
    capture, heard = await start("trap '' TERM; echo ready; while :; do sleep 0.01; done", terminate_grace=0.1)
    await heard.lines(1)
    await capture.end()
    assert await capture.ended == -signal.SIGKILL


async def test_ending_is_safe_twice_from_any_task_and_after_the_end(start: Start):
    capture, _ = await start("exec sleep 1000")
    await asyncio.gather(capture.end(), asyncio.create_task(capture.end()))
    await capture.end()
    assert await capture.ended == -signal.SIGTERM


async def test_whoever_gives_up_waiting_for_the_end_does_not_stop_it(start: Start):
    capture, _ = await start("exec sleep 1000")
    ending = asyncio.create_task(capture.end())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert await capture.ended == -signal.SIGTERM


async def test_not_even_what_can_not_be_killed_is_waited_for(start: Start, monkeypatch: pytest.MonkeyPatch):
    """FN-73: every wait after a kill is bounded."""
    monkeypatch.setattr(capture_module, "_KILLED_SECONDS", 0.01)
    capture, _ = await start("exec sleep 1000", terminate_grace=0.01)
    child = capture._child
    with monkeypatch.context() as deaf:
        deaf.setattr(child, "terminate", lambda: None)
        deaf.setattr(child, "kill", lambda: None)
        await capture.end()
    assert await capture.ended is None
    child.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is ended")
@pytest.mark.parametrize("family", [FAMILY, DEAF_FAMILY])
async def test_ending_it_ends_the_whole_family(family: str):
    """FN-30: grandchildren in sessions of their own, forked twice, deaf to signals."""
    heard = Heard()
    capture = await capture_command(
        ["sh", "-c", family + "while :; do sleep 1000; done"],
        env=os.environ,
        cwd="/",
        on_output=heard,
        terminate_grace=0.1,
    )
    members = pids(await heard.lines(MEMBERS))
    await capture.end()
    assert not any(map(is_alive, members))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no guard that adopts orphans")
async def test_what_a_command_leaves_behind_is_heard_on_and_ended_later():
    heard = Heard()
    capture = await capture_command(
        ["sh", "-c", f"(trap 'echo late; exit' TERM; {ANNOUNCE}; while :; do sleep 0.01; done) & exit 7"],
        env=os.environ,
        cwd="/",
        on_output=heard,
    )
    assert await capture.ended == 7
    assert not capture.is_gone
    await heard.lines(1)
    await capture.end()
    assert capture.is_gone
    assert heard.bytes.endswith(b"late\n")


@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 8])
async def test_a_cancelled_start_leaves_nothing_running(ticks: int):
    before = set(descendants(os.getpid()))
    start = capture_command(["sleep", "1000"], env=os.environ, cwd="/", on_output=Heard(), terminate_grace=0.1)
    starting = asyncio.create_task(start)
    for _ in range(ticks):
        await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    while left := set(descendants(os.getpid())) - before:
        assert await asyncio.to_thread(wait_gone, *left)


async def test_a_command_that_cannot_be_started_says_why(tmp_path: Path):
    with pytest.raises(ConnectionClosed, match="command not found"):
        await capture_command(["no-such-program"], env=os.environ, cwd=str(tmp_path), on_output=Heard())
    script = tmp_path / "script"
    script.write_text("#!/no/such/shell\n")
    script.chmod(0o700)
    with pytest.raises(ConnectionClosed, match="interpreter"):
        await capture_command([str(script)], env=os.environ, cwd=str(tmp_path), on_output=Heard())


@pytest.mark.skipif(sys.platform != "linux", reason="others don't count it")
@pytest.mark.parametrize(("memory", "code"), [(0, 0), (256 * 2**20, 1)])
async def test_a_command_takes_no_more_memory_than_it_may(memory: int, code: int):
    heard = Heard()
    command = [sys.executable, "-c", "kept = bytearray(512 * 2**20)"]
    capture = await capture_command(command, env=os.environ, cwd="/", on_output=heard, memory=memory)
    assert await capture.ended == code
    assert (b"MemoryError" in heard.bytes) is bool(code)
    await capture.end()


class DeafChild:
    """Ends only when it is killed."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.stdout = -1
        self.exited: asyncio.Future[int | None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()
        self.heard: list[tuple[str, float]] = []

    def terminate(self) -> None:
        self.heard.append(("terminate", asyncio.get_running_loop().time()))

    def kill(self) -> None:
        self.heard.append(("kill", asyncio.get_running_loop().time()))
        self.exited.set_result(-9)
        self.gone.set_result(None)

    def release(self) -> None: ...


class Silence:
    def resume(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize(("options", "grace"), [({}, 2), ({"terminate_grace": 9.0}, 9)], ids=str)
def test_a_command_that_hears_nothing_is_killed_when_its_grace_is_over(
    options: dict[str, Any], grace: float, monkeypatch: pytest.MonkeyPatch
):
    children: list[DeafChild] = []

    async def begin(start: Any) -> DeafChild:
        children.append(DeafChild())
        return children[0]

    monkeypatch.setattr(capture_module, "start_guarded", begin)
    monkeypatch.setattr(capture_module, "start_unguarded", begin)
    monkeypatch.setattr(capture_module, "private_reader", lambda *arguments: Silence())

    async def main() -> None:
        capture = await capture_command(["sh"], env=os.environ, cwd="/", on_output=Heard(), **options)
        began = asyncio.get_running_loop().time()
        await capture.end()
        assert [(what, at - began) for what, at in children[0].heard] == [("terminate", 0), ("kill", grace)]
        assert await capture.ended == -9

    run(main())
