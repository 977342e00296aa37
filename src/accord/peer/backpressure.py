"""Back-pressure and limits: when a peer stops reading, when writers wait, and how much is held at most.

Law: reading pauses only for what this side alone can end, such as its own turn of the loop. So it goes on

- while somebody here awaits an answer, which could not arrive then, or waits for room, which the other side may be
  unable to make until it has been read;
- whatever is unsent, unless it is answers: whoever asked for those is bound to read them. But two sides may both have
  asked, so not even then while we are owed an answer.

Then back-pressure cannot deadlock. Where it would have to, a hard limit ends the connection instead, saying why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from accord.errors import Overloaded
from accord.transports.transport import Transport

__all__ = ["Flow", "Limits"]


class Flow:
    """Counts what one connection makes us hold, and acts on it."""

    def __init__(
        self,
        transport: Transport,
        limits: Limits,
        fail: Callable[[Overloaded], None],
        is_owed: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._limits = limits
        self._fail = fail
        self._is_owed = is_owed
        self._is_reading = True
        self._is_over = False
        self._is_resting = False
        self._awaiting = 0
        self._pressing = 0
        self._open_requests = 0
        self._unsent_answers = 0
        self._room: asyncio.Future[None] | None = None
        self.has_room = True
        """Whether a writer need not wait."""

    def awaiting(self, change: int) -> None:
        """Somebody on our side began (1) or ceased (-1) to await an answer, or room."""
        self._awaiting += change
        if self._pressing or not self._is_reading or self._awaiting == 0:
            self._regulate()

    def open_requests(self, count: int, size: int) -> None:
        """So many requests of the other side are unanswered now, which came with so many bytes."""
        self._open_requests = count
        if size > self._limits.open_request_bytes_hard:
            self._fail(Overloaded("bytes of unanswered requests", self._limits.open_request_bytes_hard))
        if count > self._limits.open_requests:
            if count > self._limits.open_requests_hard:
                self._fail(Overloaded("unanswered requests", self._limits.open_requests_hard))
            self._regulate()
        elif not self._is_reading:
            self._regulate()

    def inbox_pressed(self, presses: bool) -> None:
        """An inbox went over its limit, or came back from there."""
        self._pressing += 1 if presses else -1
        self._regulate()

    def inbox_overflowed(self, size: int) -> None:
        """An inbox holds more than it ever may."""
        self._fail(Overloaded("bytes of updates that nobody consumes", self._limits.inbox_hard))

    def asked(self) -> None:
        """An answer is owed to us from now on."""
        if not self._is_reading:
            self._regulate()

    def sent(self) -> None:
        """Something was handed to the transport although it has no room."""
        if self._transport.unsent > self._limits.unsent_hard:
            self._fail(Overloaded("bytes that the other side does not read", self._limits.unsent_hard))

    def answered(self, size: int) -> None:
        """What was sent is an answer of so many bytes."""
        self._unsent_answers += size
        if self._unsent_answers > self._limits.unsent:
            self._regulate()

    def rest(self) -> None:
        """Read no more in this turn of the loop: what else is due comes first."""
        if not self._is_resting:
            self._is_resting = True
            self._regulate()
            asyncio.get_running_loop().call_soon(self._rested)

    def _rested(self) -> None:
        self._is_resting = False
        self._regulate()

    def send_paused(self) -> None:
        """The transport holds enough."""
        if self._room is None and not self._is_over:
            self._room = asyncio.get_running_loop().create_future()
            self.has_room = False

    def send_resumed(self) -> None:
        """The transport has room again."""
        if self._room is not None:
            self._room.set_result(None)
            self._room = None
            self.has_room = True
        self._unsent_answers = 0
        if not self._is_reading:
            self._regulate()

    async def room(self) -> None:
        """Wait until there is room to write, or the connection is over."""
        self.awaiting(1)
        try:
            while self._room is not None:
                await asyncio.shield(self._room)
        finally:
            self.awaiting(-1)

    def end(self) -> None:
        """The connection is over: nobody waits for room any more."""
        self._is_over = True
        self.send_resumed()

    def _regulate(self) -> None:
        if self._is_over:
            return
        is_full = (
            self._pressing > 0
            or self._open_requests > self._limits.open_requests
            or (self._unsent_answers > self._limits.unsent and not self._is_owed())
        )
        reads = (not is_full or self._awaiting > 0) and not self._is_resting
        if reads is not self._is_reading:
            self._is_reading = reads
            if reads:
                self._transport.resume_receiving()
            else:
                self._transport.pause_receiving()


MIB = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Past a soft limit we stop reading (when that can't deadlock); past a hard one the connection fails, saying why."""

    inbox: int = 4 * MIB
    inbox_hard: int = 128 * MIB
    unsent: int = 4 * MIB
    unsent_hard: int = 256 * MIB
    open_requests: int = 4096
    open_requests_hard: int = 65536
    open_request_bytes_hard: int = 256 * MIB
    malformed_in_a_row: int = 1000
    answer_grace_seconds: float = 2.5
    close_grace_seconds: float = 5.0
