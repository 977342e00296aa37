"""A transport to an agent in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from accord.transports.memory import memory_pair
from accord.transports.transport import Receiver, Transport

__all__ = ["InProcessTransport"]


class InProcessTransport:
    """The client's end. Opening it starts to serve the agent's end; closing it ends that and waits for it."""

    def __init__(self, serve: Callable[[Transport], Coroutine[Any, Any, None]]) -> None:
        self._serve = serve
        self._client_end, self._agent_end = memory_pair()
        self._server: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        self._server = asyncio.create_task(self._serve(self._agent_end), name="accord agent in memory")
        await self._client_end.open(receiver)

    def send(self, frame: bytes) -> None:
        self._client_end.send(frame)

    def pause_receiving(self) -> None:
        self._client_end.pause_receiving()

    def resume_receiving(self) -> None:
        self._client_end.resume_receiving()

    @property
    def unsent(self) -> int:
        return self._client_end.unsent

    async def aclose(self) -> None:
        await self._client_end.aclose()
        if self._server is not None:
            await asyncio.wait([self._server])
