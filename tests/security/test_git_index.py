"""An index that a stranger wrote: git takes the names in it as they are, and reads and shows those files.

Each trap is first sprung by git itself, as in `test_git`.
"""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord import permissions
from accord.apps.coder.tools import git_diff
from accord.apps.console.screen.mentions import list_files
from accord.errors import UnusableRepository
from accord.local.git import check_index, escapes_tree
from tests.apps.coder.scripted import git

SECRET = "hunter2/hunter2"
COMMANDS = ["git status", "git diff", "git diff --cached", "git log -p", "git blame main.py"]
OBJECT = "0" * 40


class Entry(NamedTuple):
    """What an index says of a file; git takes the file for unchanged if time and size are its own."""

    name: str
    mode: int = 0o100644
    changed_at: int = 0
    size: int = 0


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A file of the user's."""
    path = tmp_path / "netrc"
    path.write_text(f"password {SECRET}\n")
    return path


def output_of(root: Path, *arguments: str, given: bytes = b"") -> bytes:
    ended = subprocess.run(["git", *arguments], cwd=root, input=given, check=False, capture_output=True)
    return ended.stdout + ended.stderr


def forge(project: Path, *added: Entry) -> None:
    """Write an index that names these, too."""
    blob = output_of(project, "hash-object", "-w", "--stdin", given=b"other\n").decode().strip()
    known = [line.split() for line in output_of(project, "ls-files", "-s").decode().splitlines()]
    rows = [(Entry(name, int(mode, 8)), object_id) for mode, object_id, _, name in known]
    rows = sorted([*rows, *((entry, blob) for entry in added)])
    content = bytearray(b"DIRC" + struct.pack(">II", 2, len(rows)))
    for (name, mode, changed_at, size), object_id in rows:
        status = struct.pack(">10I", 0, 0, changed_at, 0, 0, 0, mode, 0, 0, size)
        row = status + bytes.fromhex(object_id) + struct.pack(">H", len(name)) + name.encode()
        content += row + b"\0" * (8 - len(row) % 8)
    (project / ".git" / "index").write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())


def above(project: Path, private: Path) -> None:
    forge(project, Entry("../netrc"))


def absolute(project: Path, private: Path) -> None:
    forge(project, Entry(str(private)))


def by_a_directory(project: Path, private: Path) -> None:
    (project / "sub").mkdir()
    forge(project, Entry("sub/../../netrc"))


def by_gits_own(project: Path, private: Path) -> None:
    forge(project, Entry(".git/../../netrc"))


def by_a_link(project: Path, private: Path) -> None:
    """Git shows a file for what the index says of it, if that is said to be unchanged."""
    git(project, "config", "core.checkStat", "minimal")
    (project / "link").symlink_to(private.parent)
    os.utime(private, (1, 1))  # what is as young as the index is compared by its content
    status = private.stat()
    forge(project, Entry("link/netrc", changed_at=int(status.st_mtime), size=status.st_size))


@pytest.mark.parametrize(
    "trap", [above, absolute, by_a_directory, by_gits_own, by_a_link], ids=lambda trap: trap.__name__
)
async def test_no_file_that_a_forged_index_names_is_shown(
    sit: Any, project: Path, private: Path, trap: Callable[[Path, Path], None]
) -> None:
    trap(project, private)
    said = b"".join(output_of(project, *command.split()[1:]) for command in COMMANDS)
    assert SECRET.encode() in said, "the trap is none"
    async with sit(on_permission=permissions.reject_all) as desk:
        changes = (await desk.use_one("changes")).text
        assert "git can't be run here" in changes
        assert SECRET not in changes
        for command in COMMANDS:
            desk.agent_side.saved_answers[f"run `{' '.join(command.split()[:2])}`, whatever it looks at"] = True
            assert SECRET not in (await desk.use_one("run", command=command)).text, command
    assert [name for name in await list_files(str(project)) if ".." in name or name.startswith("/")] == []


async def test_no_directory_that_a_forged_cache_of_names_leads_to_is_listed(
    sit: Any, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-a-doctor").touch()
    (project / "xx").mkdir()
    (project / "xx" / "y").touch()
    git(project, "config", "core.untrackedCache", "true")
    git(project, "config", "status.showUntrackedFiles", "all")
    for directory in (project, project / "xx"):
        os.utime(directory, (1, 1))
    git(project, "update-index", "--untracked-cache")
    output_of(project, "status")
    content = (project / ".git" / "index").read_bytes()[:-20]
    begin = content.index(b"UNTR")
    forged = content[:begin] + content[begin:].replace(b"xx\0", b"..\0")
    (project / ".git" / "index").write_bytes(forged + hashlib.sha1(forged, usedforsecurity=False).digest())
    assert b"to-a-doctor" in output_of(project, "--no-optional-locks", "status"), "the trap is none"
    async with sit(on_permission=permissions.allow_all) as desk:
        for told in (await desk.use_one("changes"), await desk.use_one("run", command="git status")):
            assert "xx/y" in told.text
            assert "to-a-doctor" not in told.text
    assert "xx/y" in await list_files(str(project))


async def test_an_index_that_can_not_be_listed_in_full_is_refused(
    sit: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_diff, "_MAX_INDEX", 60)
    async with sit() as desk:
        outcome = await desk.use_one("changes")
    assert outcome.is_error
    assert "more files than can be checked" in outcome.text


@pytest.mark.parametrize(
    ("listed", "is_whole"),
    [
        (f"100644 {OBJECT} 0\ta\0", False),
        (f"100644 {OBJECT} 0\ta", True),
        (f"warning: x\n100644 {OBJECT} 0\ta\0", True),
        (f"100644 {OBJECT} 0\t.warning: x\n./a\0", True),
        ("\0", True),
    ],
)
def test_a_list_that_may_not_be_that_of_the_index_is_refused(tmp_path: Path, listed: str, is_whole: bool) -> None:
    with pytest.raises(UnusableRepository, match="git did not list them"):
        check_index(tmp_path, listed, is_whole=is_whole)


@pytest.mark.parametrize(
    "name",
    [
        *("/", "/a", "a/", "a//b", ".", "./a", "a/.", "..", "../a", "a/../b", "a/.."),
        *(".git", ".git/x", "a/.GIT/x", "git~1", "a/.git ./x", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/x"),
    ],
)
def test_a_name_that_git_would_never_write_is_refused(tmp_path: Path, name: str) -> None:
    assert escapes_tree(name)
    with pytest.raises(UnusableRepository, match="git itself never writes"):
        check_index(tmp_path, f"100644 {OBJECT} 0\tb\x00100644 {OBJECT} 2\t{name}\0", is_whole=True)


def test_ordinary_names_are_not(tmp_path: Path) -> None:
    names = ("a", "a b/…/c", "..a/b..", "a.git/b", ".gitignore", ".github/x", "Icon\r", "\ufffd")
    assert not any(map(escapes_tree, names))
    check_index(tmp_path, "".join(f"100644 {OBJECT} 0\t{name}\0" for name in names), is_whole=True)


@pytest.mark.parametrize("mode", ["160000", "100644"])
def test_a_directory_whose_name_can_not_be_told_is_refused(tmp_path: Path, mode: str) -> None:
    """It can't be looked whether it is a link, or a submodule that leads elsewhere."""
    name = "\ufffd" if mode == "160000" else "\ufffd/a"
    with pytest.raises(UnusableRepository, match="not valid UTF-8"):
        check_index(tmp_path, f"{mode} {OBJECT} 0\t{name}\0", is_whole=True)


@pytest.mark.parametrize("name", [".gitattributes", "sub/.gitattributes"])
async def test_attributes_that_are_a_link_are_refused(sit: Any, project: Path, private: Path, name: str) -> None:
    """Git 2.31 and older repeat lines of the file that such a link leads to."""
    (project / "sub").mkdir()
    (project / "sub" / "a").touch()
    git(project, "add", ".")
    (project / name).symlink_to(private)
    async with sit() as desk:
        assert f"{name} is a link" in (await desk.use_one("changes")).text


async def test_the_index_of_a_large_project_is_no_reason_to_refuse(sit: Any, project: Path) -> None:
    forge(project, *(Entry(f"{number % 100}/{'x' * 60}{number}") for number in range(50_000)))
    async with sit() as desk:
        assert not (await desk.use_one("changes", path="main.py")).is_error


async def test_files_that_conflict_and_links_of_the_project_are_in_nobodys_way(sit: Any, project: Path) -> None:
    (project / "link").symlink_to("main.py")
    git(project, "checkout", "-q", "-b", "other")
    (project / "main.py").write_text("theirs\n")
    git(project, "commit", "-qam", "theirs")
    git(project, "checkout", "-q", "-")
    (project / "main.py").write_text("ours\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "ours")
    output_of(project, "merge", "other")
    async with sit() as desk:
        assert "UU main.py" in (await desk.use_one("changes")).text
