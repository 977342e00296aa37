"""The benchmarks run and write what they promise; nothing here looks at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.cases import CASES, KNOWN_SIZES, Target
from benchmarks.experiments import EXPERIMENTS, FULL, QUICK
from benchmarks.results import Result, table, write_page

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks read /proc")


@pytest.mark.timeout(60)
def test_a_quick_run_of_one_case_prints_its_row_and_writes_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--case", "encode", "--json", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "| encode one tool_call_update | µs |" in run.stdout
    assert run.stderr.startswith("wire: ")
    (row,) = json.loads(path.read_text())
    assert {"case", "unit", "accord", "official", "floor", "target", "reached"} <= row.keys()
    assert (row["case"], row["unit"], row["target"]) == ("encode", "µs", "≤ 1/5 official")
    assert isinstance(row["reached"], bool)
    assert all(row[who] > 0 for who in ("accord", "official", "floor"))


@pytest.mark.timeout(60)
def test_the_screen_is_measured_from_inside_and_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    cases = ["--case", "screen-frame", "--case", "screen-start"]
    command = [sys.executable, "-m", "benchmarks", "--quick", *cases, "--json", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    frame, start = json.loads(path.read_text())
    assert frame["accord"] > 0
    assert all(seconds > 0 for seconds in (start["accord"], start["others"]["import textual.app"]))


def test_the_page_gets_the_new_figures_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures begin -->\nold\n<!-- figures end -->\nafter\n")
    write_page("new", page)
    write_page("newer", page)
    assert page.read_text() == "before\n<!-- figures begin -->\n\nnewer\n\n<!-- figures end -->\nafter\n"
    page.write_text("nothing of the kind")
    with pytest.raises(ValueError, match="no place for figures"):
        write_page("new", page)


def test_every_case_is_measured_by_an_experiment_that_has_what_its_target_names() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        ran = {contender.name for contender in EXPERIMENTS[case.experiment].contenders}
        assert "official" in ran or case.experiment.startswith(("load", "coder-", "screen-"))
        assert case.target.of in ran | KNOWN_SIZES.keys()
        assert case.floor is None or case.floor in ran


def test_a_full_run_has_five_rounds_and_a_quick_one_fewer() -> None:
    assert FULL.rounds == 5
    assert QUICK.rounds < FULL.rounds


@pytest.mark.parametrize(
    ("target", "accord", "reached"),
    [
        (Target(6, "official", at_least=True), 60.0, True),
        (Target(6, "official", at_least=True), 59.0, False),
        (Target(1 / 4, "official"), 2.5, True),
        (Target(1 / 4, "official"), 2.6, False),
    ],
)
def test_a_target_is_reached_by_the_ratio_of_the_medians(target: Target, accord: float, reached: bool) -> None:
    result = Result(replace(CASES[0], target=target), {"accord": accord, "official": 10.0})
    assert result.reached is reached
    assert table([result]).splitlines()[-1].endswith("| yes |" if reached else "| no |")


def test_a_contender_that_did_not_run_has_not_reached_anything() -> None:
    result = Result(CASES[0], {"official": 10.0})
    assert result.accord is None
    assert not result.reached
