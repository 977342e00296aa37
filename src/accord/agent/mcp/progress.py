"""Progress of a call in the order it was reported, and all of it before the result."""

from __future__ import annotations

import asyncio

from accord.agent.mcp.tools import OnProgress

__all__ = ["Progress"]


class Progress:
    """`mcp` starts a task for each report; here they line up."""

    def __init__(self, listener: OnProgress) -> None:
        self._listener = listener
        self._turn = asyncio.Lock()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        async with self._turn:
            await self._listener(progress, total, message)

    async def told(self) -> None:
        """Returns when everything that has arrived was told."""
        async with self._turn:
            pass
