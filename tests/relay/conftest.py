"""The versions that every session must work with."""

from __future__ import annotations

import pytest

from accord.dialects.negotiation import ProtocolVersion


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> ProtocolVersion:
    return request.param
