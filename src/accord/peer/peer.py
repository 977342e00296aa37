"""A Conversation that is alive: reader, answers, deadlines, limits.

Laws:

- The reader never runs user code. Each message is handed, in wire order, to one function that decodes, applies and
  enqueues without waiting. What it returns for a request runs as a task of its own, so a handler may ask the other
  side anything, at any time.
- Every request received is answered exactly once; every request sent ends: with its answer, its deadline, or the end
  of the connection and the reason for that.
- What is sent leaves in the order of the calls.
- When the other side falls silent, what it has asked before is answered, then the connection ends.
- Whoever calls `aclose`, the transport is opened and closed by one and the same task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, Self, TypeAlias, TypeVar, overload

from msgspec import UNSET, Raw

from accord.errors import AccordError, ConnectionClosed, DeadlineExceeded, FrameRejected, RequestFailed
from accord.jsonrpc.messages import Notification
from accord.jsonrpc.pending_calls import (
    Answered,
    Ask,
    CancelRequested,
    Event,
    Failed,
    Ignored,
    NotificationReceived,
    PendingCalls,
    Reply,
    RequestReceived,
)
from accord.peer.backpressure import Flow, Limits
from accord.peer.inbound_queue import Inbox, Merging
from accord.peer.inbound_requests import Answering, correlation_id
from accord.peer.lifetime import Lifetime
from accord.peer.limited_log import LimitedLog
from accord.peer.outbound_requests import Call, OnAnswer, OnResult, outcome_of
from accord.peer.rejected_frames import Refusals
from accord.transports.transport import Transport

__all__ = ["Call", "Finish", "FrameObserver", "Peer", "Receive", "TakeFrame"]

log = logging.getLogger("accord.peer")

T = TypeVar("T")

Receive: TypeAlias = Callable[[RequestReceived | NotificationReceived], Coroutine[Any, Any, Any] | None]
"""Called by the reader for each message, in wire order; must not wait. For a request it returns what will answer it:
a coroutine, whose result is the answer. It may raise a RequestFailed instead. For a notification it may return what is
done about it, and is waited for by nobody."""

TakeFrame: TypeAlias = Callable[[bytes], bool]
"""Called by the reader with each frame before anything else is; must not wait. True when the frame was a well-formed
notification that has been taken in; any other is read by all the rules."""

Finish: TypeAlias = Callable[[], Coroutine[Any, Any, None] | None]
"""Called when the other side will say no more, but may still hear; what it returns is done before the connection closes."""

FrameObserver: TypeAlias = Callable[[Literal["sent", "received"], bytes], None]


class Peer:
    """One side of a connection."""

    def __init__(
        self,
        transport: Transport,
        receive: Receive,
        *,
        limits: Limits | None = None,
        on_frame: FrameObserver | None = None,
        on_rejected_frame: Callable[[FrameRejected], None] | None = None,
        on_closed: Callable[[ConnectionClosed], None] | None = None,
        finish: Finish | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.batches_allowed = True
        self._transport = transport
        self._receive = receive
        self.take_frame: TakeFrame | None = None
        """What is asked first about each frame, for those who know of a short cut."""
        self._on_frame = on_frame
        self._on_rejected_frame = on_rejected_frame
        self._on_closed = on_closed
        self._finish = finish
        self._conversation = PendingCalls(correlation_ids=iter(correlation_id, ""))
        self._flow = Flow(transport, self.limits, self._fail, lambda: self._conversation.is_owed)
        self.limited_log = LimitedLog()
        """For every line that the other side can cause, as often as it likes."""
        self._answering = Answering(self._conversation, self._flow, self._reply, self.limited_log)
        self._refusals = Refusals(self.limits.malformed_in_a_row, self.limited_log, self._flow.rest, self._fail)
        self._calls: dict[int, Call] = {}
        self._inboxes: list[Inbox[Any]] = []
        self._is_open = True
        self._closed: ConnectionClosed | None = None
        self._silence: ConnectionClosed | None = None
        self._ended: ConnectionClosed | None = None  # nothing more can be put into inboxes
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lifetime = Lifetime(transport, self._answering, self.limits, self._ends, self.connection_lost)

    def agree(self, *, odd_ids_allowed: bool, batches_allowed: bool) -> None:
        """What the agreed version allows; until then, everything JSON-RPC does."""
        self._conversation.null_ids_allowed = odd_ids_allowed
        self.batches_allowed = batches_allowed

    def new_future(self) -> asyncio.Future[Any]:
        """A future of the loop that the connection lives in."""
        if self._loop is None:
            raise ConnectionClosed("it is not open yet", kind="not_open")
        return self._loop.create_future()

    async def open(self) -> None:
        """Open the transport and begin to read. Once: a connection that has ended stays ended."""
        # Kept, because asking for the running loop costs a system call in Python 3.11.
        self._loop = self._answering.loop = asyncio.get_running_loop()
        await self._lifetime.open(self)

    async def aclose(self) -> None:
        """Close the connection. Safe to call twice, and from any task; a handler that calls it is itself ended."""
        self._is_open = False
        await self._lifetime.aclose()

    async def wait_closed(self) -> ConnectionClosed:
        """Wait until the connection has ended, by either side; tells why."""
        await self._lifetime.ended()
        return self._closed or ConnectionClosed("it was never opened", kind="not_open")

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
    def has_room(self) -> bool:
        """Whether something can be sent at once."""
        return self._is_open and self._flow.has_room

    def call(self, method: str, params: Any = UNSET, on_answer: OnAnswer | None = None) -> Call:
        """Send a request without waiting. `on_answer` is called in wire order, before whoever awaits the call wakes.

        Awaiting a call does not keep the connection reading while an inbox is full: consume the inbox, or use
        `request`.
        """
        return self._asked(method, params, on_answer, None)

    def _asked(self, method: str, params: Any, on_answer: OnAnswer | None, take: OnResult[Any] | None) -> Call:
        self._check_answerable()
        id, frame = self._conversation.request(method, params)
        call = self._calls[id] = Call(self, id, method, on_answer, take)
        self._send(frame)
        self._flow.asked()
        return call

    @overload
    async def request(self, method: str, params: Any = UNSET, *, deadline: float | None = None) -> Raw: ...

    @overload
    async def request(
        self, method: str, params: Any = UNSET, *, deadline: float | None = None, on_answer: OnResult[T]
    ) -> T: ...

    async def request(
        self, method: str, params: Any = UNSET, *, deadline: float | None = None, on_answer: OnResult[Any] | None = None
    ) -> Any:
        """Send a request and wait for its result, or for what `on_answer` makes of it, in wire order.

        Raises what it was answered with, DeadlineExceeded, or ConnectionClosed. When the waiting is cancelled, or
        the deadline passes, the other side is told by `$/cancel_request` and its late answer is dropped.
        """
        call = self._asked(method, params, None, on_answer)
        self._flow.awaiting(1)
        try:
            if deadline is None:
                return await call.future
            async with asyncio.timeout(deadline):
                return await call.future
        except TimeoutError:
            raise DeadlineExceeded(method, deadline or 0.0) from None
        finally:
            self._cease_to_await([call])

    async def batch(self, *entries: Ask | Notification, deadline: float | None = None) -> list[Raw | AccordError]:
        """Send requests and notifications as one array; the outcomes of the requests, in their order.

        Only for peers of v1 and the v2 draft; the methods that change what may come next are refused (RPC-63).
        """
        self._check_answerable()
        if not self.batches_allowed:
            raise ValueError("the version agreed on has no batches: send the messages one by one")
        ids, frame = self._conversation.batch(entries)
        methods = [entry.method for entry in entries if isinstance(entry, Ask)]
        calls = [Call(self, id, method) for id, method in zip(ids, methods, strict=True)]
        self._calls.update((call.id, call) for call in calls)
        self._send(frame)
        self._flow.awaiting(1)
        try:
            async with asyncio.timeout(deadline):
                return [await outcome_of(call) for call in calls]
        except TimeoutError:
            raise DeadlineExceeded("a batch", deadline or 0.0) from None
        finally:
            self._cease_to_await(calls)

    def _cease_to_await(self, calls: list[Call]) -> None:
        self._flow.awaiting(-1)
        for call in calls:
            if call.id in self._calls:
                self._give_up(call)

    def post(self, method: str, params: Any = UNSET) -> bool:
        """Send a notification without waiting for room; whether there is some left."""
        self._check_open()
        return self.post_frame(self._conversation.notify(method, params))

    def post_frame(self, frame: bytes) -> bool:
        """As `post`, of a notification that is encoded already; when the connection has ended, nothing but False."""
        return self._is_open and self._send(frame)

    async def notify(self, method: str, params: Any = UNSET) -> None:
        """Send a notification; returns when there is room for the next one."""
        if not self._is_open:
            self._check_open()
        self._send(self._conversation.notify(method, params))
        if not self._flow.has_room:
            await self.drain()

    async def drain(self) -> None:
        """Wait until the other side has taken enough of what was sent; raises if it is gone."""
        await self._flow.room()
        self._check_open()

    def cancel(self, call: Call) -> None:
        """As `Call.cancel`."""
        if call.id in self._calls:
            frame = self._conversation.cancel(call.id)
            if frame is not None:
                self._send(frame)

    def _give_up(self, call: Call) -> None:
        self.cancel(call)
        if self._calls.pop(call.id, None) is not None:
            self._conversation.forget(call.id)

    def inbox(self, merging: Merging[T] | None = None) -> Inbox[T]:
        """A queue for the reader to put things in: it slows this connection down when it is full, and ends with it."""
        inbox: Inbox[T] = Inbox(
            limit=self.limits.inbox,
            hard_limit=self.limits.inbox_hard,
            merging=merging,
            pressed=self._flow.inbox_pressed,
            overflowed=self._flow.inbox_overflowed,
        )
        if self._ended is not None:
            inbox.close(self._ended.again())
        self._inboxes.append(inbox)
        return inbox

    def discard(self, inbox: Inbox[Any]) -> None:
        """Close an inbox that nobody will read any more, so that it no longer slows the connection."""
        if inbox in self._inboxes:
            self._inboxes.remove(inbox)
            inbox.discard()

    def frames_received(self, frames: Sequence[bytes]) -> None:
        """Called by the transport, with frames in wire order."""
        receive, take, on_frame = self._conversation.receive, self.take_frame, self._on_frame
        for frame in frames:
            if on_frame is not None:
                self._observe(on_frame, "received", frame)
            if take is not None and self._closed is None:
                try:
                    if take(frame):
                        continue
                except Exception as error:  # noqa: BLE001  # it costs one message, not the connection
                    self._refusals.not_taken_in("a notification", error)
                    continue
            for event in receive(frame):
                if type(event) is NotificationReceived:
                    try:
                        work = self._receive(event)
                    except Exception as error:  # noqa: BLE001  # it costs one message, not the connection
                        self._refusals.not_taken_in(event.method, error)
                    else:
                        if work is not None:
                            self._answering.attend(event.method, len(memoryview(event.params)), work)
                else:
                    self._received(event, frame)
        if self._refusals.in_a_row:
            self._refusals.heard(len(frames))

    def _received(self, event: Event, frame: bytes) -> None:
        match event:
            case RequestReceived(incoming=incoming):
                try:
                    work = self._receive(event)
                except Exception as error:  # noqa: BLE001  # whatever it is, the request gets its answer
                    self._answering.failed(incoming, error)
                else:
                    self._answering.begin(incoming, work)
            case Answered(id=id, result=result):
                self._settle(id, result)
            case Failed(id=id, error=error):
                if isinstance(error, RequestFailed):
                    error.was_received = True
                self._settle(id, error)
            case CancelRequested(incoming=incoming):
                self._answering.cancel(incoming)
            case Reply(frame=answer, reason=reason, is_malformed=is_malformed):
                self._reply(answer)
                self._refusals.add(frame, reason, is_malformed=is_malformed)
            case Ignored(reason=reason, is_normal=is_normal):
                self._refusals.ignored(reason, is_normal=is_normal)
            case Notification():
                self._receive(event)

    def _settle(self, id: int, outcome: Raw | AccordError) -> None:
        call = self._calls.pop(id, None)
        if call is not None:
            call.settle(outcome)

    def frame_refused(self, error: FrameRejected) -> None:
        """Called by the transport: the sender learns why its frame was not taken, the connection lives (FN-33)."""
        if self._on_rejected_frame is not None:
            self._observe(self._on_rejected_frame, error)
        self._reply(self._conversation.refuse(error))
        self._refusals.add(b"", error.reason, is_malformed=True)
        self._refusals.heard(1)

    def input_ended(self, reason: ConnectionClosed) -> None:
        """Called by the transport: nothing more comes. What was read is answered, then the connection is closed."""
        if self._closed is None and self._silence is None:
            work = None if self._finish is None else self._finish()
            self._silence = reason
            self._end_waits(reason)
            self._lifetime.finish(work)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Called by the transport, last: every wait ends now, with the reason (FN-10)."""
        if self._closed is not None:
            return
        self._closed = self._silence or reason
        self._is_open = False
        self.limited_log.close()
        self._conversation.hang_up()
        if self._silence is None:
            self._end_waits(reason)
        self._flow.end()
        self._answering.cancel_all()
        self._lifetime.lose()

    def _end_waits(self, reason: ConnectionClosed) -> None:
        for id in list(self._calls):
            self._settle(id, reason.again())
        if self._on_closed is not None:  # before the inboxes are closed: it may have something to put into them
            try:
                self._on_closed(reason)
            except Exception:
                log.exception("what was to be told of the end failed")
        self._ended = reason
        for inbox in self._inboxes:
            inbox.close(reason.again())

    def _ends(self) -> None:
        self._is_open = False

    def send_paused(self) -> None:
        """Called by the transport when it holds enough unsent bytes."""
        self._flow.send_paused()

    def send_resumed(self) -> None:
        """Called by the transport when it has room again."""
        self._flow.send_resumed()

    def _send(self, frame: bytes) -> bool:
        if self._closed is not None:
            return False
        if self._on_frame is not None:
            self._observe(self._on_frame, "sent", frame)
        self._transport.send(frame)
        if self._flow.has_room:
            return True
        self._flow.sent()
        return False

    def _reply(self, frame: bytes) -> None:
        self._send(frame)
        if not self._flow.has_room:
            self._flow.answered(len(frame))

    def _fail(self, error: AccordError) -> None:
        if self._closed is None:
            log.error("the connection is given up: %s", error)
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

    def _check_answerable(self) -> None:
        self._check_open()
        if self._silence is not None:
            raise self._silence.again()

    def _observe(self, observer: Callable[..., None], *values: object) -> None:
        try:
            observer(*values)
        except Exception as error:  # noqa: BLE001  # it only looks on
            self.limited_log.failure(log, error, "the frame observer failed")
