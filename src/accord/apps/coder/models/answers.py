"""The HTTP answers that a stream has opened, so that leaving the stream closes them.

Google's library does not: its answers stay open, and are paid for, until Python collects its garbage.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

import httpx2

__all__ = ["Answers", "watched_client"]

_answers: ContextVar[Answers | None] = ContextVar("answers", default=None)


def watched_client(*, keeps_connections: bool = True) -> httpx2.AsyncClient:
    """A client whose answers are noted."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(600, connect=10),
        limits=httpx2.Limits(max_keepalive_connections=None if keeps_connections else 0),
        event_hooks={"response": [_note]},
    )


async def _note(answer: httpx2.Response) -> None:
    answers = _answers.get()
    if answers is not None:
        answers.opened.append(answer)


class Answers:
    """Those of one stream."""

    def __init__(self) -> None:
        self.opened: list[httpx2.Response] = []

    @contextmanager
    def noted(self) -> Generator[None]:
        """Whatever is asked within belongs to this stream. Left in the step that entered it: it is a context variable."""
        token = _answers.set(self)
        try:
            yield
        finally:
            _answers.reset(token)

    async def aclose(self) -> None:
        for answer in self.opened:
            await answer.aclose()
