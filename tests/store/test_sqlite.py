"""What a store in a file does besides what every store does."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.session.content import Image
from accord.store import JournalUnreadable, Owner, SessionInUse, SqliteStore, StoreClosed, StoreFailed, statements
from accord.store.statements import LAYOUT, Tables
from tests.session.words import piece, tool_piece
from tests.store.telling import OWNER, claimed, delete, kept, listed, read, said, text

ROOT = Path(__file__).parents[2]
FOR_EVER = 3600.0


def files(path: Path) -> bytes:
    """All that is on the disk."""
    found = [file for file in sorted(path.parent.rglob("*")) if file.is_file() and not file.name.endswith("-shm")]
    return b"".join([file.read_bytes() for file in found])


def overwrite(path: Path, place: int, content: bytes) -> None:
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.seek(place)
        file.write(content)


def query(path: Path, statement: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement, values).fetchall()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """As if another process were writing, and took its time."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


async def filled(path: Path, **options: Any) -> SqliteStore:
    store = SqliteStore(path, **options)
    await store.create(kept())
    await claimed(store)
    return store


async def test_sessions_survive_a_restart(path: Path):
    """FN-61: whatever was committed is there for the next process, list and history alike."""
    async with await filled(path) as store:
        store.append(await claimed(store), said("before "))
    async with SqliteStore(path) as store:
        assert await listed(store) == ["s"]
        store.append(await claimed(store), said("after"))
        assert await text(store) == "before after"


async def test_closing_writes_what_nobody_committed(path: Path):
    async with await filled(path, window=FOR_EVER) as store:
        store.append(await claimed(store), said("last words"))
    async with SqliteStore(path) as store:
        assert await text(store) == "last words"


@pytest.mark.skipif(sys.platform == "win32", reason="no such modes there")
async def test_only_the_owner_can_read_what_the_store_made(path: Path):
    async with await filled(path):
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.rglob("*")}
        of_files = ["sessions.db", "sessions.db-shm", "sessions.db-wal", OWNER.id]
        assert modes == {"sessions.db-owners": 0o700, **dict.fromkeys(of_files, 0o600)}
    assert [file.name for file in path.parent.iterdir()] == ["sessions.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such modes there")
async def test_what_a_link_leads_to_is_made_for_the_owner_alone(path: Path, tmp_path: Path):
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere" / "real.db")  # noqa: ASYNC240  # nothing else runs
    await (await filled(path)).aclose()
    assert stat.S_IMODE((tmp_path / "elsewhere" / "real.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o700


async def test_nothing_is_made_before_it_is_needed(path: Path):
    async with SqliteStore(path):
        pass
    assert not path.parent.exists()


async def test_a_path_may_begin_at_home_and_has_no_magic_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    await (await filled(Path("~/.acme/sessions.db"))).aclose()
    assert (tmp_path / "home" / ".acme" / "sessions.db").is_file()
    if sys.platform != "win32":
        await (await filled(Path(":memory:"))).aclose()
        assert (tmp_path / ":memory:").is_file()


async def test_a_file_of_a_newer_accord_is_left_alone(path: Path):
    await (await filled(path)).aclose()
    query(path, f"PRAGMA user_version = {LAYOUT + 6}")
    before = files(path)
    async with SqliteStore(path) as store:
        with pytest.raises(
            StoreFailed, match=rf"newer accord .*layout {LAYOUT + 6}, this one knows {LAYOUT}"
        ) as failed:
            await store.list()
    assert str(path) in str(failed.value)
    assert files(path) == before


async def test_a_database_of_another_program_is_left_alone(path: Path):
    path.parent.mkdir()
    query(path, "CREATE TABLE recipes (name TEXT)")
    before = files(path)
    async with SqliteStore(path) as store:
        with pytest.raises(StoreFailed, match="another program"):
            await store.create(kept())
    assert files(path) == before


async def test_a_file_that_is_no_database_is_left_alone(path: Path):
    path.parent.mkdir()
    overwrite(path, 0, b"Dear diary, " * 1000)
    async with SqliteStore(path) as store:
        with pytest.raises(StoreFailed, match="not a database"):
            await store.create(kept())
    assert files(path) == b"Dear diary, " * 1000


async def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    async with SqliteStore(tmp_path / "file" / "sessions.db") as store:
        with pytest.raises(StoreFailed, match=r"sessions\.db failed: "):
            await store.find("s")


async def test_a_damaged_entry_names_its_session_and_harms_no_other(path: Path):
    async with await filled(path) as store:
        await store.create(kept("other"))
        for name in ("s", "other"):
            store.append(await claimed(store, name), [tool_piece("good")])
            await store.commit()
            store.append(await claimed(store, name), [tool_piece("bad")])
            await store.commit()
        query(path, "UPDATE journal SET reports = x'c1' WHERE number = 2")
        pages = store.read("s")
        assert await anext(pages) == [tool_piece("good")]
        with pytest.raises(JournalUnreadable, match=r"session 's' .*damaged") as failed:
            await anext(pages)
        assert (failed.value.session_id, failed.value.entry) == ("s", 2)
        assert len(await read(store, "other")) == 2
        assert await listed(store) == ["other", "s"]
        store.append(await claimed(store), [tool_piece("later")])
        await store.commit(await claimed(store))
        await delete(store)
        assert await listed(store) == ["other"]


async def test_an_entry_of_a_newer_accord_names_its_session(path: Path):
    async with await filled(path) as store:
        store.append(await claimed(store), said("x"))
        await store.commit()
        query(path, "UPDATE journal SET format = 77")
        with pytest.raises(JournalUnreadable, match=r"'s' .*format 77 .*newer"):
            await read(store)


async def test_a_torn_page_names_its_session(path: Path):
    async with await filled(path) as store:
        store.append(await claimed(store), [piece(Image(data="x" * 200_000, mime_type="image/png"))])
    overwrite(path, 100_000, b"\xff" * 20_000)
    async with SqliteStore(path) as store:
        with pytest.raises(JournalUnreadable, match="'s'"):
            await read(store)
        assert await listed(store) == ["s"]


async def test_a_session_whose_details_are_damaged_is_listed_and_can_be_deleted(path: Path):
    async with await filled(path) as store:
        await store.create(kept("other"))
        query(path, "UPDATE sessions SET more = '{' WHERE id = 's'")
        with pytest.raises(StoreFailed, match="session 's' is damaged"):
            await store.find("s")
        assert await listed(store) == ["other", "s"]
        await delete(store)
        assert await listed(store) == ["other"]


async def test_what_is_deleted_is_nowhere_on_the_disk(path: Path):
    async with await filled(path) as store:
        await store.create(kept("other"))
        for number in range(50):
            store.append(await claimed(store), [tool_piece(f"TOP SECRET {number} " + "x" * 5000)])
            store.append(await claimed(store, "other"), [tool_piece("harmless")])
            await store.commit()
        await store.update(await claimed(store), kept(title="TOP SECRET title", meta={"a": "TOP SECRET meta"}))
        assert b"TOP SECRET" in files(path)
        await delete(store)
        assert b"TOP SECRET" not in files(path)
        assert len(files(path)) < 100_000
        assert len(await read(store, "other")) == 50


async def test_what_another_process_still_reads_is_cleared_with_the_next_write(path: Path):
    async with await filled(path) as store:
        await store.create(kept("other"))
        store.append(await claimed(store), [tool_piece("TOP SECRET")])
        await store.commit()
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM journal").fetchall()
            await delete(store)
            assert await listed(store) == ["other"]
            reader.execute("ROLLBACK")
        store.append(await claimed(store, "other"), said("x"))
        await store.commit()
        assert b"TOP SECRET" not in files(path)


async def test_waiting_for_a_locked_file_is_bounded_and_costs_nothing(path: Path):
    async with await filled(path, patience=0) as store:
        store.append(await claimed(store), said("patient"))
        with locked(path):
            for call in (store.commit(), store.create(kept("t")), store.delete("s")):
                with pytest.raises(StoreFailed, match="another process keeps it locked"):
                    await call
            assert await listed(store) == ["s"]
            store.append(await claimed(store), said(" words"))
        await store.commit(await claimed(store))
        assert await text(store) == "patient words"


async def test_a_call_waits_for_a_lock_that_is_released_in_time(path: Path):
    async with await filled(path, patience=9) as store, SqliteStore(path) as other:
        store.append(await claimed(store), said("x"))
        with locked(path):
            commit = asyncio.ensure_future(store.commit(await claimed(store)))
            for _ in range(10):
                assert await listed(other) == ["s"]  # reading needs no lock
            assert not commit.done()
        await commit


async def test_closing_a_locked_store_says_what_was_lost(path: Path, caplog: pytest.LogCaptureFixture):
    store = await filled(path, patience=0, window=FOR_EVER)
    store.append(await claimed(store), said("lost"))
    with locked(path), pytest.raises(StoreFailed, match="bytes were not written: another process"):
        await store.aclose()
    await store.aclose()
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert f"not written to {path} (another process keeps it locked" in record.getMessage()
    assert record.getMessage().endswith("of the sessions: s")


async def test_whoever_does_not_wait_for_a_locked_store_to_close_is_told_what_is_not_written(
    path: Path, caplog: pytest.LogCaptureFixture
):
    store = await filled(path, patience=FOR_EVER, window=FOR_EVER)
    store.append(await claimed(store), said("lost"))
    with locked(path):
        closing_store = asyncio.ensure_future(store.aclose())
        await asyncio.sleep(0)
        closing_store.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing_store
        assert caplog.messages == [
            f"about 68 bytes were not written to {path} (there was no more time to wait for it), of the sessions: s"
        ]
    while not reports_on_disk(path):  # the process has not ended yet
        pass


def test_a_program_that_ends_without_closing_a_locked_store_says_what_was_lost(path: Path):
    program = f"""
import asyncio, sqlite3
from accord.store import SqliteStore
from tests.store.telling import claimed, kept, said

async def main():
    global store, locking
    store = SqliteStore({str(path)!r}, patience=0, window=3600)
    await store.create(kept())
    claim = await claimed(store)
    locking = sqlite3.connect({str(path)!r}, isolation_level=None)
    locking.execute("BEGIN IMMEDIATE")
    store.append(claim, said("lost"))

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "bytes were not written" in ended.stderr
    assert ended.stderr.endswith("of the sessions: s\n")


def reports_on_disk(path: Path) -> int:
    return query(path, "SELECT count(*) FROM journal")[0][0]


async def test_a_window_is_written_even_while_the_loop_is_blocked(path: Path):
    async with await filled(path) as store:
        store.append(await claimed(store), said("x"))
        while not reports_on_disk(path):  # the loop gets no turn here
            pass


async def test_the_window_is_within_what_was_promised():
    assert SqliteStore("unused")._seconds <= 0.05


async def test_a_window_that_could_not_be_written_is_tried_again(path: Path, caplog: pytest.LogCaptureFixture):
    async with await filled(path, window=0.0) as store:
        with locked(path):
            store.append(await claimed(store), said("a"))
            while not caplog.records:  # noqa: ASYNC110  # another thread logs
                await asyncio.sleep(0)
            store.append(await claimed(store), said("b"))
        while not reports_on_disk(path):
            pass
        assert await text(store) == "ab"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "locked" in caplog.text


async def test_a_stream_is_written_in_batches(path: Path, monkeypatch: pytest.MonkeyPatch):
    """FN-63: a thousand pieces of text in a window are one write, and one entry."""
    writes: list[int] = []
    write = Tables.write

    def counted(opened: Tables, unwritten: Any, released: Any) -> Any:
        writes.append(sum(map(len, unwritten.values())))
        return write(opened, unwritten, released)

    monkeypatch.setattr(Tables, "write", counted)
    async with await filled(path, window=FOR_EVER) as store:
        for _ in range(1000):
            store.append(await claimed(store), said("token "))
        await store.commit(await claimed(store))
        await asyncio.gather(*[store.commit(await claimed(store)) for _ in range(10)])
    assert writes == [1]


async def test_a_full_disk_loses_nothing_and_leaves_the_rest_working(path: Path):
    async with await filled(path, window=FOR_EVER) as store:
        await store._do(lambda opened: opened._execute("PRAGMA max_page_count = 20").fetchall())
        store.append(await claimed(store), [tool_piece("x" * 200_000)])
        for _ in range(2):
            with pytest.raises(StoreFailed, match="full"):
                await store.commit(await claimed(store))
        assert await listed(store) == ["s"]
        store.append(await claimed(store), [tool_piece("after")])
        await store._do(lambda opened: opened._execute("PRAGMA max_page_count = 10000").fetchall())
        await store.commit(await claimed(store))
        assert await read(store) == [tool_piece("x" * 200_000), tool_piece("after")]


async def test_what_waits_for_a_disk_that_takes_nothing_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("accord.store.sqlite.UNWRITTEN", 1000)
    async with await filled(path, patience=0, window=FOR_EVER) as store:
        with locked(path):
            store.append(await claimed(store), [tool_piece("x" * 2000)])
            with pytest.raises(StoreFailed, match="wait to be written"):
                store.append(await claimed(store), said("more"))
        await store.commit()
        store.append(await claimed(store), said("more"))


async def test_a_deleted_session_takes_along_what_could_not_be_written(path: Path):
    async with await filled(path, patience=0, window=FOR_EVER) as store:
        await store._do(lambda opened: opened._execute("PRAGMA max_page_count = 20").fetchall())
        claim = await claimed(store)
        store.append(claim, [tool_piece("x" * 200_000)])
        with pytest.raises(SessionInUse):
            await store.delete("s")
        with pytest.raises(StoreFailed, match="full"):
            await store.release(claim)
        await store.delete("s")
        assert store._window.weight == 0
        await store.commit()


async def test_a_full_disk_does_not_keep_other_sessions_from_being_read_and_claimed(path: Path):
    async with await filled(path, patience=0, window=FOR_EVER) as store:
        await store.create(kept("other"))
        store.append(await claimed(store, "other"), said("read me"))
        await store.commit()
        await store._do(lambda opened: opened._execute("PRAGMA max_page_count = 20").fetchall())
        store.append(await claimed(store), [tool_piece("x" * 200_000)])
        assert await text(store, "other") == "read me"
        with pytest.raises(StoreFailed, match="full"):
            await text(store)
        await store._do(lambda opened: opened._execute("PRAGMA max_page_count = 10000").fetchall())


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Error]:
    """Each time that somebody found the file locked."""
    found: list[sqlite3.Error] = []

    def is_noted(error: sqlite3.Error) -> bool:
        if statements.is_busy(error):
            found.append(error)
        return statements.is_busy(error)

    monkeypatch.setattr("accord.store.sqlite.is_busy", is_noted)
    return found


@pytest.mark.parametrize("call", ["release", "take over"])
async def test_a_session_that_changes_hands_while_the_file_is_locked_waits_until_all_is_written(
    path: Path, busy: list[sqlite3.Error], call: str
):
    async with await filled(path, patience=FOR_EVER, window=FOR_EVER) as store, SqliteStore(path) as other:
        claim = await claimed(store)
        store.append(claim, said("precious"))
        with locked(path):
            ending = store.release(claim) if call == "release" else store.claim("s", Owner.here(), take_over=True)
            ending = asyncio.ensure_future(ending)
            while not busy:  # noqa: ASYNC110  # another thread finds it
                await asyncio.sleep(0)
            assert not ending.done()
            assert await other.holder("s") == claim
        await ending
        await store.commit()
        assert await text(other) == "precious"


async def test_a_release_that_a_lock_prevents_loses_nothing_and_is_made_up_for(path: Path):
    async with await filled(path, patience=0, window=0.0) as store, SqliteStore(path) as other:
        claim = await claimed(store)
        with locked(path):
            store.append(claim, said("precious"))
            with pytest.raises(StoreFailed, match="another process keeps it locked"):
                await store.release(claim)
            assert await other.holder("s") == claim
        while await other.holder("s") is not None:
            pass
        assert await text(other) == "precious"


async def test_an_owner_that_could_not_give_a_session_back_can_have_it_again(path: Path):
    async with await filled(path, patience=0, window=FOR_EVER) as store:
        claim = await claimed(store)
        store.append(claim, said("one "))
        with locked(path), pytest.raises(StoreFailed):
            await store.release(claim)
        again = await store.claim("s", OWNER)
        store.append(again, said("two"))
        await store.commit(again)
        assert await text(store) == "one two"


async def test_another_owner_in_the_same_store_gets_a_session_only_after_all_is_written(path: Path):
    async with await filled(path, patience=0, window=FOR_EVER) as store:
        claim = await claimed(store)
        store.append(claim, said("before "))
        with locked(path):
            with pytest.raises(StoreFailed):
                await store.claim("s", Owner.here(), take_over=True)
            with pytest.raises(StoreFailed):
                await store.release(claim)
        new = await store.claim("s", Owner.here())
        store.append(new, said("after"))
        await store.commit(new)
        assert await text(store) == "before after"


async def test_closing_a_store_gives_back_what_could_not_be_released(path: Path):
    async with SqliteStore(path) as other:
        async with await filled(path, patience=0, window=FOR_EVER) as store:
            claim = await claimed(store)
            store.append(claim, said("precious"))
            with locked(path), pytest.raises(StoreFailed):
                await store.release(claim)
        await other.claim("s", Owner.here())
        assert await text(other) == "precious"


async def test_what_is_refused_because_it_was_taken_over_is_logged(path: Path, caplog: pytest.LogCaptureFixture):
    async with await filled(path, window=FOR_EVER) as store, SqliteStore(path) as other:
        claim = await claimed(store)
        store.append(claim, said("too late"))
        await other.claim("s", Owner.here(), take_over=True)
        await store.release(claim)
        assert await text(other) == ""
    assert "of the session s were not kept: The session was taken over by another process" in caplog.text


async def test_a_slow_disk_does_not_block_the_loop(path: Path):
    async with await filled(path) as store:
        slow = threading.Event()
        waiting = asyncio.ensure_future(store._do(lambda _: slow.wait()))
        for _ in range(100):
            store.append(await claimed(store), said("x"))
            await asyncio.sleep(0)
        assert not waiting.done()
        slow.set()
        await waiting
        assert await text(store) == "x" * 100


async def test_two_stores_on_one_file_see_each_others_sessions(path: Path):
    async with await filled(path) as one, SqliteStore(path) as other:
        one.append(await claimed(one), said("one "))
        await one.commit()
        other.append(await claimed(other), said("other"))
        await other.commit()
        assert await text(one) == await text(other) == "one other"
        await one.release(await claimed(one))
        await delete(other)
        assert await one.find("s") is None
        one.append(await claimed(one), said("too late"))
        await one.commit()


async def test_many_tasks_may_commit_at_once(path: Path):
    async with SqliteStore(path) as store:

        async def session(name: str) -> None:
            await store.create(kept(name))
            for number in range(10):
                store.append(await claimed(store, name), said(f"{number} "))
                await store.commit(await claimed(store, name))

        await asyncio.gather(*[session(f"s{number}") for number in range(10)])
        for number in range(10):
            assert await text(store, f"s{number}") == "0 1 2 3 4 5 6 7 8 9 "


async def test_a_cancelled_commit_is_none_the_less_done(path: Path):
    async with await filled(path, window=FOR_EVER) as store:
        slow = threading.Event()
        blocked = asyncio.ensure_future(store._do(lambda _: slow.wait()))
        store.append(await claimed(store), said("x"))
        commit = asyncio.ensure_future(store.commit(await claimed(store)))
        await asyncio.sleep(0)
        commit.cancel()
        slow.set()
        await blocked
        await store.find("s")
        assert reports_on_disk(path) == 1


@pytest.mark.parametrize(
    ("options", "level"), [({}, 1), ({"survives_power_cut": False}, 1), ({"survives_power_cut": True}, 2)]
)
async def test_only_surviving_a_power_cut_waits_for_the_disk(path: Path, options: dict[str, Any], level: int):
    async with SqliteStore(path, **options) as store:
        assert await store._do(lambda opened: opened._execute("PRAGMA synchronous").fetchone()) == (level,)
        assert await store._do(lambda opened: opened._execute("PRAGMA journal_mode").fetchone()) == ("wal",)


async def test_a_store_closed_while_somebody_waits_lets_them_go(path: Path):
    store = await filled(path, patience=9)
    slow = threading.Event()
    blocked = asyncio.ensure_future(store._do(lambda _: slow.wait()))
    store.append(await claimed(store), said("x"))
    commit = asyncio.ensure_future(store.commit(await claimed(store)))
    await asyncio.sleep(0)
    closing_store = asyncio.ensure_future(store.aclose())
    await asyncio.sleep(0)
    with pytest.raises(StoreClosed):
        await store.find("s")
    slow.set()
    await asyncio.gather(blocked, commit, closing_store)
    assert reports_on_disk(path) == 1


def test_importing_the_package_does_not_load_sqlite():
    program = "import sys, accord.store; print('sqlite3' in sys.modules, accord.store.SqliteStore.__name__)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["False", "SqliteStore"]
