"""The queue of calls to the user's callbacks: updates while no prompt runs, and notifications of extensions."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec

from accord.errors import AccordError
from accord.peer import InboundQueue, MergeRules, Peer
from accord.session import backlog_merge
from accord.session.updates import Update

log = logging.getLogger("accord.client")


def check_callback(name: str, callback: object, argument: str, example: str = "") -> None:
    """TypeError for what can't be called with one argument; None is no callback."""
    if callback is None:
        return
    if not callable(callback):
        raise TypeError(f"{name} is a function{example}, not {callback!r}")
    try:
        signature = inspect.signature(callback)
    except ValueError:  # some built-in functions have none
        return
    try:
        signature.bind(None)
    except TypeError:
        raise TypeError(
            f"{name} is called with one argument, {argument}; this function has: {', '.join(signature.parameters) or 'no parameters'}"
        ) from None


class _Call(msgspec.Struct):
    """A callback and its argument; with `wrap` the argument is made of an update, so that updates can be merged."""

    callback: Callable[[Any], Any]
    argument: Any
    wrap: Callable[[Update], Any] | None = None


def _key(call: _Call, key_of: Callable[[Update], Hashable | None]) -> Hashable | None:
    key = None if call.wrap is None else key_of(call.argument)
    return None if key is None else (call.wrap, call.callback, key)


def _joined(calls: Sequence[_Call]) -> _Call:
    first = calls[0]
    return _Call(first.callback, backlog_merge.merge([call.argument for call in calls]), first.wrap)


def _newest(earlier: _Call, later: _Call) -> _Call:
    backlog_merge.supersede(earlier.argument, later.argument)
    return later


_MERGING: MergeRules[_Call] = MergeRules(
    lambda call: _key(call, backlog_merge.merge_key),
    _joined,
    lambda call: _key(call, backlog_merge.supersede_key),
    _newest,
)


class CallbackQueue:
    """Calls in order, one at a time, in a task of its own; what a callback raises is logged."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._inbox: InboundQueue[_Call] | None = None
        self._task: asyncio.Task[None] | None = None

    def put(self, callback: Callable[[Any], Any], argument: Any, size: int) -> None:
        """Called by the reader: never waits, runs no user code."""
        self._put(_Call(callback, argument), size)

    def put_update(
        self, callback: Callable[[Any], Any], update: Update, size: int, wrap: Callable[[Update], Any]
    ) -> None:
        """As `put`, with `wrap(update)`. When the callback is slow, updates with an equal `wrap` are merged."""
        self._put(_Call(callback, update, wrap), size)

    def _put(self, call: _Call, size: int) -> None:
        if self._inbox is None:
            self._inbox = self._peer.new_queue(_MERGING)
            self._task = asyncio.create_task(self._run(self._inbox), name="accord callbacks")
        self._inbox.put(call, size)

    async def join(self) -> None:
        """Wait until everything that was put before has been delivered. Deadlocks in a callback."""
        if self._inbox is None or self._task is None:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inbox.put(_Call(reached.set_result, None), 0)
        await asyncio.wait((reached, self._task), return_when=asyncio.FIRST_COMPLETED)

    async def aclose(self, grace: float) -> None:
        """After the connection has closed: wait for the rest, at most `grace` seconds, unless called by a callback."""
        task = self._task
        if task is not None and task is not asyncio.current_task():
            _, stuck = await asyncio.wait((task,), timeout=grace)
            if stuck:
                task.cancel()
                await asyncio.wait((task,), timeout=grace)

    async def _run(self, inbox: InboundQueue[_Call]) -> None:
        try:
            async for call in inbox:
                try:
                    result = call.callback(call.argument if call.wrap is None else call.wrap(call.argument))
                    if inspect.isawaitable(result):
                        await result
                except Exception as error:  # noqa: BLE001  # the next call is made all the same
                    self._peer.limited_log.failure(log, error, "a callback failed")
        except AccordError:
            pass  # the connection has closed, and everything was delivered
        finally:
            self._peer.discard(inbox)
