"""Opening and closing of a connection: one task does both, whichever task calls `aclose`.

Requests that were read before the end of input get their responses before the connection closes, within a time limit
and as long as the other side can read them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from accord.errors import ConnectionClosed
from accord.peer.inbound_requests import InboundRequests
from accord.peer.limits import Limits
from accord.transports.transport import Receiver, Transport

log = logging.getLogger("accord.peer")


class Lifetime:
    """Opens and closes once. `on_closing` is called before handlers are cancelled, `on_closed` at the very end."""

    def __init__(
        self,
        transport: Transport,
        inbound: InboundRequests,
        limits: Limits,
        on_closing: Callable[[], None],
        on_closed: Callable[[ConnectionClosed], None],
    ) -> None:
        self.is_lost = False
        self._transport = transport
        self._inbound = inbound
        self._limits = limits
        self._on_closing = on_closing
        self._on_closed = on_closed
        self._last_work: Coroutine[Any, Any, None] | None = None
        self._close_requested = asyncio.Event()
        self._is_urgent = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Open the transport; raises the error of that."""
        if self._owner is not None:
            raise RuntimeError("a peer can be opened only once; create another one")
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(receiver, opened), name="accord connection")
        try:
            await opened
        except asyncio.CancelledError:
            await self.aclose()
            raise

    def finish(self, work: Coroutine[Any, Any, None] | None) -> None:
        """Close when the work is done and every request has its response, or after the grace period."""
        self._last_work = work or _nothing()
        self._close_requested.set()

    def lose(self) -> None:
        """The other side is gone: close without waiting."""
        self.is_lost = True
        self._is_urgent.set()
        self._close_requested.set()

    async def aclose(self) -> None:
        """Close now. Safe to call twice, and from any task."""
        if self._opening is not None and not self._close_requested.is_set():
            self._opening.cancel()
        self._is_urgent.set()
        self._close_requested.set()
        if not self._inbound.owns(asyncio.current_task()):
            await self.ended()

    async def ended(self) -> None:
        """Wait until the connection is closed; returns at once if it was never opened."""
        if self._owner is not None:
            await asyncio.wait((self._owner,))

    async def _own(self, receiver: Receiver, opened: asyncio.Future[None]) -> None:
        try:
            await self._open_transport(receiver)
            if not opened.done():
                opened.set_result(None)
            await self._close_requested.wait()
            await self._finish()
        except Exception as error:  # noqa: BLE001  # raised in the task that opens
            if not opened.done():
                opened.set_exception(error)
        finally:
            self._on_closing()
            self._inbound.cancel_all()
            await self._inbound.wait_cancelled(self._limits.close_grace_seconds)
            try:
                await self._transport.aclose()
            except Exception:
                log.exception("closing the transport failed")
            self._on_closed(ConnectionClosed("closed by this side", kind="closed_here"))
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
        if self._is_urgent.is_set() and not self.is_lost:
            raise ConnectionClosed("closed before it was open", kind="not_open")

    async def _finish(self) -> None:
        if self._last_work is None:
            return
        responses = asyncio.create_task(self._respond_to_all(self._last_work), name="accord last responses")
        urgent = asyncio.create_task(self._is_urgent.wait())
        tasks = (responses, urgent)
        await asyncio.wait(tasks, timeout=self._limits.response_grace_seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def _respond_to_all(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            log.exception("the work at the end of input failed")
        await self._inbound.wait()


async def _nothing() -> None: ...
