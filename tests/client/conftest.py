"""Each test of a client runs for every version, with agents in memory; some also with one that is a process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord.client.commands import Command
from accord.dialects.negotiation import Offered
from tests.client.story_agent import StoryAgent

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "agent.py"


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> Offered:
    return request.param


@pytest.fixture
def notebook() -> Command:
    """The example agent, as a process."""
    return Command([sys.executable, str(EXAMPLE)], close_grace=20.0)


@pytest.fixture
def storyteller() -> Callable[..., Any]:
    """Makes agents in memory that do with a prompt what a test says."""
    return StoryAgent
