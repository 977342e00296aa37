"""The client's peer: a request whose answer is taken in at its place among the updates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Raw

from accord.errors import AccordError, DeadlineExceeded
from accord.peer import Peer

__all__ = ["RequestingPeer"]


class RequestingPeer(Peer):
    """A `Peer` that both awaits an answer, so that reading never stops meanwhile, and hears it in wire order."""

    async def ask(
        self, method: str, params: Any, on_answer: Callable[[Raw | AccordError], None], deadline: float | None
    ) -> Raw:
        """As `request`; `on_answer` is called as for `call`, before anything that came later is received."""
        call = self.call(method, params, on_answer)
        self._flow.awaiting(1)
        try:
            async with asyncio.timeout(deadline):
                return await call.future
        except TimeoutError:
            raise DeadlineExceeded(method, deadline or 0.0) from None
        finally:
            self._cease_to_await([call])

    def keep_reading(self, change: int) -> None:
        """Somebody on our side began (1) or ceased (-1) to wait for something that only reading can bring."""
        self._flow.awaiting(change)
