"""What null says: as in v1 it changes nothing, until the peer sends a form that v1 does not have; then it clears."""

from __future__ import annotations

from typing import Any

from accord.dialects.shown import ShowingDialect

__all__ = ["ClearingDialect"]


class ClearingDialect(ShowingDialect):
    """A dialect that listens for whether null clears in tool call updates (AMB-49)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.null_clears = False
        """The peer has sent a form that v1 does not have."""
