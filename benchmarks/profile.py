"""Profiles of single operations: instructions per layer on both ends of the connection.

The instructions are counted by callgrind, in two runs that differ in how often they do the operation; the difference
is what one costs, without the start. Counting needs Python 3.12 or newer and makes each call of a Python function
more expensive. Two more runs without trampolines show by how much, and that is subtracted per call, half of it from
the caller. Times come from a run without valgrind. Instructions in the kernel are not counted: its CPU time is a row.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.callgrind import Counts, read_counts, remove_empty_maps, valgrind_command
from benchmarks.child_processes import ROOT, environment, run_program
from benchmarks.cpus import Cpus
from benchmarks.experiments.stored_sessions import stored_session
from benchmarks.layers import LAYERS, REST, layer_of
from benchmarks.results import number, write_section

__all__ = ["PROFILES", "Profile", "ProfileFailed", "profile"]

ROLES = ("client", "agent")
_EVENTS = {
    "loop iterations": ("BaseEventLoop._run_once:",),
    "tasks created": ("_asyncio_Task___init__:",),
    "task steps": ("task_step_impl:",),
    "epoll_wait": ("epoll_wait:", "epoll_pwait:"),
    "read": ("read:libc", "recv:libc"),
    "write": ("write:libc", "writev:libc", "send:libc"),
}
_SHOWN_FUNCTIONS = 30


class ProfileFailed(Exception):  # noqa: N818  # exceptions are facts
    """The profile can't be made; the message says what is missing."""


@dataclass(frozen=True)
class Profile:
    """An operation, and how a client program is told how often to do it."""

    title: str
    unit: str
    program: str
    arguments: Callable[[int], list[str]]
    """The program's arguments for so many operations."""
    counted: tuple[int, int]
    """How many operations the two runs under valgrind do."""
    timed: int
    readings_of: int
    """The readings of the run without valgrind are for so many operations."""
    cpus: Cpus = Cpus.TWO


def _remote_round_trips(transport: str, count: int) -> list[str]:
    return ["round-trips", f"--count={count}", f"--transport={transport}"]


def _in_flight(count: int) -> list[str]:
    return ["in-flight", "--count=1000", f"--laps={count // 1000}"]


def _load(count: int) -> list[str]:
    return ["load", f"--count={count}", f"--store={stored_session(count)}"]


PROFILES = {
    "round-trip": Profile(
        "One round trip, standard event loop",
        "round trip",
        "accord_client",
        lambda count: ["round-trips", f"--count={count}"],
        (100, 1_100),
        10_000,
        1,
        Cpus.ONE,
    ),
    "round-trip-uvloop": Profile(
        "One round trip, uvloop",
        "round trip",
        "accord_client",
        lambda count: ["round-trips", f"--count={count}", "--uvloop"],
        (100, 1_100),
        10_000,
        1,
        Cpus.ONE,
    ),
    **{
        f"{transport.lower()}-round-trip": Profile(
            f"One round trip over {transport}, standard event loop",
            "round trip",
            "accord_client",
            partial(_remote_round_trips, transport.lower()),
            (100, 1_100),
            5_000,
            1,
            Cpus.ONE,
        )
        for transport in ("HTTP", "WebSocket")
    },
    "in-flight": Profile(
        "1,000 requests in flight, per request", "request", "accord_client", _in_flight, (1_000, 5_000), 20_000, 1_000
    ),
    "updates": Profile(
        "Updates at the level of the peer, per update",
        "update",
        "accord_client",
        lambda count: ["turn", f"--count={count}"],
        (1_000, 5_000),
        50_000,
        50_000,
    ),
    "streaming": Profile(
        "Updates from Turn to Reply, a tenth of tool calls, per update",
        "update",
        "sdk_client",
        lambda count: ["mixed-turn", f"--count={count}"],
        (1_000, 5_000),
        50_000,
        50_000,
    ),
    "load": Profile(
        "Load of a stored session, per update", "update", "sdk_client", _load, (2_000, 12_000), 100_000, 100_000
    ),
}


def profile(names: list[str], *, page: Path | None) -> int:
    """Print the tables, and write them into the page."""
    try:
        python = _profiling_python()
        for name in names:
            made = PROFILES[name]
            counts = count_instructions(made, python)
            table = cost_table(made, counts, _times(made), _version_of(python))
            print(f"{table}\n\n{function_table(counts)}\n")
            if page is not None:
                write_section(f"profile {name}", table, page)
    except ProfileFailed as failed:
        print(failed, file=sys.stderr)
        return 2
    return 0


def _profiling_python() -> str:
    """An interpreter with trampolines and the packages: this one, or that of another environment beside it."""
    if shutil.which("valgrind") is None:
        raise ProfileFailed("command not found: valgrind")
    others = sorted(ROOT.glob(".venv-3.*/bin/python"), key=lambda path: _numbers(path.parts[-3]), reverse=True)
    for path in (sys.executable, *map(str, others)):
        check = "import sys, msgspec; sys.activate_stack_trampoline('perf')"
        if subprocess.run([path, "-c", check], capture_output=True, check=False).returncode == 0:
            return path
    raise ProfileFailed(
        "Counting instructions per function needs Python 3.12 or newer. Make an environment with one:\n"
        "    make install VENV=.venv-3.13 PYTHON=python3.13"
    )


def _numbers(name: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", name)]


def _version_of(python: str) -> str:
    code = "import platform; print(platform.python_version())"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def count_instructions(made: Profile, python: str) -> dict[str, Counts]:
    """The instructions of one operation, by role."""
    few, many = made.counted
    _compile_modules(made, python)
    with ExitStack() as stack:
        runs = {
            (count, trampolines): _Run(stack, made, count, python, trampolines)
            for trampolines in (True, False)
            for count in (few, many)
        }
        results = {key: run.counts() for key, run in runs.items()}
    units = many - few
    return {
        role: without_trampolines(
            results[many, True][role].per_unit(results[few, True][role], units),
            (results[many, False][role].total - results[few, False][role].total) / units,
        )
        for role in ROLES
    }


def _compile_modules(made: Profile, python: str) -> None:
    """Run the program once, so that no counted run compiles what another finds compiled."""
    command = [python, "-m", f"benchmarks.programs.{made.program}", *made.arguments(made.counted[0])]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProfileFailed(f"{made.program} failed on {python}: {done.stderr.strip()}")


class _Run:
    """A client program and its agent under valgrind."""

    def __init__(self, stack: ExitStack, made: Profile, count: int, python: str, trampolines: bool) -> None:
        self._directory = Path(stack.enter_context(TemporaryDirectory(prefix="accord-profile-")))
        command = [python, "-m", f"benchmarks.programs.{made.program}", *made.arguments(count)]
        variables = {**environment(), "PYTHONHASHSEED": "0", "PYTHONPERFSUPPORT": "1" if trampolines else "0"}
        self._process = stack.enter_context(
            subprocess.Popen(
                [*valgrind_command(self._directory), *command],
                cwd=ROOT,
                env=variables,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        )
        stack.callback(self._process.kill)

    def counts(self) -> dict[str, Counts]:
        _, errors = self._process.communicate()
        remove_empty_maps()
        if self._process.returncode:
            raise ProfileFailed(errors.decode(errors="replace").strip() or "valgrind failed without a message")
        found: dict[str, Counts] = {}
        for path in self._directory.glob("counts.*"):
            counts = read_counts(path)
            program = re.search(r"programs\.[a-z]+_(client|agent)\b", counts.command)
            # Of two agents, the one without a store only warms the client up.
            if program and (program[1] not in found or "--store=" in counts.command):
                found[program[1]] = counts
        if found.keys() != set(ROLES):
            raise ProfileFailed(f"valgrind counted only {sorted(found)} of {sorted(ROLES)}")
        return found


def without_trampolines(counts: Counts, plain_total: float) -> Counts:
    """Subtract the cost of the trampolines, in proportion to calls; the sum is then that of the run without them.

    A trampoline makes both the caller and the callee more expensive, and only the callee if the caller is C code.
    """
    shares = [(function, count / 2) for pair, count in counts.callers.items() for function in pair if function]
    calls = sum(count for _, count in shares)
    per_call = (counts.total - plain_total) / calls if calls else 0.0
    for function, count in shares:
        counts.instructions[function] -= per_call * count
    return counts


@dataclass(frozen=True)
class Times:
    """Microseconds per operation: wall-clock, and CPU time of both ends."""

    wall: float
    user: float
    kernel: float


def _times(made: Profile) -> Times:
    arguments = made.arguments(made.timed)
    with made.cpus.pinned():
        readings = run_program(made.program, *arguments)
    scale = 1e6 / made.readings_of
    kernel = readings["system_seconds"] * scale
    return Times(readings["seconds"] * scale, readings["cpu_seconds"] * scale - kernel, kernel)


def by_layer(counts: Counts) -> dict[str, float]:
    layers: dict[str, float] = defaultdict(float)
    for function, instructions in counts.instructions.items():
        layers[layer_of(function)] += instructions
    return layers


def cost_table(made: Profile, counts: dict[str, Counts], times: Times, version: str) -> str:
    """The costs per layer in Markdown, with a sentence about how they were found and the number of wake-ups."""
    layers = {role: by_layer(counts[role]) for role in ROLES}
    total = sum(counts[role].total for role in ROLES)
    pinned = f"{'CPU' if made.cpus is Cpus.ONE else 'CPUs'} {made.cpus}"
    times_from = f"times measured on Python {platform.python_version()}, {pinned}, load {os.getloadavg()[0]:.1f}"
    lines = [
        f"**{made.title}**: instructions counted on Python {version}, {times_from}.",
        "",
        "| layer | client | agent | both | share | µs |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for layer in (*LAYERS, REST):
        client, agent = (layers[role].get(layer, 0.0) for role in ROLES)
        share = (client + agent) / total
        if abs(share) >= 0.0005:
            cells = [layer, f"{client:,.0f}", f"{agent:,.0f}", f"{client + agent:,.0f}", f"{share:.1%}"]
            lines.append(f"| {' | '.join(cells)} | {number(share * times.user)} |")
    client, agent = (f"{counts[role].total:,.0f}" for role in ROLES)
    lines.append(f"| all instructions | {client} | {agent} | {total:,.0f} | 100% | {number(times.user)} |")
    lines.append(f"| the kernel: system calls and switches | | | | | {number(times.kernel)} |")
    if made.cpus is Cpus.ONE:
        lines.append(f"| neither end runs | | | | | {number(max(0.0, times.wall - times.user - times.kernel))} |")
    lines.append(f"| wall-clock time of one {made.unit} | | | | | {number(times.wall)} |")
    lines += ["", "; ".join(f"{role}: {_events(counts[role])}" for role in ROLES) + f" per {made.unit}."]
    return "\n".join(lines)


def _events(counts: Counts) -> str:
    found = {
        event: sum(calls for name, calls in counts.calls.items() if name.startswith(prefixes))
        for event, prefixes in _EVENTS.items()
    }
    return ", ".join(f"{event} {calls:.3g}" for event, calls in found.items() if calls >= 0.0005)


def function_table(counts: dict[str, Counts]) -> str:
    """The most expensive functions, for whoever wants to make them cheaper."""
    rows = [
        (instructions, role, counts[role].calls.get(function, 0.0), function)
        for role in ROLES
        for function, instructions in counts[role].instructions.items()
    ]
    lines = ["| instructions | calls | end | function |", "|--:|--:|---|---|"]
    for instructions, role, calls, function in sorted(rows, reverse=True)[:_SHOWN_FUNCTIONS]:
        lines.append(f"| {instructions:,.0f} | {calls:.3g} | {role} | {_shortened(function)} |")
    return "\n".join(lines)


def _shortened(function: str) -> str:
    name, _, path = function.rpartition(":")
    for part in ("/src/", "/lib/python"):
        path = path.rpartition(part)[2]
    return f"{path}: {name}"
