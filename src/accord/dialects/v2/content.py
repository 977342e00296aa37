"""Content blocks of v2, and the updates that every version spells alike."""

from __future__ import annotations

from accord.dialects.alike import AlikeUpdates
from accord.dialects.content import ContentMapping
from accord.schema import v2 as wire

__all__ = ["ALIKE", "CONTENT"]

CONTENT = ContentMapping(wire)
ALIKE = AlikeUpdates(wire, CONTENT)
