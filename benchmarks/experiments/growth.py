"""Cost per unit at several sizes: cost must grow linearly with the size, or slower.

The contenders of an experiment are the sizes, the largest first. A small size runs several times and counts as the
median, because one run of it is short.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from benchmarks.contenders import Contender
from benchmarks.experiments.experiment import Experiment, Readings, Scale
from benchmarks.experiments.protocol import run_client
from benchmarks.experiments.stored_sessions import load_seconds

__all__ = ["EXPERIMENTS", "JOURNALS", "PROMPTS", "SESSIONS", "UPDATES"]

_MOST_RUNS = 3
_ROUNDS = 3

UPDATES = (1_000_000, 100_000, 10_000)
SESSIONS = (10_000, 1_000)
PROMPTS = (10_000, 100)
JOURNALS = (1_000_000, 100_000, 10_000)


def _sizes(counts: tuple[int, ...]) -> tuple[Contender, ...]:
    return tuple(Contender("sdk", label=f"{count:,}", count=count) for count in counts)


def _growth(counts: tuple[int, ...], measure: Callable[[Contender, int], Readings]) -> Experiment:
    def run(contender: Contender, scale: Scale) -> Readings:
        runs = min(_MOST_RUNS, max(counts) // contender.count, scale.rounds)
        count = max(1, contender.count // scale.growth_divisor)
        readings = [measure(contender, count) for _ in range(runs)]
        return {name: median(each[name] for each in readings) for name in readings[0]}

    return Experiment(_sizes(counts), run, most_rounds=_ROUNDS)


def _updates(contender: Contender, count: int) -> Readings:
    return {"cpu": run_client(contender, "turn", count)["cpu_seconds"] / count * 1e6}


def _sessions(contender: Contender, count: int) -> Readings:
    readings = run_client(contender, "sessions", count)
    return {"cpu": readings["cpu_seconds"] * 1e6, "memory": readings["bytes"] / 1024}


def _prompts(contender: Contender, count: int) -> Readings:
    return {"cpu": run_client(contender, "prompts", count)["cpu_seconds"] * 1e6}


def _loads(contender: Contender, count: int) -> Readings:
    return {"time": load_seconds(count) / count * 1e6}


EXPERIMENTS = {
    "growth-updates": _growth(UPDATES, _updates),
    "growth-sessions": _growth(SESSIONS, _sessions),
    "growth-prompts": _growth(PROMPTS, _prompts),
    "growth-load": _growth(JOURNALS, _loads),
}
