"""From readings to rows: medians, ratios, the table and the JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cases import KNOWN_SIZES, Case

__all__ = ["Result", "result_of", "table", "write_json", "write_page"]

PAGE_MARKS = "<!-- figures begin -->\n", "<!-- figures end -->\n"


@dataclass(frozen=True)
class Result:
    case: Case
    medians: dict[str, float]

    @property
    def accord(self) -> float | None:
        return self.medians.get("accord", self.medians.get("accord on uvloop"))

    @property
    def ratio(self) -> float | None:
        against = self.medians.get(self.case.target.of)
        return self.accord / against if self.accord is not None and against else None

    @property
    def reached(self) -> bool:
        return self.ratio is not None and self.case.target.is_met(self.ratio)

    @property
    def others(self) -> dict[str, float]:
        """The floors, and whoever else ran for comparison."""
        own = ("accord", "accord on uvloop", "official", *KNOWN_SIZES)
        return {name: value for name, value in self.medians.items() if name not in own}

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case.name,
            "title": self.case.title,
            "unit": self.case.unit,
            "accord": self.accord,
            "official": self.medians.get("official"),
            "floor": self.medians.get(self.case.floor) if self.case.floor else None,
            "target": str(self.case.target),
            "reached": self.reached,
            "ratio": self.ratio,
            "others": self.others,
        }


def result_of(case: Case, rounds: dict[str, list[dict[str, float]]]) -> Result:
    """`rounds` has the readings of each contender, one per round."""
    medians = {name: median(readings[case.reading] for readings in runs) for name, runs in rounds.items() if runs}
    return Result(case, {**medians, **KNOWN_SIZES})


def table(results: Iterable[Result]) -> str:
    """A Markdown table, as it stands in the documentation."""
    lines = [
        "| case | unit | accord | official | floors and others | ratio | target | reached |",
        "|---|---|--:|--:|---|--:|---|---|",
    ]
    for result in results:
        others = ", ".join(f"{_number(value)} ({name})" for name, value in result.others.items())
        cells = [
            result.case.title,
            result.case.unit,
            _number(result.accord),
            _number(result.medians.get("official")),
            others,
            _number(result.ratio),
            str(result.case.target),
            "yes" if result.reached else "no",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write_json(results: Iterable[Result], path: Path) -> None:
    path.write_text(json.dumps([result.as_json() for result in results], indent=2, ensure_ascii=False) + "\n")


def write_page(figures: str, path: Path) -> None:
    """Put them in the place of those that the page has."""
    begin, end = PAGE_MARKS
    before, _, rest = path.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{path} has no place for figures: {begin.strip()} and {end.strip()}")
    path.write_text(f"{before}{begin}\n{figures}\n\n{end}{after}")


def _number(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
