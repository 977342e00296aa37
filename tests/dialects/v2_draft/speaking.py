"""A dialect of the v2 draft for tests."""

from __future__ import annotations

from accord.dialects.v2_draft import V2Draft
from accord.session.capabilities import ClientCapabilities
from tests.dialects.telling import ABLE


def speaker(strict: bool = False, client: ClientCapabilities = ABLE) -> V2Draft:
    return V2Draft(strict=strict, client=client)
