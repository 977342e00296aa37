"""An agent as a program of its own: the one of the guide, as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from accord.session.requests import PermissionAnswer, PermissionRequest
from accord.transports.process_transport import ProcessTransport
from tests.conversations.client_side import ClientSide

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "agent.md"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    first = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]
    file = tmp_path / "agent.py"
    file.write_text(first, encoding="utf-8")
    return file


class Allowing(ClientSide):
    async def permission(self, asked: PermissionRequest) -> PermissionAnswer:
        return PermissionAnswer(outcome="selected", option_id=asked.options[0].id)


@pytest.mark.requirement("CHECK-01", "CHECK-02", "CHECK-06", "CHECK-16", "CHECK-17", "CHECK-24", "CHECK-25")
async def test_the_agent_of_the_guide_sweeps(version, program, tmp_path):
    (tmp_path / "old.pyc").touch()
    client = Allowing(
        ProcessTransport([sys.executable, "-W", "error", str(program)], close_grace=20.0), version=version
    )
    async with client:
        session = await client.new_session(str(tmp_path))
        assert await client.prompt(session, "Sweep, please") == "end_turn"
        assert not (tmp_path / "old.pyc").exists()
        assert "agent: Swept." in client.seen
        (call,) = client.transcripts[session].tool_calls.values()
        assert call.status == "completed"
    reason = await client.peer.wait_closed()
    assert reason.exit_code == 0, reason


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals")
def test_on_a_real_terminal_it_ends_by_itself(program):
    ours, theirs = os.openpty()
    try:
        finished = subprocess.run(
            [sys.executable, str(program)], stdin=theirs, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert finished.returncode == 0
    assert finished.stdout == ""
    assert "sweeper 1.0 is an agent" in finished.stderr
