"""Work that outlives whoever waits for it, such as calls that block, made in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ["in_thread", "result_of"]

T = TypeVar("T")


async def result_of(work: asyncio.Future[T]) -> T:
    """Await work that goes on when whoever waits for it is cancelled.

    From Python 3.14 on, `asyncio.shield` logs what such work fails with, although somebody else still handles it.
    """
    await asyncio.wait((work,))
    return work.result()


async def in_thread(call: Callable[[], T]) -> T:
    """Cancelled, it waits for the thread all the same: what is done next must not be overtaken by it."""
    work = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await result_of(work)
    except asyncio.CancelledError:
        await asyncio.wait((work,))
        if not work.cancelled():
            work.exception()
        raise
