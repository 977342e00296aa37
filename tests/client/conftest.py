"""Each test of a client runs for every version, with agents in memory; some also with one that is a process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from accord.client.target import Command
from accord.dialects.negotiation import ProtocolVersion

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "permission_and_diff.py"


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> ProtocolVersion:
    return request.param


@pytest.fixture
def notebook() -> Command:
    """The example agent, as a process."""
    return Command([sys.executable, str(EXAMPLE)], close_grace=20.0)
