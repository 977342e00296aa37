"""A user with a home directory of their own, and a project in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("ACCORD_", "XDG_"))]:
        monkeypatch.delenv(name)
    directory = tmp_path / "home"
    directory.mkdir()
    monkeypatch.setenv("HOME", str(directory))
    return directory


@pytest.fixture
def user_file(home: Path) -> Path:
    file = home / ".config" / "accord" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
def project(home: Path) -> Path:
    directory = home / "project"
    (directory / ".git").mkdir(parents=True)
    return directory
