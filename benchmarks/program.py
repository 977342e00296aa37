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
from typing import Protocol

from benchmarks.processes import cpu_seconds, peak_memory

__all__ = ["Connected", "Options", "measure", "read_options", "report"]


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


def read_options(default_agent: str) -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=["turn", "round-trips", "in-flight", "stalled"])
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


async def _turn(options: Options, connected: Connected) -> dict[str, float]:
    pids = (os.getpid(), connected.agent_pid)
    cpu = sum(map(cpu_seconds, pids))
    started = perf_counter()
    received = await connected.prompt(options.count, options.size)
    seconds = perf_counter() - started
    cpu = sum(map(cpu_seconds, pids)) - cpu
    if received != options.count * options.size:
        raise RuntimeError(f"{received} characters came instead of {options.count * options.size}")
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
