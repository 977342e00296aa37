"""The life of a connection, which is one task's affair: it opens the transport, and it closes it, whoever asks for that.

What was read before the other side fell silent is answered before the end, as long as it can hear that, and within a
bound.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from accord.errors import ConnectionClosed
from accord.peer.backpressure import Limits
from accord.peer.inbound_requests import Answering
from accord.transports.transport import Receiver, Transport

__all__ = ["Lifetime"]

log = logging.getLogger("accord.peer")


class Lifetime:
    """Opens and closes once. `ends` is called before what is unanswered is cancelled, `lost` when all is over."""

    def __init__(
        self,
        transport: Transport,
        answering: Answering,
        limits: Limits,
        ends: Callable[[], None],
        lost: Callable[[ConnectionClosed], None],
    ) -> None:
        self.is_over = False
        """Whether the transport has said so."""
        self._transport = transport
        self._answering = answering
        self._limits = limits
        self._ends = ends
        self._lost = lost
        self._last_work: Coroutine[Any, Any, None] | None = None
        self._close_requested = asyncio.Event()
        self._is_urgent = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Open the transport; raises what that raises."""
        if self._owner is not None:
            raise RuntimeError("a peer is opened only once; make another one")
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(receiver, opened), name="accord connection")
        try:
            await opened
        except asyncio.CancelledError:
            await self.aclose()
            raise

    def finish(self, work: Coroutine[Any, Any, None] | None) -> None:
        """Close when the work is done and every request is answered, or have waited for that long enough."""
        self._last_work = work or _nothing()
        self._close_requested.set()

    def lose(self) -> None:
        """Nobody is there any more: nothing is waited for."""
        self.is_over = True
        self._is_urgent.set()
        self._close_requested.set()

    async def aclose(self) -> None:
        """Close now. Safe to call twice, and from any task."""
        if self._opening is not None and not self._close_requested.is_set():
            self._opening.cancel()
        self._is_urgent.set()
        self._close_requested.set()
        if not self._answering.includes(asyncio.current_task()):
            await self.ended()

    async def ended(self) -> None:
        """Wait until all is closed; not at all if nothing was ever opened."""
        if self._owner is not None:
            await asyncio.wait((self._owner,))

    async def _own(self, receiver: Receiver, opened: asyncio.Future[None]) -> None:
        try:
            await self._open_transport(receiver)
            if not opened.done():
                opened.set_result(None)
            await self._close_requested.wait()
            await self._finish()
        except Exception as error:  # noqa: BLE001  # whoever opens gets it raised
            if not opened.done():
                opened.set_exception(error)
        finally:
            self._ends()
            self._answering.cancel_all()
            await self._answering.ended(self._limits.close_grace_seconds)
            try:
                await self._transport.aclose()
            except Exception:
                log.exception("closing the transport failed")
            self._lost(ConnectionClosed("closed by this side", kind="closed_here"))
            if not opened.done():
                opened.cancel()

    async def _open_transport(self, receiver: Receiver) -> None:
        owner = asyncio.current_task()
        assert owner is not None
        self._opening = owner
        try:
            if not self._close_requested.is_set():
                await self._transport.open(receiver)
        except asyncio.CancelledError:
            if not self._close_requested.is_set():
                raise
            owner.uncancel()
        finally:
            self._opening = None
        if self._is_urgent.is_set() and not self.is_over:
            raise ConnectionClosed("closed before it was open", kind="not_open")

    async def _finish(self) -> None:
        if self._last_work is None:
            return
        answered = asyncio.create_task(self._all_answered(self._last_work), name="accord last answers")
        urgent = asyncio.create_task(self._is_urgent.wait())
        tasks = (answered, urgent)
        await asyncio.wait(tasks, timeout=self._limits.answer_grace_seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def _all_answered(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            log.exception("what was to be done at the end of input failed")
        await self._answering.all_answered()


async def _nothing() -> None: ...
