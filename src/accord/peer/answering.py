"""Requests of the other side, from their arrival to the one answer each of them gets."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from accord.errors import InternalError, RequestCancelled, RequestFailed
from accord.jsonrpc.conversation import Conversation, Incoming
from accord.peer.flow import Flow

__all__ = ["Answer", "Answering"]

log = logging.getLogger("accord.peer")


class Answer(msgspec.Struct, frozen=True):
    """A result with something to do right after it has been sent, before anything else can be (FN-01)."""

    result: Any
    then: Callable[[], None]


class Answering:
    """Runs what answers each request as a task of its own, and sends what came of it."""

    def __init__(self, conversation: Conversation, flow: Flow, send: Callable[[bytes], None]) -> None:
        self._conversation = conversation
        self._flow = flow
        self._send = send
        self._tasks: dict[Incoming, asyncio.Task[Any]] = {}

    def begin(self, incoming: Incoming, work: Coroutine[Any, Any, Any] | None) -> None:
        """Run what will answer the request."""
        if work is None:
            self.failed(incoming, TypeError(f"nothing answers {incoming.method}"))
            return
        task = asyncio.ensure_future(work)
        self._tasks[incoming] = task
        # A callback, not a wrapper: it answers also when the task is cancelled before its first step.
        task.add_done_callback(partial(self._done, incoming))
        self._flow.open_requests(len(self._tasks))

    def cancel(self, incoming: Incoming) -> None:
        """The other side would like the request to end early; whatever comes of that is its answer."""
        task = self._tasks.get(incoming)
        if task is not None:
            task.cancel()

    def includes(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether a task is one of those that answer."""
        return task in self._tasks.values()

    def cancel_all(self) -> None:
        """End all of them."""
        for task in list(self._tasks.values()):
            task.cancel()

    async def ended(self, grace: float) -> None:
        """Wait until all have ended, but no longer than `grace` seconds."""
        tasks = list(self._tasks.values())
        if tasks:
            _, stuck = await asyncio.wait(tasks, timeout=grace)
            for task in stuck:
                log.warning("a handler goes on although it was cancelled: %r", task)

    def failed(self, incoming: Incoming, error: BaseException) -> None:
        """Answer with an error; what is not meant for the other side stays in our log (RPC-37, FN-41)."""
        if not isinstance(error, RequestFailed) or error.was_received:
            correlation_id = secrets.token_hex(8)
            log.error("%s failed (correlation id %s)", incoming.method, correlation_id, exc_info=error)
            error = InternalError(correlation_id)
        frame = self._conversation.fail(incoming, error)
        if frame is not None:
            self._send(frame)

    def _done(self, incoming: Incoming, task: asyncio.Task[Any]) -> None:
        del self._tasks[incoming]
        if task.cancelled():
            self.failed(incoming, RequestCancelled())
        elif (error := task.exception()) is not None:
            self.failed(incoming, error)
        else:
            self._succeeded(incoming, task.result())
        self._flow.open_requests(len(self._tasks))

    def _succeeded(self, incoming: Incoming, result: Any) -> None:
        then = None
        if type(result) is Answer:
            result, then = result.result, result.then
        frame = self._conversation.answer(incoming, result)
        if incoming.failure is not None:
            log.error("the answer to %s could not be encoded", incoming.method, exc_info=incoming.failure)
        if frame is not None:
            self._send(frame)
        if then is not None:
            try:
                then()
            except Exception:
                log.exception("what was to follow the answer to %s failed", incoming.method)
