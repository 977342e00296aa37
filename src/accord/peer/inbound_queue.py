"""A bounded, ordered queue between the reader of a connection and a consumer, which cannot cause a deadlock.

Above its soft limit the queue reports pressure: the peer stops reading, unless a task on our side awaits a response,
which could not arrive then. Meanwhile, new items are merged with queued ones (`session.backlog_merge`). Above its hard
limit it overflows, which ends the connection. A closed queue does not grow and reports no pressure.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class MergeRules(Generic[T]):
    """How queued items are merged; `session.backlog_merge` has the rules for updates.

    Adjacent items with the same `merge_key` become one item; of items with the same `supersede_key` the newest stays.
    """

    def __init__(
        self,
        merge_key: Callable[[T], Hashable | None],
        merge: Callable[[Sequence[T]], T],
        supersede_key: Callable[[T], Hashable | None],
        supersede: Callable[[T, T], T],
    ) -> None:
        self.merge_key = merge_key
        self.merge = merge
        self.supersede_key = supersede_key
        self.supersede = supersede


class _Merged(Generic[T]):
    """Items that were put while the queue was over its limit."""

    __slots__ = ("items", "merge_key", "size", "supersede_key")

    def __init__(self, item: T, size: int, merge_key: Hashable | None, supersede_key: Hashable | None) -> None:
        self.items = [item]
        self.size = size
        self.merge_key = merge_key
        self.supersede_key = supersede_key


class InboundQueue(Generic[T]):
    """Items in the order in which they were put, for one consumer; ends when it is closed and empty."""

    def __init__(
        self,
        *,
        limit: int,
        hard_limit: int,
        merge_rules: MergeRules[T] | None = None,
        on_pressure: Callable[[bool], None] | None = None,
        on_overflow: Callable[[int], None] | None = None,
    ) -> None:
        self.limit = limit
        self.hard_limit = hard_limit
        self.size = 0
        self.is_over_limit = False
        """Whether it asks the peer to stop reading."""
        self._merge_rules = merge_rules
        self._on_pressure = on_pressure
        self._on_overflow = on_overflow
        self.entries: deque[tuple[T, int] | _Merged[T]] = deque()
        """The queued items with their sizes."""
        self._replaceable: dict[Hashable, _Merged[T]] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._end: BaseException | None = None
        self._closed = False
        self._is_plain = True  # neither closed nor over its limit with merge rules

    def __len__(self) -> int:
        return len(self.entries)

    def put(self, item: T, size: int) -> None:
        """Add an item that takes about `size` bytes. After `close` it is dropped."""
        if self._is_plain:
            self.entries.append((item, size))
        elif self._closed:
            return
        elif self._merge_rules is not None:
            self._put_merged(item, size, self._merge_rules)
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
        """Accept no more items; queued ones are still delivered, then `error` is raised if there is one."""
        if not self._closed:
            self._closed = True
            self._is_plain = False
            self._end = error
            self.disable_pressure()
            if self._waiter is not None:
                self._wake(self._waiter)

    def disable_pressure(self) -> None:
        """Never ask the peer to stop reading again: a task awaits something that arrives later."""
        if self.is_over_limit and self._on_pressure is not None:
            self._on_pressure(False)
        self._on_pressure = None

    def discard(self) -> None:
        """Close it and drop the queued items: they will not be read."""
        self.close()
        self.entries.clear()
        self.size = 0
        self._end_pressure()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self.entries or await self.wait():
            return self.take()
        raise StopAsyncIteration

    async def wait(self) -> bool:
        """Wait for an item; False if no more will come. Raises the error that the queue was closed with."""
        while not self.entries:
            if self._closed:
                self._end_pressure()
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
        """Remove and return the first item."""
        entry = self.entries.popleft()
        if isinstance(entry, tuple):
            item, size = entry
        else:
            item, size = self._take_merged(entry), entry.size
        self.size -= size
        if self.is_over_limit and self.size <= self.limit // 2:
            self._end_pressure()
        return item

    def _take_merged(self, entry: _Merged[T]) -> T:
        if entry.supersede_key is not None and self._replaceable.get(entry.supersede_key) is entry:
            del self._replaceable[entry.supersede_key]
        if len(entry.items) > 1 and self._merge_rules is not None:
            return self._merge_rules.merge(entry.items)
        return entry.items[0]

    def _put_merged(self, item: T, size: int, rules: MergeRules[T]) -> None:
        merge_key = rules.merge_key(item)
        last = self.entries[-1] if self.entries else None
        if merge_key is not None and isinstance(last, _Merged) and last.merge_key == merge_key:
            last.items.append(item)
            last.size += size
            return
        supersede_key = rules.supersede_key(item)
        earlier = self._replaceable.get(supersede_key) if supersede_key is not None else None
        if earlier is not None:
            earlier.items[0] = rules.supersede(earlier.items[0], item)
            self.size -= earlier.size
            earlier.size = size
            return
        entry = _Merged(item, size, merge_key, supersede_key)
        if supersede_key is not None:
            self._replaceable[supersede_key] = entry
        self.entries.append(entry)

    def _check_limits(self) -> None:
        if not self.is_over_limit:
            self.is_over_limit = True
            self._is_plain = self._merge_rules is None
            if self._on_pressure is not None:
                self._on_pressure(True)
        if self.size > self.hard_limit and self._on_overflow is not None:
            self._on_overflow(self.size)

    def _end_pressure(self) -> None:
        if self.is_over_limit:
            self.is_over_limit = False
            self._is_plain = not self._closed
            self._replaceable.clear()
            if self._on_pressure is not None:
                self._on_pressure(False)
