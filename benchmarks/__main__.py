"""Runs the cases, interleaving the contenders round by round, and prints the table."""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.cases import CASES, Case
from benchmarks.child_processes import ContenderFailed
from benchmarks.comparison import compare
from benchmarks.contenders import TYPESCRIPT
from benchmarks.experiments import EXPERIMENTS, FULL, QUICK, Scale
from benchmarks.profile import PROFILES, profile
from benchmarks.results import Result, result_of, table, write_json, write_section

SOURCE = Path(__file__).resolve().parents[1] / "src" / "accord"

Rounds = dict[str, list[dict[str, float]]]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small round: shows that it works, not how fast it is")
    parser.add_argument("--rounds", type=int, help=f"how often each contender runs (default: {FULL.rounds})")
    parser.add_argument(
        "--case", action="append", choices=[case.name for case in CASES], help="only this row; repeatable"
    )
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "latest.json", help="the file for the rows"
    )
    parser.add_argument("--page", type=Path, help="the page that gets the table: docs/benchmarks.md")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--profile", choices=[*PROFILES, "all"], help="count the instructions per layer instead (needs valgrind)"
    )
    mode.add_argument("--compare", metavar="REV", help="run accord's side of the rows here and at this commit instead")
    return parser.parse_args()


def run_rounds(name: str, scale: Scale) -> tuple[Rounds, dict[str, str]]:
    """Run every contender once per round, in turn, so that a slow moment of the machine hits all of them."""
    experiment = EXPERIMENTS[name]
    rounds: Rounds = {contender.name: [] for contender in experiment.contenders if not contender.missing}
    failures: dict[str, str] = {}
    for _ in range(experiment.rounds(scale)):
        for contender in experiment.contenders:
            if contender.missing or contender.name in failures:
                continue
            try:
                with experiment.cpus.pinned():
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


def describe_machine(scale: Scale, load: float) -> str:
    how = f"medians of {scale.rounds} rounds" if scale.rounds > 1 else "one round: shows that it works, not how fast"
    if TYPESCRIPT.missing:
        node = f"TypeScript not measured: {TYPESCRIPT.missing}"
    else:
        version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
        node = f"Node {version.removeprefix('v')}"
    return f"Python {platform.python_version()}, {node}, {os.cpu_count()} CPUs, load {load:.1f} at the start; {how}."


def main() -> int:
    arguments = read_arguments()
    if sys.platform != "linux":
        print("The benchmarks read /proc and pin CPUs: they need Linux.", file=sys.stderr)
        return 2
    compileall.compile_dir(SOURCE, quiet=1)  # a row must not measure the compiler, whatever the environment says
    if arguments.profile:
        names = list(PROFILES) if arguments.profile == "all" else [arguments.profile]
        return profile(names, page=arguments.page)
    cases = [case for case in CASES if not arguments.case or case.name in arguments.case]
    scale = QUICK if arguments.quick else FULL
    if arguments.rounds:
        scale = replace(scale, rounds=arguments.rounds)
    if arguments.compare:
        return compare(arguments.compare, cases, scale, quick=arguments.quick)
    load = os.getloadavg()[0]
    results, complete = measure(cases, scale)
    figures = f"{describe_machine(scale, load)}\n\n{table(results)}"
    print(figures)
    write_json(results, arguments.json)
    if arguments.page is not None:
        write_section("figures", figures, arguments.page)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
