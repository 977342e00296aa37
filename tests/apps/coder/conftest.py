from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apps.coder.scripted import desk, git


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "main.py").write_text("def double(n):\n    return n + n\n")
    (root / "test_main.py").write_text(
        "import unittest\nfrom main import double\n\n\nclass Doubling(unittest.TestCase):\n"
        "    def test_double(self):\n        self.assertEqual(double(2), 5)\n"
    )
    (root / "README.md").write_text("# Doubling\n\nDoubles numbers.\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "begin")
    return root


@pytest.fixture
def sit(project: Path, tmp_path: Path, version: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Open a desk in the project: `async with sit(...) as desk`."""
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))

    def open_desk(**options: Any) -> Any:
        return desk(options.pop("root", project), version, home=tmp_path / "home", **options)

    return open_desk
