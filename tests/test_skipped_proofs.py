"""A test that is named as a proof and never runs is noticed, in its source and in a run."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from tests.requirements_index import marks_inside
from tests.skipped_proofs import SkippedProofs


@pytest.mark.parametrize(
    ("source", "is_skipped"),
    [
        ("@pytest.mark.skip\ndef test_it(): ...", True),
        ("@pytest.mark.skip(reason='later')\nasync def test_it(): ...", True),
        ("@pytest.mark.xfail\ndef test_it(): ...", True),
        ("@pytest.mark.skipif(True, reason='later')\ndef test_it(): ...", True),
        ("def test_it():\n    pytest.skip('later')\n    assert True", True),
        ("pytestmark = [pytest.mark.timeout(3), pytest.mark.skip]\ndef test_it(): ...", True),
        ("pytest.skip('later', allow_module_level=True)\ndef test_it(): ...", True),
        ("@pytest.mark.skipif(sys.platform == 'win32', reason='no')\ndef test_it(): ...", False),
        ("def test_it():\n    if version == 2:\n        pytest.skip('has none')\n    assert True", False),
        ("if sys.platform == 'win32':\n    pytest.skip('no', allow_module_level=True)\ndef test_it(): ...", False),
        ("@pytest.mark.skip\ndef test_other(): ...\ndef test_it(): ...", False),
    ],
)
def test_a_test_that_skips_itself_whatever_happens_is_found(source, is_skipped):
    assert ("skip" in set(marks_inside(ast.parse(source), ["test_it"]))) is is_skipped


def test_the_marks_of_a_class_and_of_a_file_count_for_their_tests():
    source = "pytestmark = pytest.mark.interop\n@pytest.mark.local_model\nclass TestIt:\n    def test_it(self): ..."
    assert set(marks_inside(ast.parse(source), ["TestIt", "test_it"])) == {"interop", "local_model"}


def report(name: str, outcome: str, *, when: str = "call", proves: str | None = "RPC-01") -> Any:
    properties = [] if proves is None else [("requirements", proves)]
    return SimpleNamespace(nodeid=name, skipped=outcome == "skipped", when=when, user_properties=properties)


def seen(*reports: Any, platform: str = "linux") -> SkippedProofs:
    watch = SkippedProofs(platform)
    for each in reports:
        watch.pytest_runtest_logreport(each)
    return watch


def test_a_proof_that_was_skipped_each_time_ends_the_run_with_an_error():
    watch = seen(
        report("a.py::test_some[v1]", "skipped"),
        report("a.py::test_some[v2]", "passed"),
        report("a.py::test_none[v1]", "skipped", when="setup"),
        report("a.py::test_none[v1]", "passed", when="teardown"),
        report("a.py::test_none[v2]", "skipped"),
        report("a.py::test_other", "skipped", proves=None),
    )
    assert watch.found == ["a.py::test_none (RPC-01)"]
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    watch.pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED


def test_a_run_in_which_every_proof_ran_is_left_alone_and_so_are_other_systems():
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    for watch in (seen(report("a.py::test", "passed")), seen(report("a.py::test", "skipped"), platform="win32")):
        assert watch.found == []
        watch.pytest_sessionfinish(session)
        assert session.exitstatus == pytest.ExitCode.OK
