"""The stores that the behaviour of every store is tested on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.store import MemoryStore, SqliteStore, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "sessions.db"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[Store]:
    async with MemoryStore() if request.param == "memory" else SqliteStore(path) as store:
        yield store
