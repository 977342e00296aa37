"""What the environment asks for."""

from __future__ import annotations

import os

__all__ = ["is_strict"]


def is_strict() -> bool:
    """Whether `ACCORD_STRICT` asks for strict reading: unknown members, variants and loose forms are errors then."""
    return os.environ.get("ACCORD_STRICT", "") not in ("", "0")
