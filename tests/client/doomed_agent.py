"""An agent with a journal on the disk that kills itself with SIGKILL at a given step; started by `test_killed`.

A step is a statement of the journal, or a frame received or sent. They are counted from the prompt on.
"""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import sys
from typing import Any

from accord import Agent, Turn
from accord.store import SqliteStore

path, last_step = sys.argv[1], int(sys.argv[2])
steps = itertools.count()
is_counting = False


def step(*_: object) -> None:
    if is_counting and next(steps) == last_step:
        os.kill(os.getpid(), signal.SIGKILL)


def on_frame(direction: str, frame: bytes) -> None:
    global is_counting  # noqa: PLW0603
    is_counting = is_counting or (direction == "received" and b'"session/prompt"' in frame)
    step()


def watched(*args: Any, **options: Any) -> sqlite3.Connection:
    connection = connect(*args, **options)
    connection.set_trace_callback(step)
    return connection


connect, sqlite3.connect = sqlite3.connect, watched
agent = Agent("doomed", store=SqliteStore(path), merge_seconds=0.0, on_frame=on_frame)


@agent.prompt
async def work(turn: Turn) -> None:
    await turn.say("Let me see. ")
    async with turn.tool_call("Write notes.md", kind="edit") as call:
        if await turn.allowed(call):
            await call.diff("notes.md", None, "milk\n")
    await turn.set_title("Milk")
    for word in ("It ", "is ", "done."):
        await turn.say(word)


agent.run()
