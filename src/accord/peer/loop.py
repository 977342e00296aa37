"""Which event loop runs a program: uvloop where it is installed, asyncio's own otherwise."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, on the fastest loop there is."""
    _open_the_first_three()
    try:
        import uvloop  # noqa: PLC0415  # an extra
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


def _open_the_first_three() -> None:
    # Where stdin, stdout or stderr is closed, the loop's own descriptors would get its number, and uvloop ends the
    # process when it closes one of those.
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
