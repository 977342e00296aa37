"""requirements.toml and the tests agree, both ways, and what is named as a proof can be one.

A rule of the protocol says what is sent, understood, kept or refused. So it is proved by a test that runs one of our
sides, or the part of it that has to do it: through the public API, or by raw frames. Tests of the pure part (`PURE`) hold
types, translations and transcripts against each other; they stay green while an `Agent` or a `Client` makes no use of
them. They may prove a row beside others, but no row alone. No rule here is about shapes only: even one that lists the
members of a message means that we send it so, and read it so.

A row that concerns one side is proved where that side runs, one that concerns both on both.
"""

from __future__ import annotations

import pytest

from tests.requirements_index import ELSEWHERE, marked_tests, marks_on, requirements, with_tests

LEVELS = {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "fact", "decision"}
LAYERS = {"core", "sdk", "coder", "console"}
PURE = (
    "tests/architecture/",
    "tests/dialects/",
    "tests/jsonrpc/",
    "tests/local/",
    "tests/parity/",
    "tests/properties/",
    "tests/schema/",
    "tests/session/",
    "tests/test_errors.py",
    "tests/typing/",
)
BOTH_SIDES = ("tests/client/test_both_sides.py", "tests/client/test_with_agent.py")
WITHOUT = {  # where a side does not run, or only as far as the other one needs it
    "agent": ("tests/client/", "tests/apps/console/"),
    "client": ("tests/agent/", "tests/apps/coder/", "tests/store/"),
}
OF_THE_TESTS = ["COMPAT-13"]  # about the tests themselves, which hold our frames against the official schemas


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, object]]:
    return requirements()


@pytest.fixture(scope="module")
def tests() -> dict[str, list[str]]:
    return marked_tests()


@pytest.fixture(scope="module")
def marks(tests: dict[str, list[str]]) -> dict[str, set[str]]:
    return marks_on({name for names in tests.values() for name in names})


@pytest.fixture(scope="module")
def proofs(rows, tests, marks) -> dict[str, list[str]]:
    """For each row that has something to prove the tests that do, wherever there is Python."""
    return {
        identifier: [
            name
            for name in tests.get(identifier, ())
            if not name.startswith(PURE) and not marks[name].intersection((*ELSEWHERE, "skip"))
        ]
        for identifier, row in rows.items()
        if "no_test" not in row and identifier not in OF_THE_TESTS
    }


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


def test_every_row_is_proved_by_what_our_sides_do(proofs):
    assert [identifier for identifier, names in proofs.items() if not names] == []


@pytest.mark.parametrize("side", ["agent", "client"])
def test_every_row_is_proved_on_the_sides_that_it_concerns(rows, proofs, side):
    def runs_there(name: str) -> bool:
        return name.startswith(BOTH_SIDES) or not name.startswith(WITHOUT[side])

    missing = [
        identifier
        for identifier, names in proofs.items()
        if rows[identifier]["who"] in (side, "both") and not any(map(runs_there, names))
    ]
    assert missing == []


def test_no_marked_test_is_always_skipped(marks):
    """What skips itself under a condition is seen when it runs: see `tests/skipped_proofs.py`."""
    assert [name for name, found in marks.items() if "skip" in found] == []


def test_every_mark_is_on_a_test(tests):
    named = {name for names in tests.values() for name in names if "::" in name}
    assert [name for name in named if not name.rpartition("::")[2].startswith(("test_", "Test"))] == []


def test_every_marked_id_is_a_row(rows, tests):
    assert {identifier: names for identifier, names in tests.items() if identifier not in rows} == {}


def test_a_row_with_nothing_to_prove_has_no_test(rows, tests):
    assert [identifier for identifier, row in rows.items() if "no_test" in row and identifier in tests] == []


def test_the_lists_of_tests_are_current(rows, tests):
    assert rows == with_tests(rows, tests), "run `make requirements`"
