"""Retries a model request that failed before the answer began. The user sees each wait, and there is a limit.

Law: once a part of the answer was streamed, nothing is retried; the reader gets an error instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from accord.apps.coder.errors import ModelFailed, ModelOverloaded, ModelUnreachable
from accord.apps.coder.models.model import Event, Model, ModelRequest

OnWait: TypeAlias = Callable[[float, str], Awaitable[object] | None]
"""Called before each wait with its length in seconds and the reason."""

_RETRYABLE = (ModelOverloaded, ModelUnreachable)
"""Failures worth a retry: rate limits, server errors and failed connections. `models.errors` maps provider errors to these."""
_FIRST_DELAY = 1.0
_MAX_DELAY = 30.0
_MAX_REQUESTED_DELAY = 120.0  # a provider that asks for more: the user decides


async def stream_with_retries(
    model: Model, request: ModelRequest, *, retries: int = 4, on_wait: OnWait | None = None
) -> AsyncGenerator[Event, None]:
    """Stream an answer; retry up to `retries` times while the model is overloaded or unreachable."""
    for attempt in range(retries + 1):
        has_begun = False
        try:
            async with aclosing(model.stream(request)) as events:
                async for event in events:
                    has_begun = True
                    yield event
        except _RETRYABLE as failed:
            seconds = _delay(failed, attempt)
            if has_begun or attempt == retries or seconds > _MAX_REQUESTED_DELAY:
                raise
            if on_wait is not None and (waiting := on_wait(seconds, failed.reason)) is not None:
                await waiting
            await asyncio.sleep(seconds)
        else:
            return


def _delay(failed: ModelFailed, attempt: int) -> float:
    """The seconds that the provider asked for, otherwise exponential backoff."""
    if isinstance(failed, ModelOverloaded) and failed.retry_after is not None:
        return failed.retry_after
    return min(_FIRST_DELAY * 2**attempt, _MAX_DELAY)
