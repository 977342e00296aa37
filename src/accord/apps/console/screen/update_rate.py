"""Limits the rate at which updates of an agent reach the screen to about what it can draw.

Law: however much arrives at once, a key waits only until one portion is drawn. The other updates wait in the session's
queue, which slows down the agent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from msgspec.structs import replace

from accord.session.content import Text
from accord.session.updates import MessageChunk, Update

__all__ = ["UpdateRate", "portions"]

_PORTION = 4000
"""The number of characters that are drawn in about 30 ms. No model writes faster than 100,000 in a second."""
_OTHER_UPDATE = 100
"""The number of characters that any other update counts for."""
_SECONDS = 0.01
_PAUSE = 0.025


class UpdateRate:
    """Pauses the task that applies updates, so that the screen can draw and handle keys."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._characters = 0

    async def throttle(self, update: Update) -> None:
        """Call it after each update."""
        text = _text_of(update)
        self._characters += _OTHER_UPDATE if text is None else len(text)
        if self._characters > _PORTION:
            await asyncio.sleep(_PAUSE)
        elif time.perf_counter() - self._start > _SECONDS:
            await asyncio.sleep(0)
        else:
            return
        self._start, self._characters = time.perf_counter(), 0


def portions(update: Update) -> Iterator[Update]:
    """Split an update with a very long text into several."""
    text = _text_of(update)
    if text is None or len(text) <= _PORTION:
        yield update
        return
    assert isinstance(update, MessageChunk)
    for start in range(0, len(text), _PORTION):
        yield replace(update, content=replace(update.content, text=text[start : start + _PORTION]))


def _text_of(update: Update) -> str | None:
    if isinstance(update, MessageChunk) and isinstance(update.content, Text):
        return update.content.text
    return None
