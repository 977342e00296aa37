"""Compares this checkout with another commit: accord's side of each row, run in turn by both, and the ratio.

Each side runs the experiments of its own checkout, so the API may differ between the two. From the other commit this
needs `CASES` with `name`, `experiment` and `reading`, and `EXPERIMENTS` with `contenders` and `run`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.cases import Case
from benchmarks.experiments import EXPERIMENTS, Scale
from benchmarks.results import number

__all__ = ["Row", "compare", "comparison_table"]

ROOT = Path(__file__).parent.parent
TOLERANCE = 1.1

_DRIVER = """
import json, os, sys
from benchmarks.cases import CASES
from benchmarks.experiments import EXPERIMENTS, FULL, QUICK

def run(order):
    os.sched_setaffinity(0, order["cpus"])
    experiment = EXPERIMENTS[order["experiment"]]
    contender = next(each for each in experiment.contenders if each.name == order["contender"])
    return experiment.run(contender, QUICK if sys.argv[1] == "quick" else FULL)

print(json.dumps({case.name: [case.experiment, case.reading] for case in CASES}), flush=True)
for line in sys.stdin:
    try:
        answer = run(json.loads(line))
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
"""


@dataclass
class Row:
    """The figures of one case at both commits."""

    case: Case
    there: list[float] = field(default_factory=list[float])
    here: list[float] = field(default_factory=list[float])
    problem: str | None = None

    @property
    def cost(self) -> float | None:
        """The cost here as a multiple of the cost there; more than 1 is worse."""
        if self.problem or not self.there or not self.here:
            return None
        there, here = median(self.there), median(self.here)
        numerator, denominator = (there, here) if self.case.is_rate else (here, there)
        return numerator / denominator if denominator > 0 else None

    @property
    def is_worse(self) -> bool:
        return self.cost is not None and self.cost > TOLERANCE


class Side:
    """A process that runs the experiments of one checkout."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.cases: dict[str, tuple[str, str]] = self._answer()

    def run(self, experiment: str, contender: str, cpus: list[int]) -> dict[str, Any]:
        assert self._process.stdin
        order = {"experiment": experiment, "contender": contender, "cpus": cpus}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the benchmarks of one of the two commits ended early; its error is above")
        return json.loads(line)


def compare(revision: str, cases: list[Case], scale: Scale, *, quick: bool) -> int:
    """Print the table; 1 if a row got worse by more than 10 % or could not be run."""
    rows = {case.name: Row(case) for case in cases}
    with _checkout(revision) as there, _side(there, quick) as one, _side(ROOT, quick) as other:
        for case in cases:
            if case.name not in one.cases:
                rows[case.name].problem = f"not a case at {revision}"
        for number_of_round in range(scale.rounds):
            sides = [(one, "there"), (other, "here")]
            for experiment in dict.fromkeys(case.experiment for case in cases):
                for side, name in sides if number_of_round % 2 == 0 else reversed(sides):
                    _measure(side, name, [row for row in rows.values() if row.case.experiment == experiment])
            print(f"round {number_of_round + 1} of {scale.rounds}", file=sys.stderr, flush=True)
    print(comparison_table(revision, list(rows.values())))
    return 1 if any(row.is_worse for row in rows.values()) else 0


def _measure(side: Side, name: str, rows: list[Row]) -> None:
    """One run of an experiment on one side, for all rows that read from it."""
    readings: dict[str, Any] | None = None
    for row in rows:
        if row.problem:
            continue
        experiment, reading = side.cases[row.case.name]
        if readings is None:
            readings = side.run(experiment, row.case.own, EXPERIMENTS[row.case.experiment].cpus.numbers)
        if "error" in readings:
            row.problem = f"failed {name}: {readings['error']}"
        else:
            (row.there if name == "there" else row.here).append(readings[reading])


def comparison_table(revision: str, rows: list[Row]) -> str:
    lines = [f"| case | unit | {revision} | here | cost | worse by more than 10 % |", "|---|---|--:|--:|--:|---|"]
    for row in rows:
        verdict = row.problem or ("**yes**" if row.is_worse else "no")
        there, here = (number(median(laps) if laps else None) for laps in (row.there, row.here))
        cost = "—" if row.cost is None else f"× {row.cost:.2f}"  # noqa: RUF001  # for people, not for parsers
        lines.append(f"| {row.case.title} | {row.case.unit} | {there} | {here} | {cost} | {verdict} |")
    return "\n".join(lines)


@contextmanager
def _checkout(revision: str) -> Iterator[Path]:
    with TemporaryDirectory(prefix="accord-compare-") as directory:
        path = Path(directory) / "checkout"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(path), revision], check=True)
        try:
            yield path
        finally:
            subprocess.run([*git, "remove", "--force", str(path)], check=True)


@contextmanager
def _side(checkout: Path, quick: bool) -> Iterator[Side]:
    command = [sys.executable, "-c", _DRIVER, "quick" if quick else "full"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(checkout), str(checkout / "src")])}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=checkout, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Side(process)
        finally:
            assert process.stdin
            process.stdin.close()
