"""Whatever a process was doing when it was killed, what it had acknowledged is there."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord.session.updates import MessageAppend
from accord.store import SqliteStore
from tests.store.telling import claimed, kept, listed, read, said, text

ROOT = Path(__file__).parents[2]

unix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


def deaths(folder: Path, *how: str) -> list[dict[str, Any]]:
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.store.dying", str(folder), *how],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    return [msgspec.json.decode(line) for line in finished.stdout.splitlines()]


async def check(path: Path, acknowledged: int) -> int:
    """How many numbers are there: all that were acknowledged, and none without those before it."""
    async with SqliteStore(path, patience=0) as store:  # nobody is left who could hold a lock
        sessions = await listed(store)
        if "s" not in sessions:
            assert acknowledged == -1
            return 0
        numbers = [int(number) for number in (await text(store)).split()]
        assert numbers == [*range(len(numbers))]
        assert len(numbers) >= acknowledged
        store.append(await claimed(store), said("on it goes"))
        await store.commit(await claimed(store))
        return len(numbers)


@unix
@pytest.mark.parametrize(("step", "stride"), [("statements", 1), ("instructions", 41)])
async def test_killed_at_any_step_a_store_has_what_was_acknowledged(tmp_path: Path, step: str, stride: int):
    """FN-61: a process is killed before each statement, and between their instructions, while it writes a journal."""
    all_deaths = deaths(tmp_path, step, str(stride))
    found = [await check(Path(death["path"]), death["acknowledged"]) for death in all_deaths]
    assert len(found) > 20
    assert found[0] == 0
    assert found[-1] == 9
    assert {0, 3, 6, 9} == {*found}


@unix
@pytest.mark.parametrize("seed", [1, 2])
async def test_killed_at_any_moment_a_store_has_what_was_acknowledged(tmp_path: Path, seed: int):
    """FN-61: a process that writes as fast as it can is killed from outside."""
    all_deaths = deaths(tmp_path, "any moment", str(seed))
    assert len(all_deaths) == 12
    for death in all_deaths:
        assert await check(Path(death["path"]), death["acknowledged"]) > 0


async def test_a_log_that_breaks_off_anywhere_gives_a_beginning(tmp_path: Path):
    """FN-61: a commit is several writes to the log; wherever they stop, whole commits are left and nothing else."""
    path = tmp_path / "whole" / "s.db"
    async with SqliteStore(path, window=3600) as store:
        await store.create(kept())
        for number in range(4):
            store.append(await claimed(store), said(f"{number} ", id=f"m{number}"))
            await store.commit(await claimed(store))
        folder = copied(path.parent, tmp_path / "copy")
    log = folder / "s.db-wal"
    whole = size(log)
    found: list[int] = []
    for length in [*range(0, whole, 2063), whole]:
        cut = copied(folder, tmp_path / "cut")
        os.truncate(cut / "s.db-wal", length)
        async with SqliteStore(cut / "s.db") as store:
            numbers = [int(number) for number in (await text(store)).split()] if await listed(store) else []
        assert numbers == [*range(len(numbers))]
        found.append(len(numbers))
    assert found == sorted(found)
    assert {*found} == {*range(5)}


def size(file: Path) -> int:
    return file.stat().st_size


def copied(folder: Path, place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    return shutil.copytree(folder, place, ignore=shutil.ignore_patterns("*-shm"))


FORGETFUL = """
import asyncio, sys
from accord.store import SessionRecord, SqliteStore
from tests.store.telling import claimed, said

async def main():
    store = SqliteStore(sys.argv[1], window=3600)
    await store.create(SessionRecord("s", "/repo"))
    store.append(await claimed(store), said("last words"))

asyncio.run(main())
"""

WRITER = """
import asyncio, sys
from accord.store import SessionRecord, SessionInUse, SqliteStore
from tests.store.telling import claimed, said

async def main(path, name):
    async with SqliteStore(path) as store:
        await store.create(SessionRecord(name, "/repo"))
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            together = await claimed(store, "together")
        except SessionInUse:
            together = None
        for number in range(100):
            store.append(await claimed(store, name), said(f"{number} "))
            if together is not None:
                store.append(together, said(f"{name} ", id=f"{name} {number}"))
            if number % 3 == 0:
                await store.commit(await claimed(store, name))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_program_that_forgets_to_close_loses_nothing(tmp_path: Path):
    path = tmp_path / "s.db"
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", FORGETFUL, str(path)), cwd=ROOT
    )
    assert await program.wait() == 0
    async with SqliteStore(path) as store:
        assert await text(store) == "last words"


async def test_several_processes_make_and_write_one_file(tmp_path: Path):
    path = tmp_path / "new" / "s.db"
    names = ["a", "b", "c"]
    writers = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-c", WRITER, str(path), name),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in names
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert await writer.stdout.readline() == b"ready\n"
    async with SqliteStore(path) as store:
        assert sorted(await listed(store)) == names
        await store.create(kept("together"))
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write(b"go\n")
        for writer in writers:
            await writer.communicate()
            assert writer.returncode == 0
        for name in names:
            assert await text(store, name) == "".join([f"{number} " for number in range(100)])
        ids = [report.id or "" for report in await read(store, "together") if isinstance(report, MessageAppend)]
        had_it = list(dict.fromkeys(each.partition(" ")[0] for each in ids))
        assert had_it  # one after the other, if more than one
        assert ids == [f"{name} {number}" for name in had_it for number in range(100)]
