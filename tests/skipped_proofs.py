"""Ends a test run with an error when a test that proves a requirement was skipped each time it was to run.

`make requirements` lists it as a proof all the same, so nobody else would notice. Judged on Linux, where every such test can
run; those that need more than Python are left to `make interop`.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.requirements_index import ELSEWHERE

__all__ = ["SkippedProofs", "note_requirements"]

PROPERTY = "requirements"


def note_requirements(items: list[pytest.Item]) -> None:
    """Let the reports of these tests tell what they prove, also from another process."""
    for item in items:
        ids = [id for mark in item.iter_markers("requirement") for id in mark.args]
        if ids and not any(item.get_closest_marker(name) for name in ELSEWHERE):
            item.user_properties.append((PROPERTY, " ".join(ids)))


class SkippedProofs:
    """A plugin for the process that hears of all reports."""

    def __init__(self, platform: str = sys.platform) -> None:
        self._is_judged = platform == "linux"
        self._ran: set[str] = set()
        self._skipped: dict[str, str] = {}

    @property
    def found(self) -> list[str]:
        """The tests that were only ever skipped, with what they would have proved."""
        if not self._is_judged:
            return []
        return [f"{name} ({ids})" for name, ids in self._skipped.items() if name not in self._ran]

    def pytest_runtest_logreport(self, report: Any) -> None:
        ids = dict(report.user_properties).get(PROPERTY)
        name = report.nodeid.partition("[")[0]
        if ids is None:
            return
        if report.skipped:
            self._skipped[name] = ids
        elif report.when == "call":
            self._ran.add(name)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.found:
            terminalreporter.section("proofs of requirements that were skipped", red=True)
            for line in self.found:
                terminalreporter.line(line)
