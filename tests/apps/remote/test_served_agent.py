"""The coding agent behind `accord serve`: its sessions sleep, are woken, and are loaded from its own store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from accord import Client, Remote
from accord.apps.remote.serve import ServedCommand
from accord.dialects.negotiation import ProtocolVersion
from accord.relay.process_pool import RelayLimits
from tests.asgi_driver import until
from tests.client.test_remote import served

pytest.importorskip("hypercorn")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
async def test_its_sessions_sleep_and_are_woken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: ProtocolVersion
):
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))
    command = [sys.executable, "-m", "accord", "agent", "--model", "offline"]
    agent = ServedCommand(command, str(tmp_path), 10, RelayLimits(idle_seconds=0.3))
    async with served(agent.application()) as url, Client(Remote(url), version=version) as client:
        session = await client.new_session(str(tmp_path))
        await session.prompt("Hello")
        await until(lambda: [each.state for each in agent.snapshot().sessions] == ["asleep"])
        await until(lambda: not agent.snapshot().processes)
        await session.prompt("Hello again")
        texts = [each.text for each in session.transcript.messages.values()]
        assert (len(texts), texts[0], texts[2]) == (4, "Hello", "Hello again")
        async with Client(Remote(url), version=version) as other:
            found = await other.load_session(session.id, str(tmp_path))
            assert [each.text for each in found.transcript.messages.values()] == texts
            assert found.transcript.options == session.transcript.options
    assert agent.snapshot().totals.processes >= 2
