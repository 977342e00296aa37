"""Requests of the other side, from their arrival to the one answer each of them gets; and what notifications lead to."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from accord.errors import InternalError, RequestCancelled, RequestFailed
from accord.jsonrpc.events import OpenBatch
from accord.jsonrpc.pending_calls import Incoming, PendingCalls
from accord.peer.backpressure import Flow
from accord.peer.limited_log import LimitedLog

__all__ = ["Answer", "Answering", "correlation_id"]

log = logging.getLogger("accord.peer")


class Answer(msgspec.Struct, frozen=True):
    """A result with something to do right after it has been sent, before anything else can be (FN-01).

    `then` is not called when the answer never leaves: it could not be written, or nobody is there any more.
    """

    result: Any
    then: Callable[[], object]


def correlation_id() -> str:
    """A name for a failure, given to the other side and found in our log."""
    return os.urandom(8).hex()


class _Service:
    """One request being answered. A task that is cancelled before its first step never runs, hence `has_begun`."""

    __slots__ = ("has_begun", "incoming", "size", "task", "work")

    def __init__(self, incoming: Incoming, work: Coroutine[Any, Any, Any]) -> None:
        self.incoming = incoming
        self.size = len(incoming.params)
        self.work = work
        self.has_begun = False
        self.task: asyncio.Task[None] | None = None


class Answering:
    """Runs what answers each request as a task of its own, and sends what came of it."""

    loop: asyncio.AbstractEventLoop  # set when the connection opens

    def __init__(
        self, conversation: PendingCalls, flow: Flow, send: Callable[[bytes], None], limited: LimitedLog
    ) -> None:
        self._conversation = conversation
        self._flow = flow
        self._send = send
        self._limited = limited
        self._services: dict[Incoming, _Service] = {}
        self._attending: set[asyncio.Task[None]] = set()
        self._size = 0
        self._after: dict[OpenBatch, list[Callable[[], object]]] = {}  # what waits for the array of a batch to be sent

    def begin(self, incoming: Incoming, work: Coroutine[Any, Any, Any] | None) -> None:
        """Run what will answer the request."""
        if work is None:
            self.failed(incoming, TypeError(f"nothing answers {incoming.method}"))
            return
        service = self._services[incoming] = _Service(incoming, work)
        service.task = self.loop.create_task(self._serve(service))
        self._grow(service.size)

    def attend(self, method: str, size: int, work: Coroutine[Any, Any, Any]) -> None:
        """Do what a notification leads to. It counts as a request does: nobody can make us hold any number of them."""

        def attended(task: asyncio.Task[None]) -> None:
            work.close()  # it may never have begun
            self._attending.discard(task)
            self._grow(-size)

        task = self.loop.create_task(self._attend(method, work))
        self._attending.add(task)
        task.add_done_callback(attended)
        self._grow(size)

    def cancel(self, incoming: Incoming) -> None:
        """The other side would like the request to end early; whatever comes of that is its answer."""
        service = self._services.get(incoming)
        if service is not None:
            self._cancel(service)

    def cancel_all(self) -> None:
        """End all of them."""
        for service in list(self._services.values()):
            self._cancel(service)
        for task in self._attending:
            task.cancel()

    def includes(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether a task is one of those that answer."""
        return task in self._tasks()

    async def all_answered(self) -> None:
        """Wait until every request has its answer, and every notification what it leads to."""
        while tasks := self._tasks():
            await asyncio.wait(tasks)

    async def ended(self, grace: float) -> None:
        """Wait until all have ended, but no longer than `grace` seconds."""
        if tasks := self._tasks():
            _, stuck = await asyncio.wait(tasks, timeout=grace)
            for task in stuck:
                self._limited.warning(log, "a handler goes on although it was cancelled: %s", task)

    def failed(self, incoming: Incoming, error: BaseException) -> None:
        """Answer with an error; what is not meant for the other side stays in our log (RPC-37, FN-41)."""
        if not isinstance(error, RequestFailed) or error.was_received:
            name = correlation_id()
            self._limited.failure(log, error, "%s failed (correlation id %s)", incoming.method, name)
            error = InternalError(name)
        self._answered(incoming, self._conversation.fail(incoming, error))

    async def _serve(self, service: _Service) -> None:
        service.has_begun = True
        incoming = service.incoming
        try:
            self._succeeded(incoming, await service.work)
        except asyncio.CancelledError:
            self.failed(incoming, RequestCancelled())
        except Exception as error:  # noqa: BLE001  # whatever it is, the request gets its answer
            self.failed(incoming, error)
        except BaseException as error:
            self.failed(incoming, error)
            raise
        finally:
            self._forget(incoming)

    async def _attend(self, method: str, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001  # nobody waits for it
            self._limited.failure(log, error, "the handler of %s failed", method)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [*(service.task for service in self._services.values() if service.task is not None), *self._attending]

    def _grow(self, size: int) -> None:
        self._size += size
        self._flow.open_requests(len(self._services) + len(self._attending), self._size)

    def _cancel(self, service: _Service) -> None:
        if service.task is not None:
            service.task.cancel()
        if not service.has_begun:
            service.work.close()
            self.failed(service.incoming, RequestCancelled())
            self._forget(service.incoming)

    def _forget(self, incoming: Incoming) -> None:
        self._grow(-self._services.pop(incoming).size)

    def _succeeded(self, incoming: Incoming, result: Any) -> None:
        then = None
        if type(result) is Answer:
            result, then = result.result, result.then
        self._answered(incoming, self._conversation.answer(incoming, result), then)

    def _answered(self, incoming: Incoming, frame: bytes | None, then: Callable[[], object] | None = None) -> None:
        if incoming.failure is not None:
            name, cause = incoming.failure.correlation_id, incoming.failure.__cause__ or incoming.failure
            self._limited.failure(
                log, cause, "the answer to %s could not be encoded (correlation id %s)", incoming.method, name
            )
            then = None
        batch = incoming.batch
        following = [] if batch is None else self._after.pop(batch, [])
        if then is not None:
            following.append(then)
        if frame is not None:
            self._send(frame)
            for follow in following:
                self._follow(incoming, follow)
        elif batch is not None and batch.owed and following:
            self._after[batch] = following

    def _follow(self, incoming: Incoming, follow: Callable[[], object]) -> None:
        try:
            follow()
        except Exception as error:  # noqa: BLE001  # the answer has left
            self._limited.failure(log, error, "what was to follow the answer to %s failed", incoming.method)
