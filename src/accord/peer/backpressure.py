"""Backpressure of a connection: when reading pauses, when writers wait, and when a hard limit ends the connection.

Law: reading pauses only for a condition that this side alone can end. So it goes on

- while a task here awaits a response, which could not arrive otherwise, or waits for room to write, which the other
  side may be unable to make before we have read what it sends;
- however much is unsent, unless it is responses: the other side has asked for those and must read them. But both sides
  may have asked, so reading goes on even then while we expect a response.

So backpressure cannot deadlock. Where it would have to, a hard limit ends the connection instead, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from accord.errors import Overloaded
from accord.peer.limits import Limits
from accord.transports.transport import Transport


class Backpressure:
    """Counts what one connection holds in memory, and pauses and resumes reading accordingly."""

    def __init__(
        self,
        transport: Transport,
        limits: Limits,
        fail: Callable[[Overloaded], None],
        is_response_expected: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._limits = limits
        self._fail = fail
        self._is_response_expected = is_response_expected
        self.is_reading = True
        """Whether input is read; false while reading is paused."""
        self._is_full = False
        self._is_closed = False
        self._is_paused_for_tick = False
        self._waiters = 0
        self._full_queues = 0
        self._request_count = 0
        self._request_bytes = 0
        self._unsent_responses = 0
        self._room: asyncio.Future[None] | None = None
        self.has_room = True
        """Whether a writer need not wait."""

    def waiters_changed(self, change: int) -> None:
        """A task began (1) or stopped (-1) to await a response, or room to write."""
        self._waiters += change
        if self._is_full or self._unsent_responses or not self.is_reading:
            self._update()

    def request_started(self, size: int) -> None:
        """The other side has one more open request, or a notification that is handled, with params of this size."""
        self._request_count += 1
        self._request_bytes += size
        if self._request_bytes > self._limits.open_request_bytes_hard:
            self._fail(Overloaded("bytes of unanswered requests", self._limits.open_request_bytes_hard))
        if self._request_count > self._limits.open_requests:
            if self._request_count > self._limits.open_requests_hard:
                self._fail(Overloaded("unanswered requests", self._limits.open_requests_hard))
            self._update()

    def request_ended(self, size: int) -> None:
        """A request, or a notification, of this size is done."""
        self._request_count -= 1
        self._request_bytes -= size
        if not self.is_reading or self._is_full:
            self._update()

    def queue_filled(self, is_full: bool) -> None:
        """A queue went over its limit, or is below it again."""
        self._full_queues += 1 if is_full else -1
        self._update()

    def queue_overflowed(self, size: int) -> None:
        """A queue is over its hard limit."""
        self._fail(Overloaded("bytes of updates that are not consumed", self._limits.queue_bytes_hard))

    def request_sent(self) -> None:
        """A response is expected from now on. Needs a call only if `is_reading` is false."""
        self._update()

    def frame_sent(self) -> None:
        """A frame was passed to the transport although it has no room."""
        if self._transport.unsent > self._limits.unsent_bytes_hard:
            self._fail(Overloaded("bytes that the other side does not read", self._limits.unsent_bytes_hard))

    def response_sent(self, size: int) -> None:
        """A response of this size was sent although the transport has no room."""
        self._unsent_responses += size
        if self._unsent_responses > self._limits.unsent_bytes:
            self._update()

    def pause_for_tick(self) -> None:
        """Read nothing more in this iteration of the loop, so that other work can run first."""
        if not self._is_paused_for_tick:
            self._is_paused_for_tick = True
            self._update()
            asyncio.get_running_loop().call_soon(self._end_of_tick)

    def _end_of_tick(self) -> None:
        self._is_paused_for_tick = False
        self._update()

    def send_paused(self) -> None:
        """The transport has no room."""
        if self._room is None and not self._is_closed:
            self._room = asyncio.get_running_loop().create_future()
            self.has_room = False

    def send_resumed(self) -> None:
        """The transport has room again."""
        if self._room is not None:
            self._room.set_result(None)
            self._room = None
            self.has_room = True
        self._unsent_responses = 0
        if not self.is_reading:
            self._update()

    async def wait_for_room(self) -> None:
        """Wait until there is room to write, or the connection is closed."""
        self.waiters_changed(1)
        try:
            while self._room is not None:
                await asyncio.shield(self._room)
        finally:
            self.waiters_changed(-1)

    def end(self) -> None:
        """The connection is closed: no task waits for room any more."""
        self._is_closed = True
        self.send_resumed()

    def _update(self) -> None:
        if self._is_closed:
            return
        self._is_full = (
            self._full_queues > 0
            or self._request_count > self._limits.open_requests
            or (self._unsent_responses > self._limits.unsent_bytes and not self._is_response_expected())
        )
        reads = (not self._is_full or self._waiters > 0) and not self._is_paused_for_tick
        if reads is not self.is_reading:
            self.is_reading = reads
            if reads:
                self._transport.resume_receiving()
            else:
                self._transport.pause_receiving()
