"""Which event loop runs a program: uvloop where it is installed, asyncio's own otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, on the fastest loop there is."""
    try:
        import uvloop  # noqa: PLC0415  # an extra
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)
