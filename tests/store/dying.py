"""Writes sessions and is killed; started by `test_killed`, which then looks at what is left.

It makes a child for each death, and prints a line of JSON for each: what the child had acknowledged, what it had
appended, and whether it died of it. It forks since it has everything imported and only one thread.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import sqlite3
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from accord.store import SessionRecord, SqliteStore
from tests.store.telling import claimed, said

Acknowledge = Callable[[int], None]
ROUNDS, EACH = 3, 3


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def tell(path: Path, window: float, acknowledge: Acknowledge, rounds: int = ROUNDS) -> None:
    """Say numbers one after the other, and acknowledge how many of them were committed."""
    count = 0
    async with SqliteStore(path, window=window) as store:
        await store.create(SessionRecord("s", "/repo"))
        acknowledge(0)
        for _ in range(rounds):
            for _ in range(EACH):
                store.append(await claimed(store), said(f"{count} ", id=f"m{count}"))
                count += 1
            await store.commit(await claimed(store))
            acknowledge(count)
        await store.fork("s", SessionRecord("f", "/repo"))
        await store.delete("f")


def watch(step: Callable[[], None], every_instruction: bool) -> None:
    """Have `step` called before every statement, or before every instruction of every statement."""
    connect = sqlite3.connect

    def watched(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        if every_instruction:
            connection.set_progress_handler(step, 1)
        else:
            connection.set_trace_callback(lambda _: step())
        return connection

    sqlite3.connect = watched


def die_at(number: int) -> Callable[[], None]:
    steps = itertools.count()

    def step() -> None:
        if next(steps) == number:
            die()

    return step


def child(live: Callable[[Acknowledge], None]) -> tuple[int, int]:
    """Start one; its process id, and where its acknowledgements can be read."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)

        def acknowledge(count: int) -> None:
            os.write(writing, struct.pack("i", count))

        live(acknowledge)
        os._exit(0)
    os.close(writing)
    return process, reading


def acknowledgements(reading: int) -> Iterator[int]:
    while len(number := os.read(reading, 4)) == 4:
        yield struct.unpack("i", number)[0]
    os.close(reading)


def told(path: Path, acknowledged: int, process: int) -> bool:
    _, status = os.waitpid(process, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or os.WEXITSTATUS(status) == 0
    sys.stdout.buffer.write(msgspec.json.encode({"path": str(path), "acknowledged": acknowledged}) + b"\n")
    sys.stdout.buffer.flush()  # or the next child would have it too
    return killed


def at_steps(folder: Path, every_instruction: bool, stride: int) -> None:
    """A child for every step that it could die before, until one has nothing left to die of."""
    for number in itertools.count(0, stride):
        path = folder / f"{number}.db"

        def live(acknowledge: Acknowledge, path: Path = path, number: int = number) -> None:
            watch(die_at(number), every_instruction)
            asyncio.run(tell(path, 3600, acknowledge))

        process, reading = child(live)
        acknowledged = max(acknowledgements(reading), default=-1)
        if not told(path, acknowledged, process):
            return


def at_any_moment(folder: Path, seed: int) -> None:
    """Children that never stop, killed from outside after some acknowledgement."""
    chance = random.Random(seed)
    for number in range(12):
        path = folder / f"{number}.db"

        def live(acknowledge: Acknowledge, path: Path = path, window: float = chance.choice([0, 3600])) -> None:
            asyncio.run(tell(path, window, acknowledge, rounds=1_000_000))

        process, reading = child(live)
        before = max(itertools.islice(acknowledgements(reading), chance.randrange(1, 40)))
        os.kill(process, signal.SIGKILL)
        # What was acknowledged before the signal arrived counts as well.
        told(path, max(acknowledgements(reading), default=before), process)


if __name__ == "__main__":
    place, mode = Path(sys.argv[1]), sys.argv[2]
    if mode == "any moment":
        at_any_moment(place, int(sys.argv[3]))
    else:
        at_steps(place, mode == "instructions", int(sys.argv[3]))
