"""The screen under load: 10,000 chunks and 1,000 tool calls stream in while somebody types. Prints JSON.

`longest_frame_ms` is the longest time in which the event loop could not have taken a key, `longest_frame_cpu_ms` how
much of such a time was our own work and not another program's; `key_ms` is the longest from a key to its letter in the
prompt. `python benchmarks/screen.py [chunks] [tool calls]`
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from textual.events import Key

from accord import Agent, Turn
from accord.apps.console.screen.app import Console
from accord.apps.console.screen.collecting import keep_collector_calm
from accord.apps.console.screen.opening import Opening
from accord.session.entities import Diff, FileChange

OLD = "".join(f"value_{number} = {number}\n" for number in range(30))


def talker(chunks: int, calls: int) -> Agent:
    """Says so much and does so much, as fast as it is read."""
    agent = Agent("talker", version="1")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        for number in range(calls):
            for _ in range(chunks // calls):
                await turn.say(f"word {number} of **many**, ")
            await turn.say(
                "and so on.\n\n" if number % 10 else "\n\n```python\nfor x in range(3):\n    print(x)\n```\n\n"
            )
            async with turn.tool_call(f"Edit file {number}", kind="edit") as call:
                new = OLD.replace(f"= {number % 30}\n", "= 0\n")
                path = str(turn.cwd / f"file{number}.py")
                await call.show(Diff(changes=[FileChange(operation="modify", path=path, old_text=OLD, new_text=new)]))
            await asyncio.sleep(0)

    return agent


class Watch:
    """How long the loop was busy at a time."""

    def __init__(self) -> None:
        self.longest = self.longest_cpu = 0.0
        self._last = self._last_cpu = 0.0
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._last, self._last_cpu = time.perf_counter(), time.thread_time()
        self._task = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.001)
            now, cpu = time.perf_counter(), time.thread_time()
            self.longest = max(self.longest, now - self._last - 0.001)
            self.longest_cpu = max(self.longest_cpu, cpu - self._last_cpu)
            self._last, self._last_cpu = now, cpu

    def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()


async def measure(chunks: int, calls: int) -> dict[str, Any]:
    app = Console(Opening(target=talker(chunks, calls), name="talker", cwd=Path.cwd(), theme="accord-dark"))
    keep_collector_calm()
    watch, slowest_key = Watch(), 0.0
    async with app.run_test(size=(120, 40)):
        while not app.talk.is_open:  # noqa: ASYNC110  # nothing tells it
            await asyncio.sleep(0.01)
        watch.begin()
        app.talk.send("Go")  # not by a key: the pilot would wait until all is quiet again
        begin = time.perf_counter()
        typed = 0
        while app.talk.is_busy:
            pressed = time.perf_counter()
            app.post_message(Key("x", "x"))
            typed += 1
            while len(app.prompt.text) < typed:  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.001)
            slowest_key = max(slowest_key, time.perf_counter() - pressed)
            await asyncio.sleep(0.02)
        seconds = time.perf_counter() - begin
        for step in (-1, -1, 1, -1, 1, 1):
            for _ in range(5):
                app.action_page(step)
                await asyncio.sleep(0.02)
        watch.stop()
        blocks = len(app.talk.story.blocks)
    return {
        "chunks": chunks,
        "tool_calls": calls,
        "blocks": blocks,
        "seconds": round(seconds, 2),
        "longest_frame_ms": round(1000 * watch.longest, 1),
        "longest_frame_cpu_ms": round(1000 * watch.longest_cpu, 1),
        "key_ms": round(1000 * slowest_key, 1),
    }


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:]]
    print(json.dumps(asyncio.run(measure(*(sizes or [10_000, 1_000])))))
