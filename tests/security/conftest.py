from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apps.coder.conftest import project as project  # noqa: PLC0414  # a fixture
from tests.apps.coder.scripted import desk


@pytest.fixture
def sit(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Open a desk in the project: `async with sit(...) as desk`. What is attacked does not depend on the version."""
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))

    def open_desk(**options: Any) -> Any:
        return desk(options.pop("root", project), options.pop("version", 2), home=tmp_path / "home", **options)

    return open_desk
