"""Asking a model again when it was too busy to begin, seen by the user and bounded.

Law: once a part of an answer was streamed, nothing is asked again; whoever reads is told that it broke.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from accord.apps.coder.errors import ModelFailed, ModelOverloaded, ModelUnreachable
from accord.apps.coder.models.model import Event, Model, ModelRequest

__all__ = ["OnWait", "stream_with_retries"]

OnWait: TypeAlias = Callable[[float, str], Awaitable[object] | None]
"""Told before each wait: its seconds, and why."""

_FIRST = 1.0
_LONGEST = 30.0
_TOO_LONG = 120.0  # who is asked to wait longer than this should decide for themselves


async def stream_with_retries(
    model: Model, asked: ModelRequest, *, retries: int = 4, on_wait: OnWait | None = None
) -> AsyncGenerator[Event, None]:
    """Stream an answer, asking up to `retries` times more while the model is overloaded or can't be reached."""
    for attempt in range(retries + 1):
        began = False
        try:
            async with aclosing(model.stream(asked)) as events:
                async for event in events:
                    began = True
                    yield event
        except (ModelOverloaded, ModelUnreachable) as failed:
            seconds = _wait(failed, attempt)
            if began or attempt == retries or seconds > _TOO_LONG:
                raise
            told = on_wait(seconds, failed.reason) if on_wait is not None else None
            if told is not None:
                await told
            await asyncio.sleep(seconds)
        else:
            return


def _wait(failed: ModelFailed, attempt: int) -> float:
    """What the provider asked for, else twice as long each time."""
    asked = failed.retry_after if isinstance(failed, ModelOverloaded) else None
    return min(_FIRST * 2**attempt, _LONGEST) if asked is None else asked
