"""Our requests: each has exactly one outcome, a result or an error, which its response or the end of the connection sets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import Raw

from accord.errors import AccordError, ConnectionClosed
from accord.jsonrpc.batches import BatchRequest
from accord.jsonrpc.messages import Notification
from accord.jsonrpc.pending_calls import PendingCalls
from accord.peer.limited_log import LimitedLog

log = logging.getLogger("accord.peer")

T = TypeVar("T")

OnOutcome: TypeAlias = Callable[[Raw | AccordError], None]
"""Called by the reader with the result or the error; must not wait."""

OnResult: TypeAlias = Callable[[Raw], T]
"""Called by the reader with the result; must not wait. What it returns or raises is the outcome of the request."""


class OutboundRequest:
    """Await it for the result; it raises the error of the request."""

    __slots__ = ("_on_outcome", "_on_result", "_requests", "future", "id", "method")

    def __init__(
        self,
        requests: OutboundRequests,
        id: int,
        method: str,
        on_outcome: OnOutcome | None = None,
        on_result: OnResult[Any] | None = None,
    ) -> None:
        self._requests = requests
        self.id = id
        self.method = method
        self.future: asyncio.Future[Any] = requests.loop.create_future()
        self._on_outcome = on_outcome
        self._on_result = on_result

    def cancel(self) -> None:
        """Send `$/cancel_request`. A response still follows: a result, perhaps partial, or RequestCancelled."""
        self._requests.cancel(self)

    def __await__(self) -> Generator[Any, None, Any]:
        return self.future.__await__()

    def settle(self, outcome: Raw | AccordError) -> None:
        """Called once by the reader, in wire order, or at the end of the connection."""
        if self._on_outcome is not None:
            try:
                self._on_outcome(outcome)
            except Exception as error:  # noqa: BLE001  # the task that awaits it still gets the outcome
                self._requests.limited_log.failure(log, error, "the response to %s could not be handled", self.method)
        if self.future.done():  # the task that awaited it was cancelled, so `on_result` must not run
            return
        if isinstance(outcome, AccordError):
            self._fail(outcome)
            return
        try:
            self.future.set_result(outcome if self._on_result is None else self._on_result(outcome))
        except Exception as error:  # noqa: BLE001  # raised in the task that awaits it
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.future.set_exception(error)
        self.future.exception()  # retrieved: no warning for an error that no task awaits any more


class OutboundRequests:
    """The open requests of one connection."""

    loop: asyncio.AbstractEventLoop  # set when the connection opens

    def __init__(self, pending: PendingCalls, send: Callable[[bytes], object], limited_log: LimitedLog) -> None:
        self.limited_log = limited_log
        self._pending = pending
        self._send = send
        self.open: dict[int, OutboundRequest] = {}

    def start(
        self, method: str, params: Any, on_outcome: OnOutcome | None, on_result: OnResult[Any] | None
    ) -> OutboundRequest:
        """Send a request."""
        id, frame = self._pending.request(method, params)
        request = self.open[id] = OutboundRequest(self, id, method, on_outcome, on_result)
        self._send(frame)
        return request

    def start_batch(self, entries: Sequence[BatchRequest | Notification]) -> list[OutboundRequest]:
        """Send a batch; its requests."""
        ids, frame = self._pending.batch(entries)
        methods = [entry.method for entry in entries if isinstance(entry, BatchRequest)]
        requests = [OutboundRequest(self, id, method) for id, method in zip(ids, methods, strict=True)]
        self.open.update((request.id, request) for request in requests)
        self._send(frame)
        return requests

    def settle(self, id: int, outcome: Raw | AccordError) -> None:
        """Give an open request its outcome."""
        request = self.open.pop(id, None)
        if request is not None:
            request.settle(outcome)

    def cancel(self, request: OutboundRequest) -> None:
        """Ask the other side to end an open request early."""
        if request.id in self.open:
            frame = self._pending.cancel(request.id)
            if frame is not None:
                self._send(frame)

    def abandon(self, requests: Sequence[OutboundRequest]) -> None:
        """Cancel those that are open; their responses will be ignored."""
        for request in requests:
            if request.id in self.open:
                self.cancel(request)
                if self.open.pop(request.id, None) is not None:
                    self._pending.forget(request.id)

    def end(self, reason: ConnectionClosed) -> None:
        """Fail all open requests."""
        for id in list(self.open):
            self.settle(id, reason.again())


async def outcome_of(request: OutboundRequest) -> Raw | AccordError:
    """The outcome as a value: an error is returned, not raised."""
    try:
        return await request.future
    except AccordError as error:
        return error
