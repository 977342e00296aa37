from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from accord.peer import event_loop
from accord.peer.event_loop import is_strict
from tests.virtual_clock import VirtualClockLoop
from tests.virtual_clock import run as run_in_no_time

PROGRAM = """
import asyncio, os
from accord.peer.event_loop import run

os.close({descriptor})
run(asyncio.sleep(0))
os.fstat({descriptor})
"""


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_a_program_whose_standard_streams_are_closed_runs_and_ends(descriptor: int):
    """The loop must not take their numbers: uvloop ends the process when it closes one of them."""
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(descriptor=descriptor)], check=False)
    assert done.returncode == 0


def test_the_result_of_a_program_is_returned():
    code = "from accord.peer.event_loop import run\nasync def main(): return 7\nprint(run(main()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"7\n"


class Hanging:
    """A program of which nothing ends, in a loop whose time passes only while everything waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loop = VirtualClockLoop()
        self.steps: list[tuple[str, float]] = []
        self.kept: list[object] = []
        monkeypatch.setattr(event_loop, "_fastest_loop", lambda: lambda: self.loop)
        monkeypatch.setattr(event_loop.DaemonThreads, "wait", self.wait_for_threads)

    def wait_for_threads(self, seconds: float) -> bool:
        self.loop.now += seconds
        return False

    def note(self, step: str) -> None:
        self.steps.append((step, self.loop.now))

    async def hang(self, step: str) -> None:
        self.note(step)
        for _ in range(10):  # hours
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.note(f"{step} cancelled")

    async def numbers(self) -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await self.hang("generator")

    async def work(self) -> None:
        numbers = self.numbers()
        self.kept.append(numbers)
        await anext(numbers)
        await self.hang("work")

    async def main(self, over: asyncio.Event) -> None:
        self.kept.append(asyncio.current_task())
        await event_loop.run_until(over, self.work, lambda: self.hang("close"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what is left behind is never awaited
def test_a_program_of_which_nothing_ends_has_ended_after_five_seconds(monkeypatch: pytest.MonkeyPatch):
    hanging = Hanging(monkeypatch)
    over = asyncio.Event()
    over.set()
    event_loop.run(hanging.main(over))
    assert [step for step, _ in hanging.steps[:2]] == ["work", "close"]
    assert {step for step, _ in hanging.steps[2:4]} == {"work cancelled", "close cancelled"}  # in any order
    assert [step for step, _ in hanging.steps[4:]] == ["generator"]
    assert [time for _, time in hanging.steps] == pytest.approx([0, 3.0, 3.5, 3.5, 3.9])
    assert hanging.loop.now < 5


def test_what_ends_in_time_is_neither_cancelled_nor_waited_for():
    steps: list[tuple[str, float]] = []

    async def step(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        steps.append((name, asyncio.get_running_loop().time()))

    async def main() -> None:
        over = asyncio.Event()
        over.set()
        await event_loop.run_until(over, lambda: step("work", 2.5), lambda: step("close", 0.9))

    run_in_no_time(main())
    assert steps == [("work", 2.5), ("close", 3.4)]


def test_work_that_goes_on_is_not_hurried_before_its_input_is_over():
    async def main() -> float:
        over = asyncio.Event()
        asyncio.get_running_loop().call_later(1000, over.set)
        await event_loop.run_until(over, lambda: asyncio.sleep(1002), lambda: asyncio.sleep(1))
        return asyncio.get_running_loop().time()

    assert run_in_no_time(main()) == 1003


def test_what_the_work_or_the_closing_raises_is_raised():
    async def fail() -> None:
        raise ValueError("broken")

    async def main(*steps: Callable[[], Coroutine[Any, Any, None]]) -> None:
        await event_loop.run_until(asyncio.Event(), *steps)

    for work, close in ((fail, lambda: asyncio.sleep(0)), (lambda: asyncio.sleep(0), fail)):
        with pytest.raises(ValueError, match="broken"):
            run_in_no_time(main(work, close))


ENDING = """
import sys, threading
from accord.peer.event_loop import end_process

end_process({seconds}, 7)
{meanwhile}
"""


def status_of(seconds: float, meanwhile: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", ENDING.format(seconds=seconds, meanwhile=meanwhile)], check=False
    ).returncode


@pytest.mark.parametrize(
    "meanwhile",
    [
        "threading.Event().wait()",
        "threading.Thread(target=threading.Event().wait).start()",  # the interpreter waits for it at its end
    ],
    ids=["main", "thread"],
)
def test_a_process_that_hangs_is_ended_with_the_status_it_was_given(meanwhile: str):
    assert status_of(0.01, meanwhile) == 7


def test_a_process_that_ends_by_itself_is_not_kept_for_that():
    assert status_of(3600, "sys.exit(3)") == 3


@pytest.mark.parametrize(("value", "strict"), [(None, False), ("", False), ("0", False), ("1", True)])
@pytest.mark.requirement("COMPAT-12")
def test_strict_reading_is_asked_for_by_the_environment(
    value: str | None, strict: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("ACCORD_STRICT", raising=False)
    if value is not None:
        monkeypatch.setenv("ACCORD_STRICT", value)
    assert is_strict() is strict
