"""The terminal client: its frames while updates stream in, its start, and its CPU time when idle."""

from __future__ import annotations

import sys
import time
from statistics import median

from benchmarks.child_processes import run_program, time_command
from benchmarks.contenders import Contender
from benchmarks.experiments.experiment import Experiment, Readings, Scale
from benchmarks.processes import cpu_seconds
from benchmarks.programs.talker import LAST_WORD
from benchmarks.terminal import at_terminal

__all__ = ["EXPERIMENTS"]

SCREEN = Contender("screen", label="accord")
_IMPORT = Contender("import textual.app")
_AFTERWORK = 5.0
"""So many seconds after a short turn the screen has laid out what is out of view."""


def _stream(contender: Contender, scale: Scale) -> Readings:
    return _in_milliseconds(run_program("screen", "stream", str(scale.chunks), str(scale.calls)))


def _long(contender: Contender, scale: Scale) -> Readings:
    return _in_milliseconds(run_program("screen", "long", str(scale.lines)))


def _in_milliseconds(seconds: Readings) -> Readings:
    return {name: value * 1e3 for name, value in seconds.items()}


def _start(contender: Contender, scale: Scale) -> Readings:
    laps: list[float] = []
    for _ in range(scale.starts):
        if contender is not SCREEN:
            laps.append(time_command("-c", contender.program))
            continue
        started = time.perf_counter()
        with at_terminal("-m", "accord") as terminal:
            terminal.wait_for("F1")  # at the end of the last line
            laps.append(time.perf_counter() - started)
    return {"time": median(laps) * 1e3}


def _idle(contender: Contender, scale: Scale) -> Readings:
    """After a turn, when nothing is left to do."""
    with at_terminal("-m", "accord", "--", sys.executable, "-m", "benchmarks.programs.talker") as terminal:
        terminal.wait_for("ready")
        terminal.type("stream 500 50")
        terminal.watch(0.2)  # together with the text before it, Enter would be part of a paste
        terminal.type("\r")
        terminal.wait_for(LAST_WORD)
        terminal.watch(_AFTERWORK)
        before = cpu_seconds(terminal.pid)
        terminal.watch(scale.idle_seconds)
        return {"share": (cpu_seconds(terminal.pid) - before) / scale.idle_seconds * 100}


EXPERIMENTS = {
    "screen-stream": Experiment((SCREEN,), _stream),
    "screen-long": Experiment((SCREEN,), _long),
    "screen-start": Experiment((SCREEN, _IMPORT), _start),
    "screen-idle": Experiment((SCREEN,), _idle),
}
