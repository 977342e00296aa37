"""Content blocks of the draft, which are v2's, and the updates that all versions spell alike."""

from __future__ import annotations

from accord.dialects.alike import AlikeUpdates
from accord.dialects.v2.content import CONTENT
from accord.schema import v2

__all__ = ["ALIKE", "CONTENT"]

ALIKE = AlikeUpdates(v2, CONTENT, meta_replaces=True)
