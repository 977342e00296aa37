"""What all tests share: settings that keep them free of wall clocks, and no silent gaps in CI."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.skipped_proofs import SkippedProofs, note_requirements

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

settings.register_profile("accord", deadline=None, print_blob=True)
settings.load_profile("accord")

# Our own tests forgive nothing, unless they test what is forgiven.
os.environ.setdefault("ACCORD_STRICT", "1")

# In CI every peer has to be there, so an interop test that is skipped is one that failed.
SKIPPING_FAILS = os.environ.get("CI") == "true"


def fail_if_skipped(report: Any) -> None:
    if SKIPPING_FAILS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but in CI every peer must be there: {report.longrepr}"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that hears of all
        config.pluginmanager.register(SkippedProofs())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    note_requirements(items)


def pytest_collection_finish() -> None:
    """Ten thousand tests are many objects, and would be looked through again and again: a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    if item.get_closest_marker("interop"):
        fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report = yield
    if collector.config.option.markexpr == "interop" and "tests/interop/" in collector.nodeid:
        fail_if_skipped(report)
    return report


@pytest.fixture(autouse=True)
def frames_fit_the_official_schema(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every frame that our peers send in a test, where the official schemas are at hand (ACP_SCHEMAS)."""
    if "ACP_SCHEMAS" not in os.environ or request.node.get_closest_marker("bad_frames"):
        yield
        return
    from tests.frame_watch import FrameWatch

    watch = FrameWatch()
    with watch.watching():
        yield
    assert watch.violations == []
