"""The garbage collector, kept from stopping the screen: what was loaded at the start is never looked through again."""

from __future__ import annotations

import gc

__all__ = ["keep_collector_calm"]


def keep_collector_calm() -> None:
    """For a program that holds many small objects for long; call it when all modules are loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 50)
