# ruff: noqa: ASYNC240 - the disk is what these tests are about

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accord.client.workspace import files
from accord.client.workspace.workspace import Workspace, requests_of
from accord.errors import Denied, MethodNotFound, NotFound, RequestFailed
from accord.local import files as local_files
from accord.session.requests import CreateTerminal, EmptyResult, Logout, ReadFile, WriteFile
from tests.client.words import read, write

as_root = os.geteuid() == 0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def five_lines(tmp_path: Path) -> Path:
    path = tmp_path / "five"
    path.write_bytes(b"1\n2\r\n3\n\n5")
    return path


async def refusal(workspace: Workspace, path: Path, action: str = "read") -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        await (read(workspace, path) if action == "read" else write(workspace, path, "x"))
    return caught.value


# Reading


async def test_a_file_is_read_exactly_as_it_is(workspace: Workspace, tmp_path: Path):
    """FN-71: a file that is not empty is not answered with nothing; no byte of it is changed."""
    path = tmp_path / "file"
    path.write_bytes("\ufeffé\r\nb\rc\n\n\x00\u2028😀".encode())
    assert await read(workspace, path) == "\ufeffé\r\nb\rc\n\n\x00\u2028😀"


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (None, None, "1\n2\r\n3\n\n5"),
        (1, None, "1\n2\r\n3\n\n5"),
        (2, None, "2\r\n3\n\n5"),
        (2, 2, "2\r\n3\n"),
        (None, 1, "1\n"),
        (4, 1, "\n"),
        (5, 1, "5"),
        (5, 100, "5"),
        (1, 2**32 - 1, "1\n2\r\n3\n\n5"),
    ],
)
async def test_line_and_limit_choose_whole_lines(
    workspace: Workspace, five_lines: Path, line: int | None, limit: int | None, expected: str
):
    """FN-71: they are not ignored."""
    assert await read(workspace, five_lines, line=line, limit=limit) == expected


@pytest.mark.requirement("AMB-47")
async def test_past_the_end_and_for_no_lines_there_is_nothing(workspace: Workspace, five_lines: Path):
    assert await read(workspace, five_lines, line=6) == ""
    assert await read(workspace, five_lines, line=2**32 - 1, limit=10) == ""
    assert await read(workspace, five_lines, limit=0) == ""
    (five_lines.parent / "empty").touch()
    assert await read(workspace, five_lines.parent / "empty", line=1) == ""


@given(st.text(alphabet="ab\r\né😀", max_size=40), st.integers(1, 5), st.integers(1, 7))
def test_parts_that_follow_each_other_join_to_the_whole(text: str, step: int, chunk: int):
    def lines(line: int, limit: int) -> str:
        content = text.encode()
        pieces = iter([content[start : start + chunk] for start in range(0, len(content), chunk)])
        return local_files._read_range(lambda _: next(pieces, b""), "/f", line, limit, 1000)

    parts = [lines(line, step) for line in range(1, text.count("\n") + 2, step)]
    assert "".join(parts) == text
    assert all(piece.count("\n") <= step for piece in parts)


@pytest.mark.requirement("AMB-34")
@pytest.mark.parametrize("name", ["missing", "missing/file", "five/file"])
async def test_a_missing_file_is_not_found(workspace: Workspace, five_lines: Path, name: str):
    """FN-71: one meaning for missing."""
    error = await refusal(workspace, five_lines.parent / name)
    assert isinstance(error, NotFound)
    assert error.code == -32002
    assert error.uri == (five_lines.parent / name).as_uri()


async def test_a_missing_file_can_be_empty_for_agents_that_need_it(tmp_path: Path):
    """FN-95: a write fails when the read before it does."""
    workspace = Workspace(tmp_path, missing_file="empty")
    assert await read(workspace, tmp_path / "sub" / "new.py") == ""
    with pytest.raises(Denied):
        await read(workspace, "/no/such/file")
    with pytest.raises(RequestFailed, match="directory"):
        await read(workspace, tmp_path)


async def test_what_is_no_utf8_is_refused_and_not_guessed_at(workspace: Workspace, tmp_path: Path):
    (tmp_path / "latin").write_bytes("é".encode("latin-1"))
    error = await refusal(workspace, tmp_path / "latin")
    assert error.code == -32603
    assert "not text in UTF-8" in str(error)


@pytest.mark.skipif(sys.platform == "win32", reason="there are none")
@pytest.mark.parametrize("action", ["read", "write"])
async def test_what_is_no_regular_file_is_refused_and_never_waited_for(
    workspace: Workspace, tmp_path: Path, action: str
):
    os.mkfifo(tmp_path / "fifo")
    assert "not a regular file" in str(await refusal(workspace, tmp_path / "fifo", action))
    (tmp_path / "directory").mkdir()
    assert "is a directory" in str(await refusal(workspace, tmp_path / "directory", action))
    assert "is a directory" in str(await refusal(workspace, tmp_path, action))
    for device in ("zero", "tty", "null"):
        assert "not a regular file" in str(await refusal(Workspace("/dev"), Path("/dev", device), action))
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


async def test_a_file_that_became_a_fifo_since_it_was_looked_at_is_refused(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "file"
    path.write_text("text")
    look = local_files._regular_status

    def look_and_swap(*arguments):
        status = look(*arguments)
        path.unlink()
        os.mkfifo(path)
        return status

    monkeypatch.setattr(local_files, "_regular_status", look_and_swap)
    assert "not a regular file" in str(await refusal(workspace, path))


async def test_a_big_file_is_read_in_parts_or_not_at_all(tmp_path: Path):
    workspace = Workspace(tmp_path, file_limit=1000)
    path = tmp_path / "big"
    path.write_text("".join(f"{number:09}\n" for number in range(500_000)))
    error = await refusal(workspace, path)
    assert "more than 1000 bytes; ask for fewer lines" in str(error)
    assert await read(workspace, path, line=499_999, limit=5) == "000499998\n000499999\n"
    assert len(await read(workspace, path, line=250_000, limit=100)) == 1000
    with pytest.raises(RequestFailed):
        await read(workspace, path, line=250_000, limit=101)


async def test_one_endless_line_is_not_kept_in_memory(tmp_path: Path):
    path = tmp_path / "hole"
    with path.open("wb") as file:
        file.truncate(2**34)
    error = await refusal(Workspace(tmp_path, file_limit=10_000_000), path)
    assert "more than 10000000 bytes" in str(error)


async def test_what_the_system_does_not_let_us_read_is_denied(
    workspace: Workspace, five_lines: Path, monkeypatch: pytest.MonkeyPatch
):
    five_lines.chmod(0)
    if as_root:  # who may do everything

        def refused(*arguments):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(local_files, "_read_range", refused)
    error = await refusal(workspace, five_lines)
    assert isinstance(error, Denied)
    assert error.scope
    assert error.scope.startswith("fs.read refused by the system")


async def test_an_error_of_the_system_is_told_without_its_details(
    workspace: Workspace, five_lines: Path, monkeypatch: pytest.MonkeyPatch
):
    """FN-41: the reason, and nothing that the agent did not say itself."""

    def broken(*arguments):
        raise OSError(5, "Input/output error", "/somewhere/else")

    monkeypatch.setattr(local_files, "_read_range", broken)
    error = await refusal(workspace, five_lines)
    assert error.to_error() == (
        -32603,
        f"Can't read {five_lines}: Input/output error",
        {"reason": "Input/output error"},
    )


async def test_a_name_that_is_too_long_is_an_error_of_a_decent_length(workspace: Workspace, tmp_path: Path):
    error = await refusal(workspace, tmp_path / ("x" * 100_000))
    assert "too long" in str(error)
    assert len(str(error)) < 1000


# Writing


@pytest.mark.requirement("FS-13")
async def test_a_file_that_is_not_there_is_created_with_its_directories(workspace: Workspace, tmp_path: Path):
    path = tmp_path / "a" / "b" / "new.py"
    answer = await workspace.answer(WriteFile(session_id="s", path=str(path), content="text"))
    assert answer == EmptyResult()
    assert path.read_text() == "text"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


async def test_text_is_written_exactly_as_it_came(workspace: Workspace, tmp_path: Path):
    """FN-71: what was accepted is on the disk."""
    text = "\ufeffa\r\nb\rc\n\u2028😀\x00"
    await write(workspace, tmp_path / "file", text)
    assert (tmp_path / "file").read_bytes() == text.encode()
    assert await read(workspace, tmp_path / "file") == text
    await write(workspace, tmp_path / "file", "")
    assert (tmp_path / "file").read_bytes() == b""


async def test_permissions_and_owner_are_kept(workspace: Workspace, five_lines: Path):
    five_lines.chmod(0o751)
    if as_root:
        os.chown(five_lines, 12345, 54321)
    before = five_lines.stat()
    await write(workspace, five_lines, "new")
    after = five_lines.stat()
    assert five_lines.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere they are not kept")
async def test_extended_attributes_are_kept_where_the_disk_has_them(workspace: Workspace, five_lines: Path):
    try:
        os.setxattr(five_lines, "user.accord", b"1")
    except OSError:
        pytest.skip("this disk has none")
    await write(workspace, five_lines, "new")
    assert os.getxattr(five_lines, "user.accord") == b"1"


async def test_a_link_stays_a_link_and_its_target_is_written(workspace: Workspace, five_lines: Path):
    (five_lines.parent / "link").symlink_to("five")
    (five_lines.parent / "dangling").symlink_to("sub/new")
    await write(workspace, five_lines.parent / "link", "through")
    await write(workspace, five_lines.parent / "dangling", "through")
    assert (five_lines.parent / "link").is_symlink()
    assert five_lines.read_text() == "through"
    assert (five_lines.parent / "sub" / "new").read_text() == "through"


async def test_a_write_takes_effect_in_one_step(
    workspace: Workspace, five_lines: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever reads meanwhile finds the old text or the new one."""
    seen: list[bytes] = []
    synced = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced(descriptor), seen.append(five_lines.read_bytes())))
    await write(workspace, five_lines, "new")
    assert seen == [b"1\n2\r\n3\n\n5"]
    assert five_lines.read_bytes() == b"new"


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
async def test_a_write_that_fails_leaves_the_file_and_nothing_else(
    workspace: Workspace, five_lines: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    error = await refusal(workspace, five_lines, "write")
    assert "No space left on device" in str(error)
    assert five_lines.read_bytes() == b"1\n2\r\n3\n\n5"
    assert list(five_lines.parent.iterdir()) == [five_lines]


async def test_a_file_without_write_permission_is_not_replaced(
    workspace: Workspace, five_lines: Path, monkeypatch: pytest.MonkeyPatch
):
    five_lines.chmod(0o444)
    if as_root:  # who may do everything
        monkeypatch.setattr(os, "access", lambda *arguments, **options: False)
    error = await refusal(workspace, five_lines, "write")
    assert isinstance(error, Denied)
    assert error.scope
    assert error.scope.startswith("fs.write refused by the system")
    assert five_lines.read_bytes() == b"1\n2\r\n3\n\n5"


async def test_a_file_in_the_place_of_a_directory_is_told(workspace: Workspace, five_lines: Path):
    error = await refusal(workspace, five_lines / "below", "write")
    assert "a parent directory" in str(error)


# Order


async def test_writes_and_reads_of_one_file_happen_in_the_order_they_were_asked_for(
    workspace: Workspace, tmp_path: Path
):
    path = tmp_path / "file"
    asked = []
    for number in range(20):
        asked += [write(workspace, path, str(number)), read(workspace, path)]
    assert (await asyncio.gather(*asked))[1::2] == [str(number) for number in range(20)]


async def test_a_cancelled_write_does_not_overtake_the_next_one(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "file"
    loop = asyncio.get_running_loop()
    started, proceed = asyncio.Event(), threading.Event()
    really_replace = files.replace_file

    def slow(place, content):
        if content == b"first":
            loop.call_soon_threadsafe(started.set)
            proceed.wait()
        really_replace(place, content)

    monkeypatch.setattr(files, "replace_file", slow)
    first = asyncio.create_task(write(workspace, path, "first"))
    await started.wait()
    first.cancel()
    second = asyncio.create_task(write(workspace, path, "second"))
    await asyncio.sleep(0)
    proceed.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert path.read_text() == "second"


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=50))
async def test_what_was_written_is_read(tmp_path: Path, text: str):
    workspace = Workspace(tmp_path)
    await write(workspace, tmp_path / "file", text)
    assert await read(workspace, tmp_path / "file") == text


# Buffers


class Editor:
    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def read(self, path: str) -> str | None:
        return self.texts.get(Path(path).name)

    def write(self, path: str, text: str) -> bool:
        if Path(path).name not in self.texts:
            return False
        self.texts[Path(path).name] = text
        return True


class SlowEditor(Editor):
    async def read(self, path: str) -> str | None:  # type: ignore[override]
        return super().read(path)

    async def write(self, path: str, text: str) -> bool:  # type: ignore[override]
        return super().write(path, text)


@pytest.mark.requirement("FS-08", "FS-09")
@pytest.mark.parametrize("kind", [Editor, SlowEditor])
async def test_unsaved_changes_are_read_and_written_where_they_are(five_lines: Path, kind: type[Editor]):
    editor = kind(five="unsaved\nchanges\n", new="never saved")
    workspace = Workspace(five_lines.parent, buffers=editor)
    assert await read(workspace, five_lines, line=2) == "changes\n"
    assert await read(workspace, five_lines.parent / "new") == "never saved"
    await write(workspace, five_lines, "from the agent")
    assert editor.texts["five"] == "from the agent"
    assert five_lines.read_bytes() == b"1\n2\r\n3\n\n5"
    await write(workspace, five_lines.parent / "other", "on the disk")
    assert (five_lines.parent / "other").read_text() == "on the disk"
    assert await read(workspace, five_lines.parent / "other") == "on the disk"


async def test_a_buffer_is_found_through_a_link(five_lines: Path):
    editor = Editor(five="unsaved")
    workspace = Workspace(five_lines.parent, buffers=editor)
    (five_lines.parent / "link").symlink_to("five")
    assert await read(workspace, five_lines.parent / "link") == "unsaved"
    await write(workspace, five_lines.parent / "link", "new")
    assert editor.texts["five"] == "new"


async def test_a_buffer_outside_the_roots_is_denied(five_lines: Path):
    """FN-42: an open file is no way around the roots."""
    workspace = Workspace(five_lines.parent / "sub", buffers=Editor(five="unsaved"))
    with pytest.raises(Denied):
        await read(workspace, five_lines)
    with pytest.raises(Denied):
        await write(workspace, five_lines, "x")


# What is offered


async def test_what_is_not_offered_is_not_there(five_lines: Path):
    workspace = Workspace(five_lines.parent, write=False, run=False)
    assert (workspace.capabilities.read_files, workspace.capabilities.write_files) == (True, False)
    assert not workspace.capabilities.terminals
    with pytest.raises(MethodNotFound):
        await write(workspace, five_lines, "x")
    with pytest.raises(MethodNotFound):
        await read(Workspace(five_lines.parent, read=False), five_lines)
    assert requests_of(workspace).offers(ReadFile(session_id="s", path="/f"))
    assert not requests_of(workspace).offers(WriteFile(session_id="s", path="/f", content=""))
    assert not requests_of(workspace).offers(CreateTerminal(session_id="s", command="true"))
    assert not requests_of(workspace).offers(Logout())
