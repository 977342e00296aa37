"""Waiting for work that must not be interrupted, such as blocking calls in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def shielded_result(work: asyncio.Future[T]) -> T:
    """Await work without cancelling it when the caller is cancelled.

    Unlike `asyncio.shield`, it logs nothing: from Python 3.14 on, that logs errors of the work which others still handle.
    """
    await asyncio.wait((work,))
    return work.result()


async def in_thread(call: Callable[[], T]) -> T:
    """As `asyncio.to_thread`, but a cancelled caller still waits for the thread, so that nothing overtakes it."""
    work = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await shielded_result(work)
    except asyncio.CancelledError:
        await asyncio.wait((work,))
        if not work.cancelled():
            work.exception()
        raise
