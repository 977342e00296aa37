"""The pytest plugin: each test in every version, clients that are closed, and conversations that are kept.

`pytest_plugins = ["accord.testing.plugin"]` in conftest.py loads it. It is not an entry point: for those pytest rewrites every
module of a package, in the tests of people who have accord installed and do not use it. It imports nothing of accord until a
test uses one of its fixtures. Asynchronous tests that no other plugin runs are run in an event loop of their own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from accord.client.client import Client
    from accord.client.target import AnyTarget
    from accord.testing.frame_taps import TappedTarget
    from accord.testing.recording import Recording

_VERSIONS = (1, 2, "2-draft")
_CONNECTIONS = pytest.StashKey["Connections"]()


class Connections:
    """The clients and recordings of one test."""

    def __init__(self, version: Any) -> None:
        self.recordings: list[Recording] = []
        self._version = version
        self._clients: list[Client] = []
        self._targets: list[Any] = []
        self._loop: AbstractEventLoop | None = None

    def record(self, target: AnyTarget) -> TappedTarget:
        """The same target, with its conversation kept."""
        from accord.testing.recording import Recording  # noqa: PLC0415  # as the module's docstring says

        recording = Recording()
        self.recordings.append(recording)
        return recording.of(target)

    async def connect(self, target: AnyTarget, **options: Any) -> Client:
        """A client that is open, and closed when the test is over."""
        from asyncio import get_running_loop  # noqa: PLC0415  # as above

        from accord.client.client import Client  # noqa: PLC0415  # as above

        self._loop = get_running_loop()
        self._targets.append(target)
        client = Client(self.record(target), **{"version": self._version, **options})
        await client.open()
        self._clients.append(client)
        return client

    async def aclose(self) -> None:
        """Close every client; raises what a scripted agent's handlers failed with."""
        while self._clients:
            await self._clients.pop().aclose()
        for target in self._targets:
            if getattr(target, "failures", None):
                target.check()

    def close_late(self) -> None:
        """For what a fixture opened when the test was no coroutine, or never ran."""
        if self._clients and self._loop is not None and not self._loop.is_closed():
            self._loop.run_until_complete(self.aclose())


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("acp", "Agent Client Protocol")
    group.addoption("--acp-record", metavar="DIR", help="write each test's conversations into this directory")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "acp_versions(*versions): the protocol versions that acp_version takes")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "acp_version" not in metafunc.fixturenames:
        return
    marks = metafunc.definition.iter_markers("parametrize")
    if not any("acp_version" in str(mark.args[0]) for mark in marks):
        marker = metafunc.definition.get_closest_marker("acp_versions")
        versions = marker.args if marker is not None and marker.args else _VERSIONS
        metafunc.parametrize("acp_version", versions, ids=[f"v{version}" for version in versions], indirect=True)


@pytest.fixture
def acp_version(request: pytest.FixtureRequest) -> Any:
    """Each protocol version in turn: 1, 2 and "2-draft", or those of `@pytest.mark.acp_versions(...)`."""
    return request.param


@pytest.fixture
def acp_connections(request: pytest.FixtureRequest) -> Generator[Connections, None, None]:
    """What `acp_connect` and `acp_record` opened and kept."""
    used = "acp_version" in request.fixturenames
    connections = Connections(request.getfixturevalue("acp_version") if used else "auto")
    request.node.stash[_CONNECTIONS] = connections
    yield connections
    connections.close_late()
    directory = request.config.getoption("--acp-record")
    if directory is not None:
        _save(connections.recordings, Path(directory), request.node.nodeid)


@pytest.fixture
def acp_connect(acp_connections: Connections) -> Callable[..., Awaitable[Client]]:
    """Await it with a target for an open `Client`, in the test's version, that is closed when the test is over."""
    return acp_connections.connect


@pytest.fixture
def acp_record(acp_connections: Connections) -> Callable[[AnyTarget], TappedTarget]:
    """Makes a target one whose conversation is kept, and shown if the test fails. Those of `acp_connect` are too."""
    return acp_connections.record


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Clients are closed at the end of the test's own coroutine: there the event loop runs, whoever runs it."""
    connections = item.stash.get(_CONNECTIONS, None)
    test = getattr(item, "obj", None)
    if connections is None or not inspect.iscoroutinefunction(test):
        return (yield)

    @wraps(test)
    async def closing(*args: Any, **kwargs: Any) -> None:
        try:
            await test(*args, **kwargs)
        except BaseException:
            with suppress(Exception):  # the test's own failure is what counts
                await connections.aclose()
            raise
        await connections.aclose()

    cast("Any", item).obj = closing
    try:
        return (yield)
    finally:
        cast("Any", item).obj = test


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an asynchronous test that nobody else runs: pytest-asyncio and anyio come first, pytest itself would refuse it."""
    from asyncio import run  # noqa: PLC0415  # as above

    test: Any = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    names = inspect.signature(test).parameters
    run(test(**{name: value for name, value in pyfuncitem.funcargs.items() if name in names}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The end of each conversation stands below the failure."""
    report = yield
    connections = item.stash.get(_CONNECTIONS, None)
    if connections is not None and report.failed and report.when == "call":
        for number, recording in enumerate(connections.recordings, start=1):
            name = "ACP conversation" if len(connections.recordings) == 1 else f"ACP conversation {number}"
            report.sections.append((name, recording.shown()))
    return report


def _save(recordings: list[Recording], directory: Path, test: str) -> None:
    name = re.sub(r"[^\w.\-\[\]]+", "-", test).strip("-")
    for number, recording in enumerate(recordings, start=1):
        recording.save(directory / (f"{name}.jsonl" if number == 1 else f"{name}-{number}.jsonl"))
