"""Content blocks of v1, and the updates that every version spells alike."""

from __future__ import annotations

from accord.dialects.alike import AlikeUpdates
from accord.dialects.content import ContentMapping
from accord.schema import v1 as wire

__all__ = ["ALIKE", "CONTENT"]

CONTENT = ContentMapping(wire, closed_by="v1")
ALIKE = AlikeUpdates(wire, CONTENT, meta_replaces=True)
