"""The programs that the tests of interop meet, each a parameter; those that need Node are marked for `make interop`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.official_agents import PYTHON, TYPESCRIPT_V1, TYPESCRIPT_V2, OfficialAgent

V1 = [
    pytest.param(PYTHON, id="python-v1"),
    pytest.param(TYPESCRIPT_V1, id="typescript-v1", marks=pytest.mark.interop),
]
V2 = [pytest.param(TYPESCRIPT_V2, id="typescript-v2", marks=pytest.mark.interop)]


@pytest.fixture(params=[*V1, *V2])
def official(request: pytest.FixtureRequest) -> OfficialAgent:
    return request.param


@pytest.fixture(params=V1)
def official_v1(request: pytest.FixtureRequest) -> OfficialAgent:
    return request.param


@pytest.fixture(params=V2)
def official_v2(request: pytest.FixtureRequest) -> OfficialAgent:
    return request.param


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A session's directory, with a name that is not ASCII."""
    directory = tmp_path / "größe"
    directory.mkdir()
    return directory
