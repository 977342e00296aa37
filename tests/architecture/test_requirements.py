"""requirements.toml and the tests agree, both ways."""

from __future__ import annotations

import pytest

from tests.requirements_index import marked_tests, requirements, with_tests

LEVELS = {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "fact", "decision"}
LAYERS = {"core", "sdk", "coder", "console"}
BUILT = {"core"}


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


def test_every_row_of_a_layer_that_exists_has_a_test(rows, tests):
    unproved = [identifier for identifier, row in rows.items() if row.get("in") in BUILT and identifier not in tests]
    assert not unproved, " ".join(unproved)


def test_every_marked_id_is_a_row(rows, tests):
    assert {identifier: names for identifier, names in tests.items() if identifier not in rows} == {}


def test_a_row_with_nothing_to_prove_has_no_test(rows, tests):
    assert [identifier for identifier, row in rows.items() if "no_test" in row and identifier in tests] == []


def test_the_lists_of_tests_are_current(rows, tests):
    assert rows == with_tests(rows, tests), "run `make requirements`"
