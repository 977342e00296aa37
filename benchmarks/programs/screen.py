"""Measures the screen of an agent process while keys are pressed, and prints JSON.

`frame` is the longest time in which the event loop could not have handled a key, `key` the longest time from a key to its
letter in the prompt, both in seconds. `stream CHUNKS CALLS` measures while so many chunks and tool calls stream in,
`long LINES` in a session of so many lines: scrolling, other sizes, typing.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from textual.events import Key
from textual.pilot import Pilot

from accord import Command
from accord.apps.console.screen.app import ScreenApp
from accord.apps.console.screen.context import ScreenOptions
from accord.apps.console.talk_command import tune_garbage_collector
from benchmarks.programs.client_program import report

_TICK = 0.001


class Watch:
    """The longest time for which the event loop was busy."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._task = asyncio.create_task(self._tick())
        return self

    def __exit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()

    async def _tick(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(_TICK)
            now = time.perf_counter()
            self.longest = max(self.longest, now - last - _TICK)
            last = now


class Typist:
    """Presses keys; `longest` is the longest wait for a letter."""

    def __init__(self, app: ScreenApp) -> None:
        self.app = app
        self.longest = 0.0

    async def type_letter(self) -> None:
        wanted, pressed = len(self.app.prompt.text) + 1, time.perf_counter()
        self.app.post_message(Key("x", "x"))
        while len(self.app.prompt.text) < wanted:  # noqa: ASYNC110  # there is no event for it
            await asyncio.sleep(_TICK)
        self.longest = max(self.longest, time.perf_counter() - pressed)
        await asyncio.sleep(0.02)


async def stream(app: ScreenApp, order: str) -> dict[str, float]:
    typist = Typist(app)
    with Watch() as watch:
        app.tab.queue.send(order)  # not by a key: the pilot would wait until the turn has ended
        while app.tab.is_busy:
            await typist.type_letter()
        for step in (-1, -1, 1, -1, 1, 1):
            for _ in range(5):
                app.conversation.scroll_relative(y=step * app.conversation.size.height, animate=False)
                await asyncio.sleep(0.02)
    return {"frame": watch.longest, "key": typist.longest}


async def look_through(app: ScreenApp, pilot: Pilot[int], order: str) -> dict[str, float]:
    view, typist = app.conversation, Typist(app)
    app.tab.queue.send(order)
    while app.tab.is_busy:  # noqa: ASYNC110  # as above
        await asyncio.sleep(0.01)
    with Watch() as watch:
        for place in (0.0, 1.0, 0.5, 0.9, 0.0, 1.0):
            view.scroll_to(y=place * view.max_scroll_y, animate=False)
            await asyncio.sleep(0.1)
            await typist.type_letter()
        for width, height in ((80, 24), (200, 60), (120, 40)):
            await pilot.resize_terminal(width, height)
            await typist.type_letter()
            await asyncio.sleep(0.5)  # includes the layout that it does when idle
    return {"frame": watch.longest, "key": typist.longest}


async def measure(work: str, sizes: list[str]) -> dict[str, float]:
    with TemporaryDirectory() as cwd:
        command = Command([sys.executable, "-m", "benchmarks.programs.talker"])
        app = ScreenApp(ScreenOptions(target=command, name="talker", cwd=Path(cwd), theme="accord-dark"))
        tune_garbage_collector()
        async with app.run_test(size=(120, 40)) as pilot:
            while not app.tab.is_open:  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0.01)
            if work == "stream":
                return await stream(app, " ".join(["stream", *sizes]))
            return await look_through(app, pilot, " ".join(["lines", *sizes]))


if __name__ == "__main__":
    report(asyncio.run(measure(sys.argv[1], sys.argv[2:])))
