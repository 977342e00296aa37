"""Medians, ratios and targets of the measured rows, as a Markdown table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cases import KNOWN_SIZES, Case, Target
from benchmarks.experiments import EXPERIMENTS

__all__ = ["Result", "number", "result_of", "table", "write_json", "write_section"]


@dataclass(frozen=True)
class Result:
    """The medians of one row, by contender."""

    case: Case
    medians: dict[str, float]

    @property
    def accord(self) -> float | None:
        return self.medians.get(self.case.own)

    def ratio(self, target: Target) -> float | None:
        """None if one of the two did not run."""
        other = self.medians.get(target.of)
        return self.accord / other if self.accord is not None and other else None

    def is_met(self, target: Target) -> bool | None:
        ratio = self.ratio(target)
        return None if ratio is None else target.is_met(ratio)

    @property
    def reached(self) -> bool:
        """Whether all that it must reach was measured and reached."""
        return all(self.is_met(target) for target in self.case.must)

    @property
    def others(self) -> dict[str, float]:
        """The floors, and the other contenders without a column of their own."""
        columns = (self.case.own, "official", "typescript", *KNOWN_SIZES)
        return {name: value for name, value in self.medians.items() if name not in columns}

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case.name,
            "title": self.case.title,
            "unit": self.case.unit,
            "cpus": str(EXPERIMENTS[self.case.experiment].cpus),
            "accord": self.accord,
            "official": self.medians.get("official"),
            "typescript": self.medians.get("typescript"),
            "others": self.others,
            "must": [self._as_json(target) for target in self.case.must],
            "aim": [self._as_json(target) for target in self.case.aim],
            "reached": self.reached,
        }

    def _as_json(self, target: Target) -> dict[str, Any]:
        return {"target": str(target), "ratio": self.ratio(target), "reached": self.is_met(target)}


def result_of(case: Case, rounds: dict[str, list[dict[str, float]]]) -> Result:
    """`rounds` has the readings of each contender, one per round."""
    medians = {name: median(readings[case.reading] for readings in runs) for name, runs in rounds.items() if runs}
    return Result(case, {**medians, **KNOWN_SIZES})


def table(results: Iterable[Result]) -> str:
    """A Markdown table, as it stands in the documentation."""
    lines = [
        "| case | unit | CPUs | accord | official | TypeScript | floors and others | must | aim |",
        "|---|---|---|--:|--:|--:|---|---|---|",
    ]
    for result in results:
        cells = [
            result.case.title,
            result.case.unit,
            str(EXPERIMENTS[result.case.experiment].cpus),
            number(result.accord),
            number(result.medians.get("official")),
            number(result.medians.get("typescript")),
            ", ".join(f"{number(value)} ({name})" for name, value in result.others.items()),
            _targets(result, result.case.must),
            _targets(result, result.case.aim),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _targets(result: Result, targets: tuple[Target, ...]) -> str:
    words = {True: "yes", False: "**no**", None: "not measured"}
    return "; ".join(f"{target}: {number(result.ratio(target))}, {words[result.is_met(target)]}" for target in targets)


def number(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def write_json(results: Iterable[Result], path: Path) -> None:
    path.write_text(json.dumps([result.as_json() for result in results], indent=2, ensure_ascii=False) + "\n")


def write_section(name: str, text: str, path: Path) -> None:
    """Replace the text between the two comments of this name on the page."""
    begin, end = f"<!-- {name} begin -->\n", f"<!-- {name} end -->\n"
    before, _, rest = path.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{path} has no section {name!r}: {begin.strip()} and {end.strip()} are missing")
    path.write_text(f"{before}{begin}\n{text}\n\n{end}{after}")
