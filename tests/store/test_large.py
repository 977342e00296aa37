"""A long session is read in bounded memory, and much faster than it was told."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from accord.session import Transcript
from accord.session.content import Text
from accord.session.entities import ContentItem
from accord.session.updates import MessageAppend, Patch, ToolCallPatch
from accord.store import SqliteStore
from tests.store.telling import claimed, kept

COUNT = 100_000
MEBIBYTE = 1024 * 1024


def told(count: int) -> Iterator[Patch]:
    """Nine pieces of text, then news of a tool call, and so on."""
    for number in range(count):
        if number % 10 == 9:
            content = [ContentItem(Text("Replacing the handler's body."))]
            yield ToolCallPatch(id=f"c{number // 50}", title="Edit", status="in_progress", content=[*content])
        else:
            yield MessageAppend(role="agent", id=f"m{number // 500}", content=Text("The quick brown "))


async def test_a_hundred_thousand_reports_are_read_in_bounded_memory(path: Path):
    transcript = Transcript()
    async with SqliteStore(path) as store:
        await store.create(kept())
        for report in told(COUNT):
            transcript.apply(report)
            store.append(await claimed(store), [report])
        await store.commit(await claimed(store))
    async with SqliteStore(path) as store:
        count = 0
        await store.find("s")
        tracemalloc.start()
        async for page in store.read("s"):
            count += len(page)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 * MEBIBYTE
        assert count < COUNT / 10
        loaded = Transcript()
        async for page in store.read("s"):
            for report in page:
                loaded.apply(report)
    assert loaded.timeline == transcript.timeline


async def test_the_memory_of_reading_does_not_grow_with_the_session(path: Path):
    peaks: list[int] = []
    async with SqliteStore(path) as store:
        await store.create(kept())
        for _ in range(2):
            for _ in range(200):
                store.append(await claimed(store), [ToolCallPatch(id="c", raw_output="x" * 20_000)])
            await store.commit(await claimed(store))
            tracemalloc.start()
            async for _ in store.read("s"):
                pass
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
