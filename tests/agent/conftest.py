"""Each test runs for every version, with an agent in memory and a client made of the parts below the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.dialects.negotiation import ProtocolVersion
from accord.store import MemoryStore, SqliteStore, Store


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> ProtocolVersion:
    return request.param


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "sessions.db")
    yield store
    await store.aclose()
