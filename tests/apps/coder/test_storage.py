"""Sessions when the user's own file can't be had: the work goes on, and it is told once."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from accord import Client
from accord.apps.coder.coder import build
from accord.apps.coder.settings.precedence import load_settings
from accord.apps.coder.storage import FallbackStore, SessionChoices
from accord.client.permissions.policies import choose
from accord.errors import RequestFailed, SessionInUse, StoreFailed
from accord.session.content import Text
from accord.session.entities import AGENT
from accord.session.requests import PermissionAnswer, PermissionRequest
from accord.session.updates import MessagePatch
from accord.store.sqlite import SqliteStore
from accord.store.statements import Tables
from accord.store.store import Owner, SessionRecord

OWNER = Owner.here()


def kept(session_id: str) -> SessionRecord:
    return SessionRecord(session_id=session_id, cwd="/x")


def said(text: str) -> list[Any]:
    return [MessagePatch(role=AGENT, id=text, content=[Text(text)])]


async def read(sessions: FallbackStore, session_id: str) -> list[str]:
    return [report.id async for reports in sessions.read(session_id) for report in reports]  # type: ignore[union-attr]


@pytest.fixture
def nowhere(tmp_path: Path) -> Path:
    """A place where no file can be."""
    (tmp_path / "state").write_text("no directory")
    return tmp_path / "state" / "sessions.db"


async def test_a_file_that_can_not_be_made_leaves_sessions_in_memory(nowhere: Path):
    sessions = FallbackStore(nowhere)
    assert (await sessions.list()).sessions == []
    await sessions.create(kept("a"))
    claim = await sessions.claim("a", OWNER)
    sessions.append(claim, said("Hello"))
    await sessions.commit()
    await sessions.renew(claim)
    assert await read(sessions, "a") == ["Hello"]
    await sessions.update(claim, SessionRecord(session_id="a", cwd="/x", title="A talk"))
    await sessions.fork("a", kept("b"))
    assert [(each.session_id, each.title) for each in (await sessions.list()).sessions] == [
        ("b", None),
        ("a", "A talk"),
    ]
    assert await read(sessions, "b") == ["Hello"]
    await sessions.release(claim)
    await sessions.delete("a")
    assert await sessions.find("a") is None
    await sessions.aclose()


async def test_it_is_told_once_in_one_line(nowhere: Path):
    sessions = FallbackStore(nowhere)
    await sessions.create(kept("a"))
    await sessions.create(kept("b"))
    told = sessions.take_warning()
    assert told is not None
    assert str(nowhere) in told
    assert "Not a directory" in told or "File exists" in told
    assert "ACCORD_HOME" in told
    assert "\n" not in told
    assert sessions.take_warning() is None


async def test_a_disk_that_fills_up_costs_no_turn_and_what_is_kept_can_be_taken_up(tmp_path: Path, monkeypatch):
    sessions = FallbackStore(tmp_path / "sessions.db")
    await sessions.create(kept("a"))
    await sessions.create(kept("d"))
    claim = await sessions.claim("a", OWNER)
    sessions.append(claim, said("Hello"))
    await sessions.commit(claim)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        for name in ("write", "create", "update", "claim", "renew"):
            patched.setattr(Tables, name, full)
        await sessions.fork("a", kept("c"))
        in_memory = await sessions.claim("d", OWNER)
        sessions.append(in_memory, said("of today"))
        assert await read(sessions, "d") == ["of today"]
        sessions.append(claim, said("again"))
        await sessions.commit(claim)
        await sessions.update(claim, SessionRecord(session_id="a", cwd="/x", title="Later"))
        await sessions.create(kept("b"))
        assert "database or disk is full" in (sessions.take_warning() or "")
        await sessions.renew(claim)
        assert {each.session_id for each in (await sessions.list()).sessions} == {"a", "b", "c", "d"}
        assert await read(sessions, "c") == ["Hello"]
    await sessions.commit(claim)
    assert await read(sessions, "a") == ["Hello", "again"]
    await sessions.aclose()


@pytest.fixture
async def locked(tmp_path: Path) -> AsyncIterator[Path]:
    """A file in which another process has the session `theirs`, and that nobody can write to."""
    path = tmp_path / "sessions.db"
    async with SqliteStore(path) as other:
        for name in ("theirs", "free"):
            await other.create(kept(name))
        claim = await other.claim("theirs", Owner.here())
        other.append(claim, said("Hello"))
        await other.commit(claim)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield path


async def test_a_session_of_another_process_is_refused_although_the_file_can_not_be_written(locked: Path):
    sessions = FallbackStore(locked, patience=0)
    with pytest.raises(SessionInUse, match=f"pid {os.getpid()}"):
        await sessions.claim("theirs", OWNER)
    await sessions.aclose()


async def test_nothing_is_taken_over_in_a_file_that_can_not_be_written(locked: Path):
    sessions = FallbackStore(locked, patience=0)
    for name in ("theirs", "free"):
        with pytest.raises(RequestFailed, match="another process keeps it locked"):
            await sessions.claim(name, OWNER, take_over=True)
    await sessions.aclose()


async def test_a_session_that_is_closed_while_the_file_is_locked_loses_nothing(tmp_path: Path):
    path = tmp_path / "sessions.db"
    sessions = FallbackStore(path, patience=0)
    await sessions.create(kept("a"))
    claim = await sessions.claim("a", OWNER)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        sessions.append(claim, said("Hello"))
        await sessions.commit(claim)  # it is told in another way that it is not on the disk
        with pytest.raises(StoreFailed):
            await sessions.release(claim)
    await sessions.aclose()
    async with SqliteStore(path) as other:
        await other.claim("a", Owner.here())
        assert [report.id async for reports in other.read("a") for report in reports] == ["Hello"]  # type: ignore[union-attr]


async def test_what_is_lost_at_the_end_is_logged_although_it_was_told_before_that_the_file_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "sessions.db"
    sessions = FallbackStore(path, patience=0)
    await sessions.create(kept("a"))
    claim = await sessions.claim("a", OWNER)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        sessions.append(claim, said("Hello"))
        await sessions.commit(claim)
        assert sessions.take_warning() is not None
        await sessions.aclose()
    assert caplog.messages[-1].endswith("of the sessions: a")


async def test_a_session_that_goes_on_in_memory_is_listed_once_and_deleted_everywhere(tmp_path: Path, monkeypatch):
    sessions = FallbackStore(tmp_path / "sessions.db")
    await sessions.create(kept("a"))

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        for name in ("claim", "create", "delete"):
            patched.setattr(Tables, name, full)
        await sessions.create(kept("b"))
        await sessions.release(await sessions.claim("a", OWNER))
        assert sorted(each.session_id for each in (await sessions.list()).sessions) == ["a", "b"]
        with pytest.raises(RequestFailed, match="disk is full"):
            await sessions.delete("a")
        await sessions.delete("b")
    await sessions.delete("a")
    assert (await sessions.find("a"), (await sessions.list()).sessions) == (None, [])
    await sessions.aclose()


async def test_a_file_that_can_not_be_read_does_not_pass_for_an_empty_one(tmp_path: Path):
    (tmp_path / "sessions.db").write_text("this is no database, whatever its name is" * 100)
    sessions = FallbackStore(tmp_path / "sessions.db")
    for asked in (sessions.list(), sessions.find("a"), sessions.delete("a")):
        with pytest.raises(RequestFailed, match=r"sessions\.db can't be used: file is not a database") as refused:
            await asked
        assert "ACCORD_HOME" in refused.value.data["advice"]
    await sessions.aclose()


async def test_the_agent_works_on_and_says_it_in_the_first_turn(tmp_path: Path, monkeypatch, version: Any):
    home = tmp_path / "home"
    home.mkdir()
    (home / "state").write_text("no directory")
    monkeypatch.setenv("ACCORD_HOME", str(home))
    coder = build(load_settings(tmp_path))
    async with Client(coder.agent, version=version) as client:
        session = await client.new_session(cwd=tmp_path)
        for times in (1, 0):
            changes = [change async for change in session.prompt("/help")]
            assert "".join(map(repr, changes)).count("ACCORD_HOME chooses") >= times
            assert times or "ACCORD_HOME chooses" not in "".join(repr(change.patch) for change in changes)
        assert [each.session_id async for each in client.list_sessions()] == [session.id]


async def test_a_choice_for_always_that_can_not_be_kept_holds_for_the_session(
    tmp_path: Path, monkeypatch, version: Any
):
    home = tmp_path / "home"
    home.mkdir()
    (home / "state").write_text("no directory")
    monkeypatch.setenv("ACCORD_HOME", str(home))
    questions = 0

    async def always(asked: PermissionRequest) -> PermissionAnswer:
        nonlocal questions
        questions += 1
        answer = choose(asked, "allow_always")
        assert answer is not None
        return answer

    async with Client(build(load_settings(tmp_path)).agent, version=version, on_permission=always) as client:
        session = await client.new_session(cwd=tmp_path)
        for _ in range(2):
            assert (await session.prompt("/run echo hello")).stop_reason == "end_turn"
    assert questions == 1


def test_a_choice_that_is_taken_back_holds_neither_for_the_session_nor_for_the_project():
    class SessionRecord(dict[str, bool]):
        is_full = True

        def __setitem__(self, scope: str, allowed: bool) -> None:
            if self.is_full:
                raise OSError(28, "No space left on device")
            super().__setitem__(scope, allowed)

    kept = SessionRecord()
    choices = SessionChoices(kept)
    choices["edit"] = choices["run"] = True
    kept.is_full = False
    kept["edit"] = True  # by another process, or another session
    del choices["edit"]
    assert ("edit" in choices, kept) == (False, {})
    choices["run"] = False
    assert (choices["run"], kept) == (False, {"run": False})
    del choices["run"]
    assert (dict(choices), kept) == ({}, {})
    with pytest.raises(KeyError):
        del choices["run"]
