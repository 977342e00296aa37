"""What the guard promises, proved on Linux: nothing that a command started outlives the connection, or us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from accord.errors import ConnectionClosed
from accord.transports import guarded_spawn
from accord.transports.guard_program import descendants
from accord.transports.process_transport import ProcessTransport
from tests.transports.families import DEAF_FAMILY, FAMILY, MEMBERS, is_alive, parent, pids, wait_gone
from tests.transports.recorder import Recorder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is ended")

ROOT = Path(__file__).parents[2]
STARTER = "tests.transports.starter_program"


async def family(
    script: str, close_grace: float = 0.0, terminate_grace: float = 10.0
) -> tuple[ProcessTransport, Recorder]:
    process = ProcessTransport(["sh", "-c", script], close_grace=close_grace, terminate_grace=terminate_grace)
    recorder = Recorder()
    await process.open(recorder)
    await recorder.received(MEMBERS)
    return process, recorder


async def test_closing_ends_the_whole_family():
    """FN-30: grandchildren behind a shell, in sessions of their own, and forked twice."""
    process, recorder = await family(FAMILY + "cat", close_grace=10.0)
    members = pids(recorder.frames)
    assert all(map(is_alive, members))
    await process.aclose()
    assert not any(map(is_alive, members))
    assert recorder.reason
    assert recorder.reason.exit_code == 0


async def test_a_family_that_is_deaf_to_end_of_input_and_signals_is_killed():
    """FN-100: the ladder's last step."""
    process, recorder = await family(DEAF_FAMILY + "while :; do sleep 1000; done", terminate_grace=0.1)
    members = pids(recorder.frames)
    await process.aclose()
    assert not any(map(is_alive, members))
    assert recorder.reason
    assert recorder.reason.exit_code == -signal.SIGKILL


async def test_what_is_forked_during_the_kill_is_killed_too():
    fork_on = "trap '' TERM; while :; do sleep 0.001; sleep 0.001 & done"
    process, recorder = await family(f"{FAMILY} sh -c {fork_on!r} & setsid sh -c {fork_on!r} & {fork_on}", 0.0, 0.1)
    guard = parent(pids(recorder.frames)[0])
    await process.aclose()
    assert not is_alive(guard)
    assert not any(map(is_alive, pids(recorder.frames)))


async def test_what_a_dead_command_leaves_behind_is_ended_on_closing():
    process, recorder = await family(FAMILY + "exit 5")
    members = pids(recorder.frames)
    assert (await recorder.lost()).exit_code == 5
    await process.aclose()
    assert not any(map(is_alive, members))


@pytest.mark.parametrize("shares", [[], ["fork"]])
def test_killing_us_ends_the_family(shares: list[str]):
    """FN-30: `kill -9` of the process that started it, also while a fork of that process lives on."""
    starter = subprocess.Popen([sys.executable, "-m", STARTER, *shares], stdout=subprocess.PIPE, cwd=ROOT)
    assert starter.stdout
    with starter, starter.stdout:
        lines = [starter.stdout.readline() for _ in range(MEMBERS + len(shares))]
        everybody = pids(lines)
        sharers = [pid for pid in everybody if parent(pid) == starter.pid]
        members = [pid for pid in everybody if pid not in sharers]
        assert len(sharers) == len(shares)
        guard = parent(members[0])
        starter.kill()
        starter.wait()
        assert wait_gone(*members, guard)
        for pid in sharers:
            assert is_alive(pid)
            os.kill(pid, signal.SIGKILL)


async def test_a_guard_that_is_told_to_end_ends_its_family_first():
    process, recorder = await family(FAMILY + "exec sleep 1000")
    members = pids(recorder.frames)
    os.kill(parent(members[0]), signal.SIGTERM)
    assert (await recorder.lost()).exit_code == -signal.SIGTERM
    assert await asyncio.to_thread(wait_gone, *members)
    await process.aclose()


async def test_a_guard_that_is_killed_takes_the_command_with_it():
    process, recorder = await family(FAMILY + "exec sleep 1000")
    members = pids(recorder.frames)
    os.kill(parent(members[0]), signal.SIGKILL)
    assert await asyncio.to_thread(wait_gone, members[0])
    for pid in members[1:]:  # those in sessions of their own are out of our reach without a guard
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert (await recorder.lost()).exit_code is None
    await process.aclose()


@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 8])
async def test_a_cancelled_open_leaves_nothing_running(ticks: int):
    before = set(descendants(os.getpid()))
    opening = asyncio.create_task(ProcessTransport(["sleep", "1000"], terminate_grace=0.1).open(Recorder()))
    for _ in range(ticks):
        await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    while left := set(descendants(os.getpid())) - before:
        assert await asyncio.to_thread(wait_gone, *left)


async def test_closing_while_it_is_opened_leaves_nothing_running():
    before = set(descendants(os.getpid()))
    process, recorder = ProcessTransport(["sleep", "1000"], terminate_grace=0.1), Recorder()
    opening = asyncio.create_task(process.open(recorder))
    await asyncio.sleep(0)
    await process.aclose()
    with pytest.raises(ConnectionClosed):
        await opening
    assert recorder.calls == []
    while left := set(descendants(os.getpid())) - before:
        assert await asyncio.to_thread(wait_gone, *left)


async def test_a_guard_that_cannot_run_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    broken = tmp_path / "guard_program.py"
    broken.write_text("raise SystemExit('no guard today')")
    monkeypatch.setattr(guarded_spawn, "_GUARD", broken)
    with pytest.raises(ConnectionClosed, match="no guard today"):
        await ProcessTransport(["cat"]).open(Recorder())


async def test_a_request_larger_than_a_sockets_buffer_arrives_whole():
    env = {f"NAME{number}": "x" * 100_000 for number in range(10)} | {"PATH": os.defpath}
    recorder = Recorder()
    process = ProcessTransport(["sh", "-c", "env | wc -c"], env=env)
    await process.open(recorder)
    (size,) = await recorder.received(1)
    assert int(size) > 1_000_000
    await process.aclose()
