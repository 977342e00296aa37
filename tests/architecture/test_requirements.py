"""requirements.toml and the tests agree, both ways."""

from __future__ import annotations

import pytest

from tests.requirements_index import ROOT, marked_tests, requirements, with_tests

LEVELS = {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "fact", "decision"}
LAYERS = {"core", "sdk", "coder", "console"}
SHAPES = "tests/schema/"


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, object]]:
    return requirements()


@pytest.fixture(scope="module")
def tests() -> dict[str, list[str]]:
    return marked_tests()


def test_every_row_is_complete(rows):
    for identifier, row in rows.items():
        assert {"level", "version", "who", "text", "source"} <= row.keys(), identifier
        assert row["level"] in LEVELS, identifier
        assert row["version"] in {"v1", "v2 draft", "both"}, identifier


def test_every_row_names_the_layer_that_proves_it_or_why_none_does(rows):
    for identifier, row in rows.items():
        assert ("in" in row) != ("no_test" in row), identifier
        assert row.get("in", "core") in LAYERS, identifier


def test_every_row_has_a_test(rows, tests):
    unproved = [identifier for identifier, row in rows.items() if "no_test" not in row and identifier not in tests]
    assert not unproved, " ".join(unproved)


def test_no_row_is_proved_by_shapes_alone(rows, tests):
    """A type of the schema has its shape whatever we send and do, so a rule needs a test that sends or does it."""
    shapes = [
        identifier
        for identifier, row in rows.items()
        if "no_test" not in row and all(name.startswith(SHAPES) for name in tests.get(identifier, ()))
    ]
    assert not shapes, " ".join(shapes)


def test_every_row_is_proved_by_tests_that_need_nothing_but_python(rows, tests):
    """`make test` runs those; the official schemas come from npm, so what compares with them runs in `make interop`."""
    elsewhere = {
        file for file in (name.partition("::")[0] for names in tests.values() for name in names) if only_interop(file)
    }
    proved_elsewhere = [
        identifier
        for identifier, row in rows.items()
        if "no_test" not in row and all(name.partition("::")[0] in elsewhere for name in tests[identifier])
    ]
    assert proved_elsewhere == ["COMPAT-13"]


def only_interop(file: str) -> bool:
    """Whether the whole file is marked as needing peers from outside Python."""
    marks = [line for line in (ROOT / file).read_text("utf-8").splitlines() if line.startswith("pytestmark")]
    return any("mark.interop" in line for line in marks)


def test_every_mark_is_on_a_test(tests):
    named = {name for names in tests.values() for name in names if "::" in name}
    assert [name for name in named if not name.rpartition("::")[2].startswith(("test_", "Test"))] == []


def test_every_marked_id_is_a_row(rows, tests):
    assert {identifier: names for identifier, names in tests.items() if identifier not in rows} == {}


def test_a_row_with_nothing_to_prove_has_no_test(rows, tests):
    assert [identifier for identifier, row in rows.items() if "no_test" in row and identifier in tests] == []


def test_the_lists_of_tests_are_current(rows, tests):
    assert rows == with_tests(rows, tests), "run `make requirements`"
