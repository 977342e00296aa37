"""One side of a live connection: reads messages, runs handlers, sends requests, and applies deadlines and limits.

Laws:

- The reader never runs user code. It passes each message, in wire order, to one function that decodes, applies and
  enqueues without waiting. The coroutine which that returns for a request runs in its own task, so a handler may send
  requests to the other side at any time.
- Every received request gets exactly one response. Every sent request ends: with its response, at its deadline, or at
  the end of the connection with the reason for that.
- Frames are sent in the order of the calls.
- After the end of input, the requests received before it get their responses, then the connection closes.
- One task opens and closes the transport, whichever task calls `aclose`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, Self, TypeAlias, TypeVar, overload

from msgspec import UNSET, Raw

from accord.errors import AccordError, ConnectionClosed, DeadlineExceeded, FrameRejected, RequestFailed
from accord.jsonrpc.batches import BatchRequest
from accord.jsonrpc.events import (
    CancelRequested,
    ErrorReceived,
    MessageIgnored,
    MessageRejected,
    NotificationReceived,
    RequestReceived,
    ResultReceived,
)
from accord.jsonrpc.messages import Notification
from accord.jsonrpc.pending_calls import PendingCalls
from accord.peer.backpressure import Backpressure
from accord.peer.inbound_queue import InboundQueue, MergeRules
from accord.peer.inbound_requests import InboundRequests, correlation_id
from accord.peer.lifetime import Lifetime
from accord.peer.limited_log import LimitedLog
from accord.peer.limits import Limits
from accord.peer.outbound_requests import OnOutcome, OnResult, OutboundRequest, OutboundRequests, outcome_of
from accord.peer.rejected_frames import RejectedFrames
from accord.transports.transport import Transport

log = logging.getLogger("accord.peer")

T = TypeVar("T")

OnMessage: TypeAlias = Callable[[RequestReceived | NotificationReceived], Coroutine[Any, Any, Any] | None]
"""Called by the reader for each message, in wire order; must not wait. For a request it returns the coroutine of the
handler, whose result is sent as the response, or raises a RequestFailed. For a notification it may return a coroutine
too, which runs in its own task."""

FrameFastPath: TypeAlias = Callable[[bytes], bool]
"""Called by the reader with each frame first; must not wait. True if the frame was a well-formed notification and has
been handled; every other frame is read by all the rules."""

OnInputEnd: TypeAlias = Callable[[], Coroutine[Any, Any, None] | None]
"""Called at the end of input, when the other side may still read; the connection closes after the returned coroutine."""

FrameObserver: TypeAlias = Callable[[Literal["sent", "received"], bytes], None]


class Peer:
    """One side of a connection."""

    def __init__(
        self,
        transport: Transport,
        on_message: OnMessage,
        *,
        limits: Limits | None = None,
        on_frame: FrameObserver | None = None,
        on_rejected_frame: Callable[[FrameRejected], None] | None = None,
        on_closed: Callable[[ConnectionClosed], None] | None = None,
        on_input_end: OnInputEnd | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.batches_allowed = True
        self.fast_path: FrameFastPath | None = None
        """Tried first for each frame."""
        self.limited_log = LimitedLog()
        """For every log line that the other side can cause, as often as it likes."""
        self._transport = transport
        self._on_message = on_message
        self._on_frame = on_frame
        self._on_rejected_frame = on_rejected_frame
        self._on_closed = on_closed
        self._on_input_end = on_input_end
        self._pending = PendingCalls(correlation_ids=iter(correlation_id, ""))
        self._backpressure = Backpressure(
            transport, self.limits, self._fail, lambda: self._pending.is_response_expected
        )
        self._inbound = InboundRequests(self._pending, self._backpressure, self._send_response, self.limited_log)
        self._outbound = OutboundRequests(self._pending, self._send, self.limited_log)
        self._rejected = RejectedFrames(
            self.limits.malformed_in_a_row, self.limited_log, self._backpressure.pause_for_tick, self._fail
        )
        self._queues: list[InboundQueue[Any]] = []
        self._is_open = True
        self._was_opened = False
        self._closed: ConnectionClosed | None = None
        self._input_end: ConnectionClosed | None = None
        self._queue_end: ConnectionClosed | None = None  # nothing more can be put into queues
        self._lifetime = Lifetime(transport, self._inbound, self.limits, self._start_closing, self.connection_lost)

    def set_version_rules(self, *, odd_ids_allowed: bool, batches_allowed: bool) -> None:
        """Apply the rules of the negotiated version; before, everything that JSON-RPC allows is allowed."""
        self._pending.null_ids_allowed = odd_ids_allowed
        self.batches_allowed = batches_allowed

    async def open(self) -> None:
        """Open the transport and begin to read. Only once: a closed connection stays closed."""
        # Stored, because asking for the running loop costs a system call in Python 3.11.
        self._outbound.loop = self._inbound.loop = asyncio.get_running_loop()
        self._was_opened = True
        await self._lifetime.open(self)

    async def aclose(self) -> None:
        """Close the connection. Safe to call twice, and from any task; a handler that calls it is cancelled too."""
        self._is_open = False
        await self._lifetime.aclose()

    async def wait_closed(self) -> ConnectionClosed:
        """Wait until the connection is closed, by either side; the reason."""
        await self._lifetime.ended()
        return self._closed or ConnectionClosed("the connection was never opened", kind="not_open")

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    @property
    def is_open(self) -> bool:
        """Whether messages can still be sent."""
        return self._is_open

    @property
    def has_input(self) -> bool:
        """Whether it is open, and more may arrive from the other side."""
        return self._is_open and self._closed is None and self._input_end is None

    @property
    def has_room(self) -> bool:
        """Whether a frame can be sent without waiting."""
        return self._is_open and self._backpressure.has_room

    def send_request(self, method: str, params: Any = UNSET, on_outcome: OnOutcome | None = None) -> OutboundRequest:
        """Send a request without waiting. `on_outcome` is called in wire order, before a task that awaits it wakes.

        Awaiting the request does not keep the connection reading while a queue is full: consume the queue, or use
        `request`.
        """
        return self._start_request(method, params, on_outcome, None)

    def _start_request(
        self, method: str, params: Any, on_outcome: OnOutcome | None, on_result: OnResult[Any] | None
    ) -> OutboundRequest:
        if not self._is_open or not self._was_opened or self._input_end is not None:
            self._check_can_request()
        request = self._outbound.start(method, params, on_outcome, on_result)
        if not self._backpressure.is_reading:
            self._backpressure.request_sent()
        return request

    @overload
    async def request(self, method: str, params: Any = UNSET, *, deadline: float | None = None) -> Raw: ...

    @overload
    async def request(
        self, method: str, params: Any = UNSET, *, deadline: float | None = None, on_result: OnResult[T]
    ) -> T: ...

    async def request(
        self, method: str, params: Any = UNSET, *, deadline: float | None = None, on_result: OnResult[Any] | None = None
    ) -> Any:
        """Send a request and wait for its result, or for what `on_result` returns for it, called in wire order.

        Raises the error of the response, DeadlineExceeded, or ConnectionClosed. If the waiting task is cancelled, or
        the deadline passes, `$/cancel_request` is sent and a late response is ignored.
        """
        request = self._start_request(method, params, None, on_result)
        self._backpressure.waiters_changed(1)
        try:
            if deadline is None:
                return await request.future
            async with asyncio.timeout(deadline):
                return await request.future
        except TimeoutError:
            raise DeadlineExceeded(method, deadline or 0.0) from None
        finally:
            self._backpressure.waiters_changed(-1)
            if request.id in self._outbound.open:
                self._outbound.abandon((request,))

    async def batch(
        self, *entries: BatchRequest | Notification, deadline: float | None = None
    ) -> list[Raw | AccordError]:
        """Send requests and notifications as one array; the outcomes of the requests, in their order.

        Only for peers of v1 and the v2 draft, and not for methods that change what may be sent next (RPC-63).
        """
        self._check_can_request()
        if not self.batches_allowed:
            raise ValueError("the negotiated version has no batches: send the messages one by one")
        requests = self._outbound.start_batch(entries)
        self._backpressure.waiters_changed(1)
        try:
            async with asyncio.timeout(deadline):
                return [await outcome_of(request) for request in requests]
        except TimeoutError:
            raise DeadlineExceeded("a batch", deadline or 0.0) from None
        finally:
            self._backpressure.waiters_changed(-1)
            self._outbound.abandon(requests)

    def post(self, method: str, params: Any = UNSET) -> bool:
        """Send a notification without waiting for room; whether there is room for more."""
        self._check_open()
        return self.post_frame(self._pending.notify(method, params))

    def post_frame(self, frame: bytes) -> bool:
        """As `post`, with an encoded notification; False if the connection is closed."""
        return self._is_open and self._send(frame)

    async def notify(self, method: str, params: Any = UNSET) -> None:
        """Send a notification; returns when there is room for the next one."""
        if not self._is_open:
            self._check_open()
        self._send(self._pending.notify(method, params))
        if not self._backpressure.has_room:
            await self.drain()

    async def drain(self) -> None:
        """Wait until there is room for more; raises ConnectionClosed."""
        await self._backpressure.wait_for_room()
        self._check_open()

    def new_queue(self, merge_rules: MergeRules[T] | None = None) -> InboundQueue[T]:
        """A queue for the reader to put items in: it slows this connection down when it is full, and ends with it."""
        queue: InboundQueue[T] = InboundQueue(
            limit=self.limits.queue_bytes,
            hard_limit=self.limits.queue_bytes_hard,
            merge_rules=merge_rules,
            on_pressure=self._backpressure.queue_filled,
            on_overflow=self._backpressure.queue_overflowed,
        )
        if self._queue_end is not None:
            queue.close(self._queue_end.again())
        self._queues.append(queue)
        return queue

    def discard(self, queue: InboundQueue[Any]) -> None:
        """Close a queue that will not be read any more, so that it no longer slows the connection."""
        if queue in self._queues:
            self._queues.remove(queue)
            queue.discard()

    def frames_received(self, frames: Sequence[bytes]) -> None:
        """Called by the transport, with frames in wire order."""
        receive, fast_path, on_frame = self._pending.receive, self.fast_path, self._on_frame
        settle = self._outbound.settle
        for frame in frames:
            if on_frame is not None:
                self._observe(on_frame, "received", frame)
            if fast_path is not None and self._closed is None:
                try:
                    if fast_path(frame):
                        continue
                except Exception as error:  # noqa: BLE001  # one message is lost, not the connection
                    self._rejected.add_failed("a notification", error)
                    continue
            for event in receive(frame):
                if type(event) is ResultReceived:
                    settle(event.id, event.result)
                elif type(event) is NotificationReceived:
                    self._notification_received(event)
                elif type(event) is RequestReceived:
                    self._request_received(event)
                else:
                    self._received(event, frame)
        if self._rejected.in_a_row:
            self._rejected.frames_received(len(frames))

    def _notification_received(self, event: NotificationReceived) -> None:
        try:
            handler = self._on_message(event)
        except Exception as error:  # noqa: BLE001  # one message is lost, not the connection
            self._rejected.add_failed(event.method, error)
        else:
            if handler is not None:
                self._inbound.start_notification(event.method, len(memoryview(event.params)), handler)

    def _request_received(self, event: RequestReceived) -> None:
        try:
            handler = self._on_message(event)
        except Exception as error:  # noqa: BLE001  # whatever it is, the request gets a response
            self._inbound.fail(event.request, error)
        else:
            self._inbound.start(event.request, handler)

    def _received(
        self, event: ErrorReceived | CancelRequested | MessageRejected | MessageIgnored, frame: bytes
    ) -> None:
        match event:
            case ErrorReceived(id=id, error=error):
                if isinstance(error, RequestFailed):
                    error.was_received = True
                self._outbound.settle(id, error)
            case CancelRequested(request=request):
                self._inbound.cancel(request)
            case MessageRejected(response=response, reason=reason, is_malformed=is_malformed):
                self._send_response(response)
                self._rejected.add(frame, reason, is_malformed=is_malformed)
            case MessageIgnored(reason=reason, is_normal=is_normal):
                self._rejected.add_ignored(reason, is_normal=is_normal)

    def frame_rejected(self, error: FrameRejected) -> None:
        """Called by the transport: the sender gets an error response, the connection goes on (FN-33)."""
        if self._on_rejected_frame is not None:
            self._observe(self._on_rejected_frame, error)
        self._send_response(self._pending.reject(error))
        self._rejected.add(b"", error.reason, is_malformed=True)
        self._rejected.frames_received(1)

    def input_ended(self, reason: ConnectionClosed) -> None:
        """Called by the transport: nothing more arrives. Received requests get their responses, then it closes."""
        if self._closed is None and self._input_end is None:
            work = None if self._on_input_end is None else self._on_input_end()
            self._input_end = reason
            self._end_waits(reason)
            self._lifetime.finish(work)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Called by the transport, last: every wait ends now, with the reason (FN-10)."""
        if self._closed is not None:
            return
        self._closed = self._input_end or reason
        self._is_open = False
        self.limited_log.close()
        self._pending.close()
        if self._input_end is None:
            self._end_waits(reason)
        self._backpressure.end()
        self._inbound.cancel_all()
        self._lifetime.lose()

    def _end_waits(self, reason: ConnectionClosed) -> None:
        self._outbound.end(reason)
        if self._on_closed is not None:  # before the queues are closed: it may put something into them
            try:
                self._on_closed(reason)
            except Exception:
                log.exception("the callback for the end of the connection failed")
        self._queue_end = reason
        for queue in self._queues:
            queue.close(reason.again())

    def _start_closing(self) -> None:
        self._is_open = False

    def send_paused(self) -> None:
        """Called by the transport when it has too many unsent bytes."""
        self._backpressure.send_paused()

    def send_resumed(self) -> None:
        """Called by the transport when it has room again."""
        self._backpressure.send_resumed()

    def _send(self, frame: bytes) -> bool:
        if self._closed is not None:
            return False
        if self._on_frame is not None:
            self._observe(self._on_frame, "sent", frame)
        self._transport.send(frame)
        if self._backpressure.has_room:
            return True
        self._backpressure.frame_sent()
        return False

    def _send_response(self, frame: bytes) -> None:
        if not self._send(frame):
            self._backpressure.response_sent(len(frame))

    def _fail(self, error: AccordError) -> None:
        if self._closed is None:
            log.error("the connection failed: %s", error)
            reason = error
            if not isinstance(reason, ConnectionClosed):
                reason = ConnectionClosed(str(error), kind="overloaded")
                reason.__cause__ = error
            self.connection_lost(reason)

    def _check_open(self) -> None:
        if not self._is_open:
            raise (
                ConnectionClosed("closed by this side", kind="closed_here")
                if self._closed is None
                else self._closed.again()
            )

    def _check_can_request(self) -> None:
        self._check_open()
        if not self._was_opened:
            raise ConnectionClosed("the connection is not open yet", kind="not_open")
        if self._input_end is not None:
            raise self._input_end.again()

    def _observe(self, observer: Callable[..., None], *values: object) -> None:
        try:
            observer(*values)
        except Exception as error:  # noqa: BLE001  # an observer must not disturb the connection
            self.limited_log.failure(log, error, "the frame observer failed")
