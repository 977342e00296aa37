"""A queue between the reader and whoever consumes: bounded, ordered, and never the cause of a deadlock.

Over its soft limit the inbox presses: the peer stops reading, unless somebody on our side awaits an answer, which
could not arrive then. While it is over, what is put is merged with what waits (`session.merging`). Past its hard
limit it overflows, which is the end of the connection. One that is closed grows no more and presses no more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from typing import Generic, TypeVar

__all__ = ["Inbox", "Merging"]

T = TypeVar("T")


class Merging(Generic[T]):
    """How waiting items may be put together; see `session.merging` for the one used for changes."""

    def __init__(
        self,
        joins: Callable[[T], Hashable | None],
        joined: Callable[[Sequence[T]], T],
        supersedes: Callable[[T], Hashable | None],
        newest: Callable[[T, T], T],
    ) -> None:
        self.joins = joins
        self.joined = joined
        self.supersedes = supersedes
        self.newest = newest


class _Merged(Generic[T]):
    """What was put while the inbox was over its limit."""

    __slots__ = ("items", "joins", "size", "supersedes")

    def __init__(self, item: T, size: int, joins: Hashable | None, supersedes: Hashable | None) -> None:
        self.items = [item]
        self.size = size
        self.joins = joins
        self.supersedes = supersedes


class Inbox(Generic[T]):
    """Items in the order they were put. One consumer; ends when it was closed and is empty."""

    def __init__(
        self,
        *,
        limit: int,
        hard_limit: int,
        merging: Merging[T] | None = None,
        pressed: Callable[[bool], None] | None = None,
        overflowed: Callable[[int], None] | None = None,
    ) -> None:
        self.limit = limit
        self.hard_limit = hard_limit
        self.size = 0
        self.pressing = False
        """Whether it is over its limit; the reading stops for that until `stop_pressing`."""
        self._merging = merging
        self._pressed = pressed
        self._overflowed = overflowed
        self.waiting: deque[tuple[T, int] | _Merged[T]] = deque()
        """What can be taken, with its sizes."""
        self._replaceable: dict[Hashable, _Merged[T]] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._end: BaseException | None = None
        self._closed = False
        self._is_plain = True  # neither closed nor merging

    def __len__(self) -> int:
        return len(self.waiting)

    def put(self, item: T, size: int) -> None:
        """Add an item that takes about `size` bytes. After `close` it is dropped."""
        if self._is_plain:
            self.waiting.append((item, size))
        elif self._closed:
            return
        elif self._merging is not None:
            self._put_merged(item, size, self._merging)
        total = self.size = self.size + size
        if total > self.limit:
            self._check_limits()
        if self._waiter is not None:
            self._wake(self._waiter)

    def _wake(self, waiter: asyncio.Future[None]) -> None:
        self._waiter = None
        if not waiter.done():
            waiter.set_result(None)

    def close(self, error: BaseException | None = None) -> None:
        """No more items will come; what waits is still delivered, then `error` is raised if there is one."""
        if not self._closed:
            self._closed = True
            self._is_plain = False
            self._end = error
            self.stop_pressing()
            if self._waiter is not None:
                self._wake(self._waiter)

    def stop_pressing(self) -> None:
        """Never stop the reading again, whatever waits: somebody awaits what comes after it."""
        if self.pressing and self._pressed is not None:
            self._pressed(False)
        self._pressed = None

    def discard(self) -> None:
        """Close it and forget what waits: nobody will read it."""
        self.close()
        self.waiting.clear()
        self.size = 0
        self._relieve()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self.waiting or await self.filled():
            return self.take()
        raise StopAsyncIteration

    async def filled(self) -> bool:
        """Return when something waits; False when nothing will come any more. Raises what it was closed with."""
        while not self.waiting:
            if self._closed:
                self._relieve()
                if self._end is not None:
                    raise self._end
                return False
            waiter = self._waiter = asyncio.get_running_loop().create_future()
            try:
                await waiter
            finally:
                self._waiter = None
        return True

    def take(self) -> T:
        """The first that waits."""
        entry = self.waiting.popleft()
        if isinstance(entry, tuple):
            item, size = entry
        else:
            item, size = self._take_merged(entry), entry.size
        self.size -= size
        if self.pressing and self.size <= self.limit // 2:
            self._relieve()
        return item

    def _take_merged(self, entry: _Merged[T]) -> T:
        if entry.supersedes is not None and self._replaceable.get(entry.supersedes) is entry:
            del self._replaceable[entry.supersedes]
        if len(entry.items) > 1 and self._merging is not None:
            return self._merging.joined(entry.items)
        return entry.items[0]

    def _put_merged(self, item: T, size: int, merging: Merging[T]) -> None:
        joins = merging.joins(item)
        last = self.waiting[-1] if self.waiting else None
        if joins is not None and isinstance(last, _Merged) and last.joins == joins:
            last.items.append(item)
            last.size += size
            return
        supersedes = merging.supersedes(item)
        earlier = self._replaceable.get(supersedes) if supersedes is not None else None
        if earlier is not None:
            earlier.items[0] = merging.newest(earlier.items[0], item)
            self.size -= earlier.size
            earlier.size = size
            return
        entry = _Merged(item, size, joins, supersedes)
        if supersedes is not None:
            self._replaceable[supersedes] = entry
        self.waiting.append(entry)

    def _check_limits(self) -> None:
        if not self.pressing:
            self.pressing = True
            self._is_plain = self._merging is None
            if self._pressed is not None:
                self._pressed(True)
        if self.size > self.hard_limit and self._overflowed is not None:
            self._overflowed(self.size)

    def _relieve(self) -> None:
        if self.pressing:
            self.pressing = False
            self._is_plain = not self._closed
            self._replaceable.clear()
            if self._pressed is not None:
                self._pressed(False)
