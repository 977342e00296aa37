"""One experiment: its contenders, their CPUs, and the function that runs one of them once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.contenders import Contender
from benchmarks.cpus import Cpus

__all__ = ["FRAME_CAP", "FULL", "MEBIBYTE", "QUICK", "Experiment", "Readings", "Scale"]

MEBIBYTE = 1 << 20
FRAME_CAP = 8 * MEBIBYTE
"""accord's frame limit where memory is measured; the default only takes longer to fill."""

Readings = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much one run of each experiment does."""

    rounds: int
    updates: int
    remote_updates: int
    connections: int
    round_trips: int
    in_flight: int
    message: int
    flood: int
    wire: int
    starts: int
    stored: int
    sessions: int
    chunks: int
    calls: int
    lines: int
    files: int
    idle_seconds: float
    typing_seconds: float
    growth_divisor: int
    """Growth rows do their full count divided by this."""


FULL = Scale(
    rounds=5,
    updates=50_000,
    remote_updates=10_000,
    connections=1_000,
    round_trips=2_000,
    in_flight=1_000,
    message=50 * MEBIBYTE,
    flood=128 * MEBIBYTE,
    wire=5_000,
    starts=3,
    stored=100_000,
    sessions=300,
    chunks=10_000,
    calls=1_000,
    lines=20_000,
    files=5_000,
    idle_seconds=5.0,
    typing_seconds=3.0,
    growth_divisor=1,
)
QUICK = Scale(
    rounds=1,
    updates=2_000,
    remote_updates=500,
    connections=10,
    round_trips=200,
    in_flight=100,
    message=5 * MEBIBYTE,
    flood=32 * MEBIBYTE,
    wire=500,
    starts=1,
    stored=2_000,
    sessions=20,
    chunks=100,
    calls=10,
    lines=200,
    files=100,
    idle_seconds=0.5,
    typing_seconds=0.5,
    growth_divisor=100,
)


@dataclass(frozen=True)
class Experiment:
    """The first contender is accord, or in growth rows its largest size."""

    contenders: tuple[Contender, ...]
    run: Callable[[Contender, Scale], Readings]
    cpus: Cpus = Cpus.TWO
    most_rounds: int | None = None

    def rounds(self, scale: Scale) -> int:
        return min(scale.rounds, self.most_rounds or scale.rounds)
