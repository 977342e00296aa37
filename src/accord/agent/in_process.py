"""An agent in the same process: the client's end of a connection whose other end is served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from accord.transports.memory import joined
from accord.transports.transport import Receiver, Transport

__all__ = ["InProcessTransport"]


class InProcessTransport:
    """A transport. Opening it starts the agent's side, closing it ends that and waits for it."""

    def __init__(self, serve: Callable[[Transport], Coroutine[Any, Any, None]]) -> None:
        self._serve = serve
        self._ours, self._theirs = joined()
        self._serving: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        self._serving = asyncio.create_task(self._serve(self._theirs), name="accord agent in memory")
        await self._ours.open(receiver)

    def send(self, frame: bytes) -> None:
        self._ours.send(frame)

    def pause_receiving(self) -> None:
        self._ours.pause_receiving()

    def resume_receiving(self) -> None:
        self._ours.resume_receiving()

    @property
    def unsent(self) -> int:
        return self._ours.unsent

    async def aclose(self) -> None:
        await self._ours.aclose()
        if self._serving is not None:
            await asyncio.wait([self._serving])
