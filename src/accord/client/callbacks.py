"""Updates that belong to no reply, and notifications of extensions: handed to the user's callbacks one after the other."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from accord.errors import AccordError
from accord.peer import InboundQueue, MergeRules, Peer
from accord.session import backlog_merge
from accord.session.updates import Update

if TYPE_CHECKING:
    from accord.client.session import Session

__all__ = ["CallbackQueue", "OnUpdate", "SessionUpdate"]

log = logging.getLogger("accord.client")


class SessionUpdate(msgspec.Struct, frozen=True):
    """A change of a session that no prompt of ours is running in. `replayed`: it is history, told as it is taken up."""

    session: Session
    update: Update
    replayed: bool = False


OnUpdate: TypeAlias = Callable[[SessionUpdate], Awaitable[None] | None]


class _Delivery(msgspec.Struct):
    callback: Callable[[Any], Any]
    item: Any


def _key(delivery: _Delivery, of: Callable[[Update], Hashable | None]) -> Hashable | None:
    update = delivery.item
    if type(update) is not SessionUpdate:
        return None
    key = of(update.update)
    return None if key is None else (id(update.session), update.replayed, delivery.callback, key)


def _joined(deliveries: Sequence[_Delivery]) -> _Delivery:
    first = deliveries[0]
    change = backlog_merge.merge([delivery.item.update for delivery in deliveries])
    return _Delivery(first.callback, SessionUpdate(first.item.session, change, first.item.replayed))


def _newest(earlier: _Delivery, later: _Delivery) -> _Delivery:
    backlog_merge.supersede(earlier.item.update, later.item.update)
    return later


_MERGING: MergeRules[_Delivery] = MergeRules(
    lambda delivery: _key(delivery, backlog_merge.merge_key),
    _joined,
    lambda delivery: _key(delivery, backlog_merge.supersede_key),
    _newest,
)


class CallbackQueue:
    """Calls back in order, one at a time, in a task of its own; what a callback raises is logged."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._inbox: InboundQueue[_Delivery] | None = None
        self._task: asyncio.Task[None] | None = None

    def put(self, callback: Callable[[Any], Any], item: Any, size: int) -> None:
        """From the reader: never waits, runs nothing."""
        if self._inbox is None:
            self._inbox = self._peer.new_queue(_MERGING)
            self._task = asyncio.create_task(self._deliver(self._inbox), name="accord deliveries")
        self._inbox.put(_Delivery(callback, item), size)

    async def caught_up(self) -> None:
        """Wait until everything that was put before has been delivered. Not for callbacks: they would wait for themselves."""
        if self._inbox is None or self._task is None:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inbox.put(_Delivery(reached.set_result, None), 0)
        await asyncio.wait((reached, self._task), return_when=asyncio.FIRST_COMPLETED)

    async def ended(self, grace: float) -> None:
        """After the connection has ended: wait until all was delivered, but not for ever, nor for ourselves."""
        task = self._task
        if task is not None and task is not asyncio.current_task():
            _, stuck = await asyncio.wait((task,), timeout=grace)
            if stuck:
                task.cancel()
                await asyncio.wait((task,), timeout=grace)

    async def _deliver(self, inbox: InboundQueue[_Delivery]) -> None:
        try:
            async for delivery in inbox:
                try:
                    result = delivery.callback(delivery.item)
                    if inspect.isawaitable(result):
                        await result
                except Exception as error:  # noqa: BLE001  # the next update is delivered all the same
                    self._peer.limited_log.failure(log, error, "a callback failed")
        except AccordError:
            pass  # the connection has ended, and all was delivered
        finally:
            self._peer.discard(inbox)
