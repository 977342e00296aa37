"""Whatever several owners do with a few sessions, only the newest claim of each writes, and a store says so."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.errors import Fenced, NotFound, SessionInUse
from accord.session import Text
from accord.session.updates import MessageAppend
from accord.store import Claim, MemoryStore, Owner, SessionRecord, SqliteStore, Store

OWNERS = [Owner.here() for _ in range(3)]
SESSIONS = ["a", "b"]
KINDS = ["create", "claim", "take_over", "append", "append", "append", "commit", "renew", "release", "delete", "read"]
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(SESSIONS), st.integers(0, 2)), max_size=40)


class World:
    """A store, and beside it what it has to do, in the fewest words."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.said: dict[str, list[str]] = {}  # by session that is there
        self.holder: dict[str, int] = {}
        self.claims: dict[tuple[str, int], Claim] = {}
        self.newest = self.count = 0

    async def create(self, session: str, who: int) -> None:
        if session not in self.said:
            await self.store.create(SessionRecord(session, "/repo"))
            self.said[session] = []

    async def claim(self, session: str, who: int, take_over: bool = False) -> None:
        is_refused = self.holder.get(session, who) != who and not take_over
        expected = NotFound if session not in self.said else SessionInUse if is_refused else None
        claim = await outcome(self.store.claim(session, OWNERS[who], take_over), expected)
        if claim is not None:
            assert claim.epoch > self.newest or self.holder.get(session) == who
            self.newest = max(self.newest, claim.epoch)
            self.claims[session, who] = claim
            self.holder[session] = who

    async def take_over(self, session: str, who: int) -> None:
        await self.claim(session, who, take_over=True)

    async def append(self, session: str, who: int) -> None:
        if (session, who) in self.claims:
            self.count += 1
            is_taken = told(self.store, self.claims[session, who], f"{self.count} ")
            if self.holder.get(session) == who:
                assert is_taken
                self.said[session].append(f"{self.count} ")

    async def commit(self, session: str, who: int) -> None:
        await self._with_claim(self.store.commit, session, who)

    async def renew(self, session: str, who: int) -> None:
        await self._with_claim(self.store.renew, session, who)

    async def _with_claim(self, work: Callable[[Claim], Awaitable[None]], session: str, who: int) -> None:
        if (session, who) in self.claims:
            claim = self.claims[session, who]
            expected = NotFound if session not in self.said else None if self.holder.get(session) == who else Fenced
            await outcome(work(claim), expected)
            assert expected is not Fenced or not told(self.store, claim, "lost ")

    async def release(self, session: str, who: int) -> None:
        if (session, who) in self.claims:
            await self.store.release(self.claims[session, who])
            if self.holder.get(session) == who:
                del self.holder[session]

    async def delete(self, session: str, who: int) -> None:
        is_held = session in self.holder
        await outcome(self.store.delete(session), SessionInUse if is_held else None)
        if not is_held:
            self.said.pop(session, None)

    async def read(self, session: str, who: int) -> None:
        if session in self.said:
            assert await text(self.store, session) == "".join(self.said[session])


async def checked(store: Store, steps: list[tuple[str, str, int]]) -> None:
    world = World(store)
    for kind, session, who in steps:
        await getattr(world, kind)(session, who)
    for session in SESSIONS:
        await world.read(session, 0)
    await store.aclose()


async def outcome(work: Awaitable[Any], expected: type[Exception] | None) -> Any:
    if expected is None:
        return await work
    with pytest.raises(expected):
        await work
    return None


def told(store: Store, claim: Claim, word: str) -> bool:
    """Whether it was taken: where a store has not yet looked, what is too late is dropped later."""
    try:
        store.append(claim, [MessageAppend(role="agent", id="m", content=Text(word))])
    except Fenced:
        return False
    return True


async def text(store: Store, session: str) -> str:
    pages = [page async for page in store.read(session)]
    return "".join(report.content.text for page in pages for report in page)  # type: ignore[union-attr]


@given(STEPS)
@settings(max_examples=200)
def test_a_memory_store_lets_only_the_newest_claim_write(steps: list[Any]):
    asyncio.run(checked(MemoryStore(), steps))


@given(STEPS)
@settings(max_examples=40)
def test_a_sqlite_store_lets_only_the_newest_claim_write(steps: list[Any]):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(checked(SqliteStore(Path(folder) / "s.db"), steps))
