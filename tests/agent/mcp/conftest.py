from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.agent.mcp import ServerConnections
from tests.agent.mcp.peers import Watcher


@pytest.fixture
async def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
async def connections(tmp_path: Path, watcher: Watcher) -> AsyncIterator[ServerConnections]:
    async with ServerConnections(tmp_path, on_change=watcher) as connections:
        yield connections
