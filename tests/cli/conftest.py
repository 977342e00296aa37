"""The command line, as a user with nothing set types it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Typed: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"


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
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = home.parent / "project"
    (directory / ".git").mkdir(parents=True)
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def typed(project: Path) -> Typed:
    """Run `accord` with these words."""

    def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        options = {"stdin": subprocess.DEVNULL, "cwd": project} | options
        command = [sys.executable, "-W", "error", "-m", "accord", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)

    return run
