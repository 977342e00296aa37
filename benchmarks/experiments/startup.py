"""Imports, and the time from the start of an agent to its initialize response."""

from __future__ import annotations

import time
from statistics import median

from benchmarks.child_processes import RawAgent, start, time_command
from benchmarks.contenders import ACCORD, BARE, OFFICIAL, STREAMS, TYPESCRIPT, Contender
from benchmarks.cpus import Cpus
from benchmarks.experiments.experiment import Experiment, Readings, Scale

__all__ = ["EXPERIMENTS"]

# `import accord` is lazy. What an agent really loads is shown beside it, and judged by the start of an agent.
_MODULES = {"official": "acp", "accord, a v1 agent's part": "accord.peer, accord.transports.stdio, accord.dialects.v1"}


def _import(contender: Contender, scale: Scale) -> Readings:
    module = _MODULES.get(contender.program, contender.program)
    laps = [time_command("-c", f"import {module}") - time_command("-c", "pass") for _ in range(scale.starts)]
    return {"time": median(laps) * 1e3}


def _start(contender: Contender, scale: Scale) -> Readings:
    laps: list[float] = []
    for _ in range(scale.starts):
        started = time.perf_counter()
        with start(f"{contender.program}_agent") as program:
            RawAgent(program).initialize()
            laps.append(time.perf_counter() - started)
    return {"time": median(laps) * 1e3}


_IMPORTS = map(Contender, ("msgspec", "asyncio", "accord, a v1 agent's part"))

EXPERIMENTS = {
    "import": Experiment((ACCORD, OFFICIAL, *_IMPORTS), _import, Cpus.ONE),
    "start": Experiment((ACCORD, OFFICIAL, TYPESCRIPT, BARE, STREAMS), _start),
}
