"""Instruction counts per Python function, from valgrind's callgrind.

CPython 3.12 and newer can run each Python function through a trampoline of its own (`-X perf`), which callgrind sees as
a function. The C functions are skipped, which adds their cost to the Python function that called them; only those of
`KEPT` stay apart. Counts don't depend on the load of the machine. The garbage collector is left out: it runs at
irregular moments, and one long collection costs as much as a hundred round trips.
"""

from __future__ import annotations

import os
import re
import string
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Counts", "read_counts", "remove_empty_maps", "valgrind_command"]

_MAPS = Path("/tmp")  # the folder in which perf expects them
_COLLECTOR = "gc_collect"
# Prefixes of C functions that are not skipped: tasks and futures, the garbage collector, system calls, uvloop, and the
# first functions of a process, without which callgrind fails.
KEPT = (
    *("Fut", "Task", "_asy", "fut", "task", "enter_task", "leave_task", "swap_c", "call_soon"),
    _COLLECTOR,
    *("epoll_", "read", "write", "recv", "send"),
    *("__pyx_", "uv_"),
    *("_start", "_dl_", "__libc_start"),
)
_OWN_OBJECTS = ("_asyncio.", "uvloop/")
_SYSTEM_CALLS = ("epoll_wait", "epoll_pwait", "read", "write", "writev", "recv", "send")
_FIRST = string.ascii_letters + "_"
_NEXT = _FIRST + string.digits + ".@:"


@dataclass
class Counts:
    """Instructions and calls of each function of one process, by `name:file` or, in C, `name:object`."""

    command: str = ""
    instructions: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    calls: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    callers: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict[tuple[str, str], float](float))
    """Calls of Python functions, by caller and callee. The caller is empty if it is C code."""

    @property
    def total(self) -> float:
        return sum(self.instructions.values())

    def per_unit(self, smaller: Counts, units: float) -> Counts:
        """The difference to a run that did `units` fewer, per unit."""
        result = Counts(self.command)
        for mine, theirs, target in (
            (self.instructions, smaller.instructions, result.instructions),
            (self.calls, smaller.calls, result.calls),
            (self.callers, smaller.callers, result.callers),
        ):
            for key in {*mine, *theirs}:
                target[key] = (mine.get(key, 0.0) - theirs.get(key, 0.0)) / units  # type: ignore[index]
        return result


def valgrind_command(directory: Path) -> list[str]:
    """The start of a command line; each process that it starts writes its counts into the directory."""
    skipped = [f"--fn-skip={pattern}" for pattern in _patterns_without(KEPT)]
    output = f"--callgrind-out-file={directory}/counts.%p"
    return ["valgrind", "--quiet", "--tool=callgrind", "--trace-children=yes", output, *skipped]


def _patterns_without(kept: Iterable[str], prefix: str = "") -> Iterator[str]:
    """Patterns for all names that don't start with one of these."""
    going_on = [name for name in kept if name.startswith(prefix)]
    if prefix in going_on:
        return
    if prefix:
        yield prefix
    for character in _NEXT if prefix else _FIRST:
        longer = prefix + character
        if any(name.startswith(longer) for name in going_on):
            yield from _patterns_without(going_on, longer)
        else:
            yield f"{longer}*"


@dataclass
class _Function:
    name: str
    object: str
    own: int = 0
    callees: dict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](lambda: [0, 0]))
    is_python: bool = False
    is_apart: bool = False
    """Python code, or C code whose cost is not added to its caller's."""


def read_counts(path: Path) -> Counts:
    """The counts of one process. The names of its Python functions are in the file that `-X perf` wrote."""
    command, functions = _read_callgrind(path)
    pid = path.suffix.removeprefix(".")
    names = _read_perf_map(_MAPS / f"perf-{pid}.map")
    for function in functions.values():
        _set_label(function, names)
    counts = Counts(command)
    folded = {number for number in functions if _is_folded(number, functions, set())}
    for number, function in functions.items():
        if number in folded or function.name.startswith(_COLLECTOR):
            continue
        counts.instructions[function.name] += function.own
        for callee, (calls, cost) in function.callees.items():
            if callee in folded:
                counts.instructions[function.name] += cost
            elif functions[callee].is_python:
                caller = function.name if function.is_python else ""
                counts.callers[caller, functions[callee].name] += calls
    for function in functions.values():
        for callee, (calls, _) in function.callees.items():
            counts.calls[functions[callee].name] += calls
    return counts


def _is_folded(number: str, functions: dict[str, _Function], visiting: set[str]) -> bool:
    """Whether a function and all that it calls are C code without a place of its own."""
    function = functions[number]
    if function.is_apart or number in visiting:
        return False
    visiting.add(number)
    result = all(_is_folded(callee, functions, visiting) for callee in function.callees)
    visiting.discard(number)
    return result


def _set_label(function: _Function, names: dict[int, str]) -> None:
    if function.object == "???" and function.name.startswith("0x"):
        name = names.get(int(function.name, 16))
        if name is not None:
            function.name, function.is_python, function.is_apart = name, True, True
        return
    is_system_call = function.name in _SYSTEM_CALLS and "/libc." in function.object
    is_own = function.name.startswith(_COLLECTOR) or any(each in function.object for each in _OWN_OBJECTS)
    function.is_apart = is_system_call or is_own
    if function.is_apart:
        function.name = f"{function.name}:{Path(function.object).name}"


def _read_perf_map(path: Path) -> dict[int, str]:
    if not path.exists():
        return {}
    parts = [line.split(" ", 2) for line in path.read_text().splitlines()]
    path.unlink()
    return {int(address, 16): name.removeprefix("py::") for address, _, name in parts}


def remove_empty_maps() -> None:
    """Remove the maps of ended processes that forked from a Python process and wrote no names."""
    for path in _MAPS.glob("perf-*.map"):
        pid = path.stem.removeprefix("perf-")
        if path.stat().st_size == 0 and path.stat().st_uid == os.getuid() and not Path(f"/proc/{pid}").exists():
            path.unlink()


_COST_LINES = (*string.digits, "+", "-", "*")
_NAME = re.compile(r"(c?)(fn|ob)=\((\d+)\)(?: (.*))?")


def _read_callgrind(path: Path) -> tuple[str, dict[str, _Function]]:
    """The command line and the functions, by callgrind's numbers."""
    names: dict[tuple[str, str], str] = {}
    objects: dict[str, str] = {}
    costs: dict[str, int] = defaultdict(int)
    callees: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    command, current, own_object, callee, callee_object, calls = "", "", "", "", "", None
    for line in path.read_text().splitlines():
        if found := _NAME.fullmatch(line):
            is_callee, kind, number, name = found.groups()
            if name is not None:
                names[kind, number] = name
            if kind == "ob":
                own_object, callee_object = (own_object, number) if is_callee else (number, number)
            elif is_callee:
                callee = number
                objects.setdefault(callee, callee_object)
            else:
                current = number
                objects[current] = own_object
                costs[current] += 0
        elif line.startswith("calls="):
            calls = int(line[6:].partition(" ")[0])
        elif line.startswith(_COST_LINES):
            cost = int(line.partition(" ")[2] or 0)
            if calls is None:
                costs[current] += cost
            else:
                edge = callees[current][callee]
                edge[0] += calls
                edge[1] += cost
                calls, callee_object = None, own_object
        elif line.startswith("cmd: "):
            command = line[5:]
    functions = {
        number: _Function(
            names["fn", number].partition("'")[0], names.get(("ob", objects[number]), "???"), costs.get(number, 0)
        )
        for number in {*costs, *(each for edges in callees.values() for each in edges)}
    }
    for number, edges in callees.items():
        functions[number].callees.update(edges)
    return command, functions
