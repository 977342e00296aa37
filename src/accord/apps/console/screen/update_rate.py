"""How fast what an agent says reaches the screen: about as fast as it can be drawn.

Law: however much comes at once, a key waits for the drawing of one portion and for no more. What is not taken in yet
waits in the session's inbox, which slows the agent down.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from msgspec.structs import replace

from accord.session.content import Text
from accord.session.updates import MessageChunk, Update

__all__ = ["Pace", "portions"]

_LETTERS = 4000
"""That many are drawn in some 30 ms; no model writes faster than a hundred thousand in a second."""
_OTHER = 100
_SECONDS = 0.01
_PAUSE = 0.025


class Pace:
    """Makes the pauses of one who takes in changes as they come."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._letters = 0

    async def keep(self, change: Update) -> None:
        """Call it after each; it waits when it is time to draw."""
        self._letters += _letters_of(change)
        if self._letters > _LETTERS:
            await asyncio.sleep(_PAUSE)
        elif time.perf_counter() - self._begin > _SECONDS:
            await asyncio.sleep(0)
        else:
            return
        self._begin, self._letters = time.perf_counter(), 0


def _letters_of(change: Update) -> int:
    if isinstance(change, MessageChunk) and isinstance(change.content, Text):
        return len(change.content.text)
    return _OTHER


def portions(change: Update) -> Iterator[Update]:
    """The same change, a very long text cut into several."""
    if not isinstance(change, MessageChunk) or not isinstance(change.content, Text):
        yield change
        return
    text = change.content.text
    if len(text) <= _LETTERS:
        yield change
        return
    for start in range(0, len(text), _LETTERS):
        yield replace(change, content=replace(change.content, text=text[start : start + _LETTERS]))
