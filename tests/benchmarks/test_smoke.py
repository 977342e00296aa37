"""The benchmarks run and write their rows. No test here depends on a time."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.cases import CASES, KNOWN_SIZES, Target
from benchmarks.comparison import Row, comparison_table
from benchmarks.contenders import TYPESCRIPT
from benchmarks.experiments import EXPERIMENTS, FULL, QUICK
from benchmarks.results import Result, table, write_section

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks read /proc")


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
    assert {"case", "unit", "cpus", "accord", "official", "others", "must", "aim", "reached"} <= row.keys()
    assert (row["case"], row["unit"], row["must"][0]["target"]) == ("encode", "µs", "≤ 1/5 × official")  # noqa: RUF001
    assert isinstance(row["reached"], bool)
    assert all(figure > 0 for figure in (row["accord"], row["official"], row["others"]["bare"]))


def test_the_screen_is_measured_from_inside_and_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    cases = ["--case", "screen-frame", "--case", "screen-start"]
    command = [sys.executable, "-m", "benchmarks", "--quick", *cases, "--json", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    frame, start = json.loads(path.read_text())
    assert frame["accord"] > 0
    assert all(seconds > 0 for seconds in (start["accord"], start["others"]["import textual.app"]))


def test_checkpoints_are_measured_beside_git_status(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--case", "checkpoint", "--json", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    (row,) = json.loads(path.read_text())
    assert row["accord"] > 0
    assert row["others"]["git status"] > 0


def test_a_page_gets_new_figures_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures begin -->\nold\n<!-- figures end -->\nafter\n")
    write_section("figures", "new", page)
    write_section("figures", "newer", page)
    assert page.read_text() == "before\n<!-- figures begin -->\n\nnewer\n\n<!-- figures end -->\nafter\n"
    with pytest.raises(ValueError, match="no section 'profile load'"):
        write_section("profile load", "new", page)


def test_every_case_is_measured_by_an_experiment_that_runs_what_its_targets_name() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.experiment for case in CASES} == EXPERIMENTS.keys()
    for case in CASES:
        names = [contender.name for contender in EXPERIMENTS[case.experiment].contenders]
        assert case.own == names[0]
        assert case.must
        assert {target.of for target in (*case.must, *case.aim)} <= {*names, *KNOWN_SIZES}


def test_an_aim_is_harder_to_reach_than_what_a_row_must_reach() -> None:
    for case in CASES:
        for aim in case.aim:
            (must,) = [target for target in case.must if target.of == aim.of]
            assert aim.factor > must.factor if aim.at_least else aim.factor < must.factor


def test_a_growth_row_compares_the_largest_size_with_each_smaller_one() -> None:
    rows = [case for case in CASES if case.name.startswith("growth-")]
    assert len(rows) == 5
    for case in rows:
        counts = [contender.count for contender in EXPERIMENTS[case.experiment].contenders]
        assert counts == sorted(counts, reverse=True)
        assert case.must == tuple(Target(1.3, f"{count:,}") for count in counts[1:])


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
        (Target(1, "official"), 9.9, True),
        (Target(1, "official"), 10.0, False),
    ],
)
def test_a_target_is_reached_by_the_ratio_of_the_medians(target: Target, accord: float, reached: bool) -> None:
    result = Result(replace(CASES[0], must=(target,)), {"accord": accord, "official": 10.0})
    assert result.reached is reached
    assert f"{target}: {accord / 10:.3g}, {'yes' if reached else '**no**'} |" in table([result])


def test_a_row_reaches_its_targets_only_if_all_are_measured() -> None:
    targets = (Target(1, "official"), Target(1, "typescript"))
    result = Result(replace(CASES[0], must=targets), {"accord": 5.0, "official": 10.0})
    assert not result.reached
    assert "ahead of official: 0.5, yes; ahead of typescript: —, not measured |" in table([result])
    assert replace(result, medians={**result.medians, "typescript": 6.0}).reached


def test_a_contender_that_did_not_run_has_not_reached_anything() -> None:
    result = Result(CASES[0], {"official": 10.0})
    assert result.accord is None
    assert not result.reached


def test_a_row_is_worse_if_it_costs_over_a_tenth_more_than_at_the_other_commit() -> None:
    cost, rate = (Row(replace(CASES[0], unit=unit)) for unit in ("ms", "/s"))
    for row in (cost, rate):
        row.there, row.here = [99.0, 100.0, 900.0], [112.0]
    assert cost.cost == pytest.approx(1.12)
    assert cost.is_worse
    assert rate.cost == pytest.approx(1 / 1.12)
    assert not rate.is_worse
    assert not Row(CASES[0], problem="not a case there").is_worse
    assert "| × 1.12 | **yes** |" in comparison_table("main", [cost])  # noqa: RUF001


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_this_commit_is_compared_with_another_checkout_of_it() -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--case", "encode", "--compare", "HEAD"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr  # 1: the figures of one small round may differ by any factor
    assert "| encode one tool_call_update | µs | " in run.stdout, run.stderr
    assert "× " in run.stdout  # noqa: RUF001


@pytest.mark.parametrize(
    "name",
    [
        "growth-sessions",
        "growth-load",
        "http-updates",
        "in-flight",
        "sdk-updates",
        "coder-tokens",
        "provider-start",
    ],
)
def test_a_quick_run_measures_every_contender_that_is_installed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--case", name, "--json", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    (row,) = json.loads(path.read_text())
    contenders = EXPERIMENTS[next(case for case in CASES if case.name == name).experiment].contenders
    installed = {contender.name for contender in contenders if not contender.missing}
    measured = {name for name in ("official", "typescript") if row[name]} | row["others"].keys()
    assert installed - measured == {contenders[0].name}
    if TYPESCRIPT in contenders and TYPESCRIPT.missing:
        assert "TypeScript not measured: " in run.stdout
