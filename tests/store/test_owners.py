"""Whose claim holds, and until when, with real processes."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from accord.errors import Fenced, SessionInUse, StoreFailed
from accord.store import Owner, SqliteStore, locks
from tests.store.telling import kept, said, text

ROOT = Path(__file__).parents[2]
HERE = Owner.here()
ELSEWHERE = Owner("elsewhere", 4711, "other-host", "another boot")

unix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
Process = asyncio.subprocess.Process
Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteStore(path) as store:
        await store.create(kept())
        yield store


@pytest.fixture
async def start(path: Path) -> AsyncIterator[Start]:
    """Starts a process that has the session."""
    started: list[Process] = []

    async def begin(end: str = "closes") -> Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-m", "tests.store.holding", str(path), end),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def said_by(process: Process, line: str | None = None) -> str:
    """The next line of a process, after it has read one."""
    assert process.stdin is not None
    assert process.stdout is not None
    if line is not None:
        process.stdin.write(f"{line}\n".encode())
    return (await process.stdout.readline()).decode().strip()


def owners(path: Path) -> list[str]:
    folder = path.with_name(f"{path.name}-owners")
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


@unix
async def test_a_claim_ends_when_its_process_is_killed(store: SqliteStore, start: Start, path: Path):
    holder = await start()
    assert await said_by(holder) == "ready"
    assert await said_by(holder, "first ") == "kept"
    with pytest.raises(SessionInUse) as refused:
        await store.claim("s", HERE)
    assert refused.value.pid == holder.pid
    holder.kill()
    await holder.wait()
    claim = await store.claim("s", HERE)
    store.append(claim, said("second"))
    await store.commit(claim)
    assert await text(store) == "first second"
    assert owners(path) == [HERE.id]  # what the dead one left is swept away


@unix
async def test_a_session_whose_process_was_killed_can_be_deleted(store: SqliteStore, start: Start):
    holder = await start()
    assert await said_by(holder) == "ready"
    with pytest.raises(SessionInUse):
        await store.delete("s")
    holder.kill()
    await holder.wait()
    await store.delete("s")


@pytest.mark.parametrize("end", ["closes", "breaks off", "returns"])
async def test_a_claim_ends_with_its_process(store: SqliteStore, start: Start, end: str):
    holder = await start(end)
    assert await said_by(holder) == "ready"
    assert holder.stdin is not None
    holder.stdin.close()
    await holder.wait()
    await store.claim("s", HERE)


@unix
async def test_a_stopped_process_keeps_its_claim_and_can_be_taken_over(store: SqliteStore, start: Start):
    holder = await start()
    assert await said_by(holder) == "ready"
    assert await said_by(holder, "first ") == "kept"
    holder.send_signal(signal.SIGSTOP)
    with pytest.raises(SessionInUse) as refused:
        await store.claim("s", HERE)
    assert refused.value.pid == holder.pid
    claim = await store.claim("s", HERE, take_over=True)
    store.append(claim, said("second"))
    await store.commit(claim)
    holder.send_signal(signal.SIGCONT)
    for _ in range(2):
        assert f"taken over by another process: pid {os.getpid()}" in await said_by(holder, "lost")
    assert await text(store) == "first second"


async def test_of_several_processes_one_has_the_session(store: SqliteStore, start: Start):
    processes = [await start() for _ in range(4)]
    first = [await said_by(process) for process in processes]
    assert first.count("ready") == 1
    winner = processes[first.index("ready")]
    assert {*first} == {"ready", f"refused {winner.pid}"}
    assert await said_by(winner, "mine") == "kept"


async def test_two_owners_in_one_process_are_two(store: SqliteStore, path: Path):
    claim = await store.claim("s", HERE)
    async with SqliteStore(path) as second:
        with pytest.raises(SessionInUse, match=f"pid {os.getpid()}"):
            await second.claim("s", Owner.here())
    assert await store.claim("s", HERE) == claim
    await store.renew(claim)


async def test_closing_a_store_gives_its_claims_back(store: SqliteStore, path: Path):
    async with SqliteStore(path) as second:
        await second.claim("s", HERE)
        assert owners(path) == [HERE.id]
    assert not path.with_name(f"{path.name}-owners").exists()
    await store.claim("s", Owner.here())


async def test_closing_one_of_two_stores_with_one_owner_leaves_the_others_claims(store: SqliteStore, path: Path):
    await store.create(kept("t"))
    await store.create(kept("u"))
    async with SqliteStore(path) as second:
        first = SqliteStore(path)
        for name, each in (("s", first), ("t", second), ("u", first), ("u", second)):
            await each.claim(name, HERE)
        mine = await second.claim("t", HERE)
        await first.aclose()
        assert owners(path) == [HERE.id]
        await store.claim("s", Owner.here())
        for name in "tu":
            with pytest.raises(SessionInUse):
                await store.claim(name, Owner.here())
        second.append(mine, said("still mine"))
        await second.commit(mine)
    for name in "tu":
        await store.claim(name, Owner.here())
    assert HERE.id not in owners(path)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_claim_that_two_stores_have_is_free_when_both_have_released_it(
    store: SqliteStore, path: Path, times: int
):
    async with SqliteStore(path) as first, SqliteStore(path) as second:
        claim = await first.claim("s", HERE)
        assert await second.claim("s", HERE) == claim
        for _ in range(times):
            await first.release(claim)
        with pytest.raises(SessionInUse):
            await store.claim("s", Owner.here())
        with pytest.raises(SessionInUse):
            await first.delete("s")
        second.append(claim, said("still mine"))
        await second.commit(claim)
        assert await first.claim("s", HERE) == claim
        await second.release(claim)
        with pytest.raises(SessionInUse):
            await store.claim("s", Owner.here())
        await first.release(claim)
        await store.claim("s", Owner.here())


async def test_a_release_that_waits_for_the_file_frees_nothing_that_another_store_has(store: SqliteStore, path: Path):
    first = SqliteStore(path, patience=0)
    async with SqliteStore(path) as second:
        claim = await first.claim("s", HERE)
        with closing(sqlite3.connect(path, isolation_level=None)) as locking:
            locking.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreFailed, match="locked"):
                await first.release(claim)
            locking.execute("ROLLBACK")
        assert await second.claim("s", HERE) == claim
        with pytest.raises(SessionInUse):
            await first.delete("s")
        await first.aclose()
        with pytest.raises(SessionInUse):
            await store.claim("s", Owner.here())
    await store.claim("s", Owner.here())


async def test_a_lock_that_is_swept_away_before_it_is_held_is_made_again(path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another process can take a file that is not locked yet for that of an owner which is gone."""
    one, other = locks.OwnerLocks(path), locks.OwnerLocks(path)
    lock, swept = locks._lock, []

    def sweep_and_lock(descriptor: int) -> None:
        if not swept:
            swept.extend(other.others())
            other.remove(HERE.id)
        lock(descriptor)

    monkeypatch.setattr(locks, "_lock", sweep_and_lock)
    assert one.hold(HERE.id)
    assert swept == owners(path) == [HERE.id]
    assert other.is_held(HERE.id)
    one.release()
    assert not other.is_held(HERE.id)


def aged(path: Path, boot: str, renewed: str) -> None:
    """As if the owner were on another system, whose locks can't be seen from here."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        statement = "INSERT INTO claims (session, owner, pid, host, boot, since, renewed) VALUES (1, ?, ?, ?, ?, ?, ?)"
        owner = ELSEWHERE
        connection.execute(statement, (owner.id, owner.pid, owner.host, boot, renewed, renewed))


async def test_an_owner_on_another_host_keeps_its_claim_while_it_renews_it(store: SqliteStore, path: Path):
    await store.list()
    aged(path, ELSEWHERE.boot, "2999-01-01T00:00:00.000000Z")
    with pytest.raises(SessionInUse, match="pid 4711 on other-host"):
        await store.claim("s", HERE)
    await store.claim("s", HERE, take_over=True)


async def test_an_owner_on_another_host_that_was_long_not_heard_of_has_lost_it(store: SqliteStore, path: Path):
    await store.list()
    aged(path, ELSEWHERE.boot, "2020-01-01T00:00:00.000000Z")
    await store.claim("s", HERE)


async def test_an_owner_on_this_host_whose_lock_is_free_is_gone_whatever_its_pid(store: SqliteStore, path: Path):
    await store.list()
    aged(path, HERE.boot, "2999-01-01T00:00:00.000000Z")
    await store.claim("s", HERE)


@unix
async def test_where_there_are_no_locks_a_claim_lasts_as_long_as_it_is_renewed(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
):
    def unsupported(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", unsupported)
    claim = await store.claim("s", HERE)
    async with SqliteStore(path) as second:
        with pytest.raises(SessionInUse):
            await second.claim("s", Owner.here())
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE claims SET renewed = '2020-01-01T00:00:00.000000Z'")
        await store.renew(claim)
        with pytest.raises(SessionInUse):
            await second.claim("s", Owner.here())
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE claims SET renewed = '2020-01-01T00:00:00.000000Z'")
        await second.claim("s", Owner.here())
    with pytest.raises(Fenced):
        await store.renew(claim)


@unix
async def test_a_link_to_the_file_leads_to_the_same_owners(store: SqliteStore, path: Path, tmp_path: Path):
    claim = await store.claim("s", HERE)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    async with SqliteStore(link) as second:
        with pytest.raises(SessionInUse, match=f"pid {os.getpid()}"):
            await second.claim("s", Owner.here())
        with pytest.raises(SessionInUse):
            await second.delete("s")
    await store.commit(claim)


@unix
async def test_who_has_a_session_is_seen_while_the_file_is_locked(store: SqliteStore, path: Path):
    assert await store.holder("s") is None
    claim = await store.claim("s", HERE)
    async with SqliteStore(path, patience=0) as second:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreFailed, match="locked"):
                await second.claim("s", Owner.here())
            assert await second.holder("s") == claim
    await store.release(claim)
    assert await store.holder("s") is None
    assert await store.holder("none") is None


async def test_a_place_where_no_lock_can_be_made_is_a_clear_error(store: SqliteStore, path: Path):
    path.with_name(f"{path.name}-owners").write_text("in the way")
    with pytest.raises(StoreFailed, match=r"sessions\.db failed: (File exists|Not a directory)"):
        await store.claim("s", HERE)
