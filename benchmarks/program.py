"""What the client programs have in common: their command line, the works they can be asked for, what they report.

A client program starts its agent program with its own library, does one work and prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any, Protocol

from benchmarks.payloads import characters_of
from benchmarks.processes import cpu_seconds, peak_memory

__all__ = ["Connected", "Options", "WholeClient", "measure", "measure_whole", "read_options", "report"]


TOOL_EVERY = 10
"""Which updates of a mixed turn are those of a tool call."""


@dataclass(frozen=True)
class Options:
    work: str
    count: int
    size: int
    agent: str
    uvloop: bool
    frame_cap: int | None

    @property
    def agent_command(self) -> list[str]:
        command = [sys.executable, "-m", f"benchmarks.{self.agent}"]
        return [*command, "--uvloop"] if self.uvloop else command


class Connected(Protocol):
    """A client that has a session with its agent, whose process id the agent told in `agentInfo.version`."""

    agent_pid: int

    async def prompt(self, count: int, size: int) -> int:
        """Take one turn of `count` updates and return the characters received."""
        ...

    async def set_mode(self) -> None: ...

    async def in_flight(self, count: int) -> None:
        """Ask `count` times for a mode without waiting, then wait for all answers."""
        ...


class WholeClient(Connected, Protocol):
    """A client that can do more than the floors: turns with tool calls in them, and sessions one after the other."""

    async def prompt(self, count: int, size: int, tool_every: int = 0) -> int: ...

    async def new_session(self) -> None: ...


def read_options(default_agent: str) -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "work", choices=["turn", "mixed-turn", "sessions", "round-trips", "in-flight", "stalled", "stored-turn", "load"]
    )
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--size", type=int, default=12)
    parser.add_argument("--agent", default=default_agent)
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--pin", action="store_true", help="keep this process and its agent on one CPU")
    parser.add_argument("--frame-cap", type=int, default=None)
    given = parser.parse_args()
    if given.pin:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return Options(given.work, given.count, given.size, given.agent, given.uvloop, given.frame_cap)


async def measure(options: Options, connected: Connected, stall: Callable[[], None] | None = None) -> dict[str, float]:
    """Do the work that was asked for, after a small one that warms both processes up.

    `stall` makes the client leave the updates that arrive from then on untaken.
    """
    for _ in range(10):
        await connected.set_mode()
    match options.work:
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
    """As `measure`, with the works that only a whole client can do."""
    match options.work:
        case "mixed-turn":
            await connected.prompt(20, 12, TOOL_EVERY)
            return await _turn(options, connected, TOOL_EVERY)
        case "sessions":
            return await _sessions(options, connected)
        case _:
            return await measure(options, connected, stall)


async def _sessions(options: Options, connected: WholeClient) -> dict[str, float]:
    for _ in range(10):
        await connected.new_session()
    pids = (os.getpid(), connected.agent_pid)
    cpu = sum(map(cpu_seconds, pids))
    for _ in range(options.count):
        await connected.new_session()
    return {"cpu_seconds": (sum(map(cpu_seconds, pids)) - cpu) / options.count}


async def _turn(options: Options, connected: Any, tool_every: int = 0) -> dict[str, float]:
    pids = (os.getpid(), connected.agent_pid)
    cpu = sum(map(cpu_seconds, pids))
    started = perf_counter()
    mixed = (tool_every,) if tool_every else ()
    received = await connected.prompt(options.count, options.size, *mixed)
    seconds = perf_counter() - started
    cpu = sum(map(cpu_seconds, pids)) - cpu
    if received != (expected := characters_of(options.count, options.size, tool_every)):
        raise RuntimeError(f"{received} characters came instead of {expected}")
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_bytes": sum(map(peak_memory, pids))}


async def _round_trips(options: Options, connected: Connected) -> dict[str, float]:
    laps: list[int] = []
    for _ in range(options.count):
        started = perf_counter_ns()
        await connected.set_mode()
        laps.append(perf_counter_ns() - started)
    return {"seconds": median(laps) / 1e9}


async def _in_flight(options: Options, connected: Connected) -> dict[str, float]:
    laps: list[float] = []
    for _ in range(5):
        started = perf_counter()
        await connected.in_flight(options.count)
        laps.append(perf_counter() - started)
    return {"seconds": median(laps)}


def report(readings: dict[str, float]) -> None:
    print(json.dumps(readings), flush=True)
