"""An example is short, says how to run it, and is known to those who read the documents and the tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.examples.programs import EXAMPLES

LONGEST = 40
INDEX = Path(__file__).resolve().parents[2] / "docs" / "guide" / "examples.md"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def name(program: Path) -> str:
    return program.name


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_an_example_is_short(program: Path):
    assert program.read_text(encoding="utf-8").count("\n") <= LONGEST


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_its_first_line_says_what_it_shows_and_how_to_run_it(program: Path):
    docstring = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))) or ""
    first = docstring.splitlines()[0]
    assert any(f"{runner} {program.name}" in first for runner in ("python", "pytest -p accord.testing.plugin"))


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_it_is_listed_and_tested(program: Path):
    assert f"(../../examples/{program.name})" in INDEX.read_text(encoding="utf-8")
    tests = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    assert f'"{program.name}"' in tests
