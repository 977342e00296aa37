"""Requests of the other side: runs the handler of each, and sends exactly one response. Handlers of notifications too."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from accord.errors import InternalError, RequestCancelled, RequestFailed
from accord.jsonrpc.batches import InboundBatch
from accord.jsonrpc.events import InboundRequest
from accord.jsonrpc.pending_calls import PendingCalls
from accord.peer.backpressure import Backpressure
from accord.peer.limited_log import LimitedLog

log = logging.getLogger("accord.peer")


class HandlerResult(msgspec.Struct, frozen=True):
    """A result, and a function to call right after it was sent, before anything else is sent (FN-01).

    `after_send` is not called if the result is not sent: it could not be encoded, or the connection is closed.
    """

    result: Any
    after_send: Callable[[], object]


def correlation_id() -> str:
    """An id for an internal error, which is sent to the other side and written to our log."""
    return os.urandom(8).hex()


class _RunningRequest:
    """A request and its handler. A task that is cancelled before its first step never runs, hence `has_begun`."""

    __slots__ = ("handler", "has_begun", "request", "size", "task")

    def __init__(self, request: InboundRequest, handler: Coroutine[Any, Any, Any]) -> None:
        self.request = request
        self.size = len(request.params)
        self.handler = handler
        self.has_begun = False
        self.task: asyncio.Task[None] | None = None


class InboundRequests:
    """Runs each handler in its own task and sends its outcome as the response."""

    loop: asyncio.AbstractEventLoop  # set when the connection opens

    def __init__(
        self,
        pending: PendingCalls,
        backpressure: Backpressure,
        send: Callable[[bytes], None],
        limited_log: LimitedLog,
    ) -> None:
        self._pending = pending
        self._backpressure = backpressure
        self._send = send
        self._limited_log = limited_log
        self._running: dict[InboundRequest, _RunningRequest] = {}
        self._notification_tasks: set[asyncio.Task[None]] = set()
        self._after_batch: dict[InboundBatch, list[Callable[[], object]]] = {}  # called when the batch's array is sent

    def start(self, request: InboundRequest, handler: Coroutine[Any, Any, Any] | None) -> None:
        """Run the handler of a request."""
        if handler is None:
            self.fail(request, TypeError(f"there is no handler for {request.method}"))
            return
        running = self._running[request] = _RunningRequest(request, handler)
        running.task = self.loop.create_task(self._run(running))
        self._backpressure.request_started(running.size)

    def start_notification(self, method: str, size: int, handler: Coroutine[Any, Any, Any]) -> None:
        """Run the handler of a notification. It counts as a request does, so that their number is limited."""

        def ended(task: asyncio.Task[None]) -> None:
            handler.close()  # it may never have begun
            self._notification_tasks.discard(task)
            self._backpressure.request_ended(size)

        task = self.loop.create_task(self._run_notification(method, handler))
        self._notification_tasks.add(task)
        task.add_done_callback(ended)
        self._backpressure.request_started(size)

    def cancel(self, request: InboundRequest) -> None:
        """Cancel the handler of a request; the response is sent all the same."""
        running = self._running.get(request)
        if running is not None:
            self._cancel(running)

    def cancel_all(self) -> None:
        """Cancel all handlers."""
        for running in list(self._running.values()):
            self._cancel(running)
        for task in self._notification_tasks:
            task.cancel()

    def owns(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether the task runs one of the handlers."""
        return task in self._tasks()

    async def wait(self) -> None:
        """Wait until all handlers have ended."""
        while tasks := self._tasks():
            await asyncio.wait(tasks)

    async def wait_cancelled(self, grace: float) -> None:
        """Wait until all cancelled handlers have ended, but no longer than `grace` seconds."""
        if tasks := self._tasks():
            _, stuck = await asyncio.wait(tasks, timeout=grace)
            for task in stuck:
                self._limited_log.warning(log, "a handler is still running although it was cancelled: %s", task)

    def fail(self, request: InboundRequest, error: BaseException) -> None:
        """Send an error response; an error that is not meant for the other side is only logged (RPC-37, FN-41)."""
        if not isinstance(error, RequestFailed) or error.was_received:
            name = correlation_id()
            self._limited_log.failure(log, error, "%s failed (correlation id %s)", request.method, name)
            error = InternalError(name)
        self._send_response(request, self._pending.fail(request, error))

    async def _run(self, running: _RunningRequest) -> None:
        running.has_begun = True
        request = running.request
        try:
            self._respond(request, await running.handler)
        except asyncio.CancelledError:
            self.fail(request, RequestCancelled())
        except Exception as error:  # noqa: BLE001  # whatever it is, the request gets a response
            self.fail(request, error)
        except BaseException as error:
            self.fail(request, error)
            raise
        finally:
            self._remove(request)

    async def _run_notification(self, method: str, handler: Coroutine[Any, Any, Any]) -> None:
        try:
            await handler
        except Exception as error:  # noqa: BLE001  # nothing waits for it
            self._limited_log.failure(log, error, "the handler of %s failed", method)

    def _tasks(self) -> list[asyncio.Task[None]]:
        tasks = [running.task for running in self._running.values() if running.task is not None]
        return [*tasks, *self._notification_tasks]

    def _cancel(self, running: _RunningRequest) -> None:
        if running.task is not None:
            running.task.cancel()
        if not running.has_begun:
            running.handler.close()
            self.fail(running.request, RequestCancelled())
            self._remove(running.request)

    def _remove(self, request: InboundRequest) -> None:
        self._backpressure.request_ended(self._running.pop(request).size)

    def _respond(self, request: InboundRequest, result: Any) -> None:
        after_send = None
        if type(result) is HandlerResult:
            result, after_send = result.result, result.after_send
        self._send_response(request, self._pending.respond(request, result), after_send)

    def _send_response(
        self, request: InboundRequest, frame: bytes | None, after_send: Callable[[], object] | None = None
    ) -> None:
        if request.failure is None and request.batch is None:  # nearly always
            if frame is not None:
                self._send(frame)
                if after_send is not None:
                    self._call_back(request, after_send)
            return
        if request.failure is not None:
            name, cause = request.failure.correlation_id, request.failure.__cause__ or request.failure
            self._limited_log.failure(
                log, cause, "the result of %s could not be encoded (correlation id %s)", request.method, name
            )
            after_send = None
        batch = request.batch
        callbacks = [] if batch is None else self._after_batch.pop(batch, [])
        if after_send is not None:
            callbacks.append(after_send)
        if frame is not None:
            self._send(frame)
            for callback in callbacks:
                self._call_back(request, callback)
        elif batch is not None and batch.pending and callbacks:
            self._after_batch[batch] = callbacks

    def _call_back(self, request: InboundRequest, callback: Callable[[], object]) -> None:
        try:
            callback()
        except Exception as error:  # noqa: BLE001  # the response is sent already
            self._limited_log.failure(log, error, "the callback after the response to %s failed", request.method)
