"""The command line, the tasks and the report that all client programs share.

A client program starts its agent program with its own library, does one task and prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any, Protocol, Self

from benchmarks.processes import cpu_seconds, peak_memory, resident_memory, system_seconds
from benchmarks.programs.payloads import characters_of

__all__ = [
    "CLOSE_GRACE",
    "TOOL_EVERY",
    "Connected",
    "Meter",
    "Options",
    "WholeClient",
    "measure",
    "measure_whole",
    "read_options",
    "report",
]

TASKS = [
    "idle",
    "turn",
    "mixed-turn",
    "prompts",
    "sessions",
    "round-trips",
    "in-flight",
    "stalled",
    "stored-turn",
    "load",
]
CLOSE_GRACE = 600.0
"""Seconds for an agent to end by itself. It has as much time as valgrind takes to write its counts."""
TOOL_EVERY = 10
"""In a mixed turn, every tenth update is one of a tool call."""


@dataclass(frozen=True)
class Options:
    task: str
    count: int
    laps: int
    size: int
    agent: str
    uvloop: bool
    frame_cap: int | None
    store: Path | None
    transport: str | None

    @property
    def agent_command(self) -> list[str]:
        command = [sys.executable, "-m", f"benchmarks.programs.{self.agent}"]
        return [*command, "--uvloop"] if self.uvloop else command


class Connected(Protocol):
    """A client with a session. Its agent reports its process id in `agentInfo.version`."""

    agent_pid: int

    async def prompt(self, count: int, size: int) -> int:
        """Take one turn of `count` updates and return the number of characters received."""
        ...

    async def set_mode(self) -> None: ...

    async def in_flight(self, count: int) -> None:
        """Send `count` requests without waiting, then wait for all responses."""
        ...


class WholeClient(Connected, Protocol):
    """A client that can do more than the floors: turns with tool calls in them, and many sessions."""

    async def prompt(self, count: int, size: int, tool_every: int = 0) -> int: ...

    async def new_session(self) -> object:
        """Open one more session and return what keeps it open."""
        ...


class Meter:
    """Wall-clock and CPU time of some processes while a block runs."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self.readings: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._before = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        now = self._now()
        self.readings = {name: now[name] - before for name, before in self._before.items()}

    def _now(self) -> dict[str, float]:
        return {
            "system_seconds": sum(map(system_seconds, self._pids)),
            "cpu_seconds": sum(map(cpu_seconds, self._pids)),
            "seconds": perf_counter(),
        }


def read_options(default_agent: str) -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--laps", type=int, default=5, help="how many times `in-flight` sends its requests")
    parser.add_argument("--size", type=int, default=12, help="characters per update")
    parser.add_argument("--agent", default=default_agent)
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--frame-cap", type=int, default=None)
    parser.add_argument("--store", type=Path, default=None, help="the database of `stored-turn` and `load`")
    parser.add_argument(
        "--transport", choices=["http", "websocket"], help="reach the agent as a server; default: pipes"
    )
    return Options(**vars(parser.parse_args()))


async def measure(options: Options, connected: Connected, stall: Callable[[], None] | None = None) -> dict[str, float]:
    """Do the requested task, after a small one that warms both processes up.

    `stall` makes the client leave the updates that arrive from then on unread.
    """
    for _ in range(10):
        await connected.set_mode()
    match options.task:
        case "turn":
            await connected.prompt(10, 12)
            return await _turn(options, connected)
        case "round-trips":
            return await _round_trips(options, connected)
        case "in-flight":
            return await _in_flight(options, connected)
        case "stalled" if stall:
            await connected.prompt(10, 12)
            stall()
            print("ready", flush=True)
            await connected.prompt(options.count, options.size)
            return {}
        case other:
            raise ValueError(other)


async def measure_whole(
    options: Options, connected: WholeClient, stall: Callable[[], None] | None = None
) -> dict[str, float]:
    """`measure`, with the tasks that only a whole client can do."""
    match options.task:
        case "mixed-turn":
            await connected.prompt(20, 12, TOOL_EVERY)
            return await _turn(options, connected, TOOL_EVERY)
        case "prompts":
            return await _prompts(options, connected)
        case "sessions":
            return await _sessions(options, connected)
        case _:
            return await measure(options, connected, stall)


async def _turn(options: Options, connected: Any, tool_every: int = 0) -> dict[str, float]:
    pids = (os.getpid(), connected.agent_pid)
    arguments = (tool_every,) if tool_every else ()
    with Meter(*pids) as meter:
        received = await connected.prompt(options.count, options.size, *arguments)
    if received != (expected := characters_of(options.count, options.size, tool_every)):
        raise RuntimeError(f"received {received} characters instead of {expected}")
    return {**meter.readings, "peak_bytes": sum(map(peak_memory, pids))}


async def _prompts(options: Options, connected: WholeClient) -> dict[str, float]:
    """Many small turns in one session; the readings are per prompt."""
    for _ in range(10):
        await connected.prompt(1, options.size)
    with Meter(os.getpid(), connected.agent_pid) as meter:
        for _ in range(options.count):
            await connected.prompt(1, options.size)
    return _per_unit(meter, options.count)


async def _sessions(options: Options, connected: WholeClient) -> dict[str, float]:
    """Sessions that all stay open; the readings are per session."""
    pids = (os.getpid(), connected.agent_pid)
    sessions = [await connected.new_session() for _ in range(10)]
    resident = sum(map(resident_memory, pids))
    with Meter(*pids) as meter:
        sessions += [await connected.new_session() for _ in range(options.count)]
    growth = (sum(map(resident_memory, pids)) - resident) / options.count
    return {**_per_unit(meter, options.count), "bytes": growth}


def _per_unit(meter: Meter, count: int) -> dict[str, float]:
    return {name: value / count for name, value in meter.readings.items()}


async def _round_trips(options: Options, connected: Connected) -> dict[str, float]:
    """The readings are means, but for `median`."""
    laps: list[int] = []
    with Meter(os.getpid(), connected.agent_pid) as meter:
        for _ in range(options.count):
            started = perf_counter_ns()
            await connected.set_mode()
            laps.append(perf_counter_ns() - started)
    return {**_per_unit(meter, options.count), "median": median(laps) / 1e9}


async def _in_flight(options: Options, connected: Connected) -> dict[str, float]:
    """The readings are means of the laps, but for `median`."""
    laps: list[float] = []
    with Meter(os.getpid(), connected.agent_pid) as meter:
        for _ in range(options.laps):
            started = perf_counter()
            await connected.in_flight(options.count)
            laps.append(perf_counter() - started)
    return {**_per_unit(meter, options.laps), "median": median(laps)}


def report(readings: dict[str, float]) -> None:
    print(json.dumps(readings), flush=True)
