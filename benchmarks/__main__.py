"""Runs the cases, interleaving the contenders round by round, and shows what came out."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path

from benchmarks.cases import CASES, Case
from benchmarks.experiments import EXPERIMENTS, FULL, QUICK, Scale
from benchmarks.results import Result, result_of, table, write_json, write_page
from benchmarks.started import ContenderFailed

Rounds = dict[str, list[dict[str, float]]]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small round; shows that it works, not how fast")
    parser.add_argument(
        "--case", action="append", choices=[case.name for case in CASES], help="only this one; repeatable"
    )
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "latest.json", help="where the rows go")
    parser.add_argument("--page", type=Path, help="the page whose table is replaced: docs/benchmarks.md")
    return parser.parse_args()


def run_rounds(name: str, scale: Scale) -> tuple[Rounds, dict[str, str]]:
    """Every contender once per round, in turn, so that a slow moment of the machine hits all of them."""
    experiment = EXPERIMENTS[name]
    rounds: Rounds = {contender.name: [] for contender in experiment.contenders}
    failures: dict[str, str] = {}
    for _ in range(scale.rounds):
        for contender in experiment.contenders:
            if contender.name in failures:
                continue
            try:
                rounds[contender.name].append(experiment.run(contender, scale))
            except ContenderFailed as failed:
                failures[contender.name] = str(failed)
                rounds[contender.name] = []
    return rounds, failures


def measure(cases: list[Case], scale: Scale) -> tuple[list[Result], bool]:
    measured: dict[str, Rounds] = {}
    results: list[Result] = []
    complete = True
    for case in cases:
        if case.experiment not in measured:
            started = time.monotonic()
            measured[case.experiment], failures = run_rounds(case.experiment, scale)
            print(f"{case.experiment}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
            for name, reason in failures.items():
                complete = False
                print(f"  {name} failed: {reason}", file=sys.stderr, flush=True)
        results.append(result_of(case, measured[case.experiment]))
    return results, complete


def main() -> int:
    given = read_arguments()
    if sys.platform != "linux":
        print("The benchmarks read /proc and pin CPUs: they need Linux.", file=sys.stderr)
        return 2
    cases = [case for case in CASES if not given.case or case.name in given.case]
    scale = QUICK if given.quick else FULL
    load = os.getloadavg()[0]
    results, complete = measure(cases, scale)
    how = "one small round: shows that it works, not how fast" if given.quick else f"medians of {scale.rounds} rounds"
    surroundings = f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {load:.1f} at the start; {how}."
    figures = f"{surroundings}\n\n{table(results)}"
    print(figures)
    write_json(results, given.json)
    if given.page is not None:
        write_page(figures, given.page)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
