"""`accord run` and its like against agents whose code stays in the test."""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

Typed: TypeAlias = "Callable[..., Awaitable[Finished]]"


class Finished(msgspec.Struct):
    """How a program ended, and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in self.out.splitlines()]

    @property
    def notes(self) -> list[str]:
        """The lines of stderr, but for the one that is there only when the agent takes long to start."""
        return [line for line in self.err.splitlines() if not line.startswith("starting ")]

    def event(self, kind: str) -> dict[str, Any]:
        found = [event for event in self.events if event["type"] == kind]
        assert found, self
        return found[0]


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that accord keeps for its user."""
    for name in [name for name in os.environ if name.startswith("ACCORD_") and name != "ACCORD_STRICT"]:
        monkeypatch.delenv(name)
    directory = tmp_path / "accord"
    directory.mkdir()
    monkeypatch.setenv("ACCORD_HOME", str(directory))
    monkeypatch.setenv("HOME", str(tmp_path))
    return directory


@pytest.fixture
def activated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The virtual environment of these tests is active: the shell finds its `accord`."""
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def project(home: Path) -> Path:
    directory = home.parent / "project"
    (directory / ".git").mkdir(parents=True)
    (directory / "notes.md").write_text("# Notes\n\nBuy milk.\n")
    return directory


@pytest.fixture
def start(project: Path) -> Callable[..., Awaitable[asyncio.subprocess.Process]]:
    """Start `accord` with these words."""

    async def starting(*words: object, **options: Any) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        options = {"stdin": asyncio.subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, "cwd": project} | options
        return await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-m", "accord", *map(str, words), **options
        )

    return starting


@pytest.fixture
def typed(start: Callable[..., Awaitable[asyncio.subprocess.Process]]) -> Typed:
    """Run `accord` with these words, and with this on its stdin."""

    async def run(*words: object, stdin: bytes | None = None, held_open: int | None = None, **options: Any) -> Finished:
        if stdin is not None:
            options["stdin"] = asyncio.subprocess.PIPE
        elif held_open is not None:
            options["stdin"] = held_open
        process = await start(*words, **options)
        out, err = await process.communicate(stdin)
        assert process.returncode is not None
        return Finished(process.returncode, (out or b"").decode(), (err or b"").decode())

    return run
