"""Files of an older accord: migrated once, with all that is in them."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from accord.session.entities import Message, ToolCall
from accord.session.updates import ToolCallPatch
from accord.store import Owner, SqliteStore
from accord.store.layouts import UniqueIds, statements
from accord.store.statements import LAYOUT
from tests.session.words import piece
from tests.store.telling import claimed, listed, read, said, transcript

FIXTURE = Path(__file__).parents[1] / "fixtures" / "sessions-layout-1.db"
"""Made by `layout_1`: in `shared` two processes were prompted in turn, from prompt 1 on with the same ids."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURE, tmp_path / "sessions.db"))


def query(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


async def test_of_two_messages_with_one_id_both_are_kept(old: Path):
    async with SqliteStore(old) as store:
        told = await transcript(store, "shared")
    who = ["one", *["other", "one"] * 4, "other"]
    messages = [each for each in told.timeline if isinstance(each, Message)]
    assert [(each.role, each.text) for each in messages] == [
        line
        for number, name in enumerate(who)
        for line in (
            ("user", f"prompt {number}"),
            ("thought", f"{name} thinks about prompt {number}"),
            ("agent", f"{name} answers prompt {number}."),
        )
    ]
    calls = [each for each in told.timeline if isinstance(each, ToolCall)]
    assert [(each.title, each.status) for each in calls] == [
        (f"{name} looks at prompt {number}", "completed") for number, name in enumerate(who)
    ]
    assert [each.content[0].content.text for each in calls] == [  # type: ignore[union-attr]
        f"{name} found prompt {number}" for number, name in enumerate(who)
    ]


async def test_the_first_of_two_keeps_its_id_and_what_had_none_twice_is_left_alone(old: Path):
    with closing(sqlite3.connect(old)) as connection:
        before = connection.execute("SELECT reports FROM journal WHERE session = 2").fetchall()
    async with SqliteStore(old) as store:
        assert ("user", "accord-4") in (await transcript(store, "shared")).messages
        alone = await transcript(store, "alone")
    assert alone.messages["agent", "mine"].text == "Corrected."
    assert [key for key, _ in alone.messages.items()][-1] == ("agent", "accord-6")
    assert query(old, "SELECT reports FROM journal WHERE session = 2") == before


async def test_a_file_is_migrated_once(old: Path):
    async with SqliteStore(old) as store:
        first = await read(store, "shared")
    migrated = query(old, "SELECT number, reports FROM journal")
    async with SqliteStore(old) as store:
        assert await read(store, "shared") == first
        store.append(await claimed(store, "shared"), said("on it goes", id="new"))
    assert query(old, "SELECT number, reports FROM journal")[:-1] == migrated
    assert query(old, "PRAGMA user_version") == [(LAYOUT,)]


async def test_several_that_open_an_old_file_at_once_migrate_it_once(old: Path):
    stores = [SqliteStore(old) for _ in range(4)]
    for store in stores:
        assert sorted(await listed(store)) == ["alone", "shared"]
    told = [await read(store, "shared") for store in stores]
    assert told.count(told[0]) == 4
    for store in stores:
        await store.aclose()


async def test_an_entry_that_can_not_be_read_does_not_stop_the_migration(old: Path):
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("UPDATE journal SET reports = x'c1' WHERE number = 3")
    async with SqliteStore(old) as store:
        assert len(await read(store, "alone")) > 0
    assert query(old, "SELECT reports FROM journal WHERE number = 3") == [(b"\xc1",)]


async def test_an_older_accord_that_has_the_file_open_is_told_why_it_can_not_write(old: Path):
    with closing(sqlite3.connect(old, isolation_level=None)) as older:
        assert older.execute("SELECT count(*) FROM sessions").fetchone() == (2,)
        async with SqliteStore(old) as store:
            await store.list()
        with pytest.raises(sqlite3.IntegrityError, match="a newer accord has changed this file"):
            older.execute("INSERT INTO journal (session, format, reports) VALUES (1, 1, x'90')")


async def test_an_older_accord_that_has_the_file_open_can_not_delete_a_session_that_is_claimed(old: Path):
    with closing(sqlite3.connect(old, isolation_level=None)) as older:
        older.execute("SELECT count(*) FROM sessions").fetchone()
        async with SqliteStore(old) as store:
            before = await read(store, "shared")
            claim = await store.claim("shared", Owner.here())
            number = query(old, "SELECT number FROM sessions WHERE id = 'shared'")[0]
            for statement in ("DELETE FROM journal WHERE session = ?", "DELETE FROM sessions WHERE number = ?"):
                with pytest.raises(sqlite3.IntegrityError, match="in use"):
                    older.execute(statement, number)
            assert await read(store, "shared") == before
            await store.release(claim)
            await store.delete("shared")
            assert await listed(store) == ["alone"]


def test_ids_that_an_author_chose_are_never_changed():
    ids = UniqueIds()
    for _ in range(2):
        for report in (piece("x", id="mine"), piece("x", id=None), ToolCallPatch(id="mine", creates=True)):
            assert ids.told_apart(report) is report


def test_a_script_is_split_where_its_statements_end():
    script = "CREATE TABLE a (b); CREATE TRIGGER c BEFORE INSERT ON a BEGIN SELECT 1; SELECT 2; END; SELECT 3;"
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements(script):
            connection.execute(statement)
    assert len(statements(script)) == 3
