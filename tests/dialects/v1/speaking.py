"""A v1 dialect for tests."""

from __future__ import annotations

from accord.dialects.v1 import V1
from accord.session.capabilities import ClientCapabilities
from tests.dialects.telling import ABLE


def speaker(strict: bool = False, client: ClientCapabilities = ABLE) -> V1:
    return V1(strict=strict, client=client)
