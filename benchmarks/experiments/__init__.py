"""How each thing is measured. One run of one contender returns named readings."""

from __future__ import annotations

from benchmarks.experiments import checkpoints, coder, growth, memory, protocol, remote, screen, startup
from benchmarks.experiments.experiment import FULL, QUICK, Experiment, Scale

__all__ = ["EXPERIMENTS", "FULL", "QUICK", "Experiment", "Scale"]

EXPERIMENTS: dict[str, Experiment] = {}
for _topic in (protocol, remote, growth, startup, coder, screen, checkpoints, memory):
    EXPERIMENTS.update(_topic.EXPERIMENTS)
