"""A prompt on its way through a session's queue."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from accord.agent.connected_client import ConnectedClient
from accord.errors import RequestCancelled, RequestFailed
from accord.local.blocking import result_of
from accord.session.entities import TokenUsage
from accord.session.requests import Prompt

__all__ = ["WaitingPrompt"]


class WaitingPrompt:
    """Its request is answered at the end of its turn, or once it has its place in the conversation (v2)."""

    def __init__(self, asked: Prompt, client: ConnectedClient) -> None:
        self.asked = asked
        self.client = client
        self.message_id: str | None = None
        self.stop_reason: str | None = None
        self.token_usage: TokenUsage | None = None
        self.is_cancelled = False
        self.settled = asyncio.Event()
        """Its answer has left, or never will."""
        self.over = asyncio.Event()
        """Its turn has ended, or there will be none."""
        self.work: Coroutine[Any, Any, Any]
        self._answer_ends_turn = client.dialect.answer_ends_turn
        self._due: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_open(self) -> bool:
        """Whether its answer is still to come."""
        return not self._due.done()

    async def wait(self) -> None:
        """Return when it can be answered; raises what it should be answered with otherwise."""
        await result_of(self._due)

    def inserted(self, message_id: str) -> None:
        """It has its place."""
        self.message_id = message_id
        if not self._answer_ends_turn:
            self._resolve()

    def cancelled(self) -> None:
        """It never got its place."""
        self.over.set()
        if self._answer_ends_turn:
            self.ended("cancelled", None)
        else:
            self._resolve(RequestCancelled("The prompt was cancelled before it was taken up"))

    def ended(self, stop_reason: str, failure: RequestFailed | None) -> None:
        """Its turn is over."""
        self.over.set()
        self.stop_reason = stop_reason
        self._resolve(failure)

    def _resolve(self, failure: RequestFailed | None = None) -> None:
        if self._due.done():
            return
        if failure is None:
            self._due.set_result(None)
        else:
            self._due.set_exception(failure)
            self._due.exception()  # seen: it may be that nobody waits any more
