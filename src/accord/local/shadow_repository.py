"""Saves the files of one directory in a git repository of our own, in the state directory. These calls block.

Law: ignored files are not saved, and nothing outside of the state directory is written.

A save has two steps. `scan` finds what has changed, by git's index with the times and sizes of all files, and stores the new
contents: from then on the files may change. `fold` updates the index and makes a tree of it, which nobody has to wait for.
The repository is locked meanwhile. A crash between the steps loses nothing but this save: the index is only a cache.

As in git, a repository inside of the directory is not entered. `Scan.nested` names it; it is saved as another directory.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha1, sha256
from pathlib import Path
from typing import NamedTuple, TypeVar
from zlib import compress

import msgspec

from accord.errors import CheckpointFailed
from accord.local.files import file_lock, make_private_directory, read_file, write_private_file
from accord.local.git import escapes_tree
from accord.local.git_processes import ATTRIBUTES, CONFIG, GitProcesses
from accord.local.ignore_rules import IgnoreRules, read_small_file

MOST_FILES = 100_000
MAX_FILE = 10 * 1024 * 1024
MAX_BYTES = 1024 * 1024 * 1024
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
LINK = 0o120000
_FILE, _PROGRAM = 0o100644, 0o100755
_MOST_STAGED = 50
"""The most differences of the index to the last commit: `git status` lists them, and nobody needs them."""
_LOCK_TIMEOUT = 2.0
_DENIED = "permission denied"
_LOST = "the checkpoint is not saved any more"
_GARBAGE_TIMEOUT = 600.0
_UNREADABLE = re.compile(r"could not open directory '(.+)/': ")


class Entry(NamedTuple):
    """A saved file: git's mode for it, and the id of its content."""

    mode: int
    object_id: str


_GONE = Entry(0, "0" * 40)


class Notes(msgspec.Struct, omit_defaults=True):
    """What a tree of git can't say. Names are relative to the top."""

    omitted: dict[str, str] = {}
    """Files and directories that exist but are not saved, with the reason."""
    permissions: dict[str, int] = {}
    """Of files for which they are other than git's mode says."""
    rules: dict[str, str] = {}
    """The ignore rules that are not among the files, by the name of their file."""


class SavedTree(msgspec.Struct, frozen=True):
    """The files of `directory` at one moment. Names in the tree are relative to `top`."""

    directory: str
    top: str
    tree: str
    notes: str


class Scan(NamedTuple):
    """What has changed since the last save: the new entry of each name, or None if it is gone."""

    changes: dict[str, Entry | None]
    notes: Notes
    nested: list[str]
    staged: int


class _State(msgspec.Struct):
    """What the index corresponds to. The file is missing while the index is being changed."""

    tree: str = ""
    notes: str = ""
    user_index: list[int] = []
    """The state of the user's own index when its files were listed last."""
    unsaved: list[str] = []
    """Files that the user's repository tracks although they are ignored, and that are to be saved next time."""


class ShadowRepository:
    """The repository for one directory. `top`: where its ignore files begin. `state`: where repositories are kept."""

    def __init__(self, state: Path, git: GitProcesses, directory: Path, top: Path) -> None:
        self.directory = directory
        self.top = top
        key = sha256(os.fsencode(f"{top}\0{directory}")).hexdigest()[:32]
        self.git_dir = state / f"{key}.git"
        self._lock = state / f"{key}.lock"  # outside, so that the repository can be removed while it is locked
        self._held: int | None = None
        self._git = git
        self._environment = git.environment(self.git_dir, top)
        self.rules = IgnoreRules(git, self.git_dir, directory, top)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Lock the repository, and make it if it does not exist. CheckpointFailed if another process has it."""
        make_private_directory(self.git_dir)
        try:
            with file_lock(self._lock, _LOCK_TIMEOUT) as self._held:
                self._prepare()
                yield
        except TimeoutError:
            raise CheckpointFailed("another accord is saving the same directory") from None
        finally:
            self._held = None

    def _prepare(self) -> None:
        for name in ("info", "objects", "refs/checkpoints"):
            make_private_directory(self.git_dir / name)
        for name, text in (("config", CONFIG), ("info/attributes", ATTRIBUTES)):
            if read_small_file(self.git_dir / name) != text:
                write_private_file(self.git_dir / name, text.encode(), is_durable=False)
        if not (self.git_dir / "HEAD").exists():
            write_private_file(self.git_dir / "HEAD", b"ref: refs/heads/none\n", is_durable=False)
        for name in ("index.lock", "gc.pid.lock"):  # of a process that was killed
            with suppress(FileNotFoundError):
                (self.git_dir / name).unlink()

    def reset(self) -> None:
        """Forget the index, after an error: the next save reads all files again. What is saved stays saved."""
        for name in ("index", "HEAD", "state.json"):
            with suppress(OSError):
                (self.git_dir / name).unlink()

    def _run(self, *arguments: str, deadline: float, stdin: bytes = b"", codes: Sequence[int] = (0,)) -> bytes:
        cwd = self.top if self.top.is_dir() else self.git_dir
        result = self._git.run(arguments, cwd, self._environment, deadline=deadline, stdin=stdin, lock=self._held)
        return result.check(*codes).output

    # the first step

    def scan(self, user_rules: str, deadline: float) -> Scan:
        """Find what has changed, and store the new contents."""
        notes = Notes(rules=self.rules.update(user_rules, self.git_dir.parent))
        state = self._read_state()
        options = ("--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
        below = [] if self.directory == self.top else [os.path.relpath(self.directory, self.top)]
        command = ("status", *options, "--", *below)
        result = self._git.run(command, self.top, self._environment, deadline=deadline, lock=self._held).check()
        notes.omitted |= dict.fromkeys(_UNREADABLE.findall(result.message), _DENIED)
        changes: dict[str, Entry | None] = {}
        names, nested, staged = list[str](), list[str](), 0
        for line in result.output.split(b"\0")[:-1]:
            kind, name = line[1:2], os.fsdecode(line[3:])
            if kind == b" ":
                staged += 1
            elif name.endswith("/"):
                nested.append(name[:-1])
            else:
                if kind != b"?":  # until its content is stored
                    changes[name] = None
                if kind != b"D":  # else there may be another file of this name, to which a link leads
                    names.append(name)
        names += self.rules.tracked_but_ignored(deadline) if state is None else state.unsaved
        if len(names) > MOST_FILES:
            raise CheckpointFailed(f"more than {MOST_FILES:,} files", is_final=True)
        changes |= self._store(names, notes, deadline)
        return Scan(changes, notes, nested, staged)

    def _store(self, names: Iterable[str], notes: Notes, deadline: float) -> dict[str, Entry]:
        """Store the contents of files; the entry of each one that can be stored."""
        changes: dict[str, Entry] = {}
        size = 0
        for name in names:
            self._git.check_open()
            if time.monotonic() > deadline:
                raise CheckpointFailed("reading the files took too long", is_final=True)
            try:
                status, content = _read(self.top / name)
            except FileNotFoundError:
                continue
            except OSError as error:
                notes.omitted[name] = _DENIED if isinstance(error, PermissionError) else error.strerror or str(error)
                continue
            if escapes_tree(name):
                notes.omitted[name] = "git can't have this name"
                continue
            size += len(content)
            if size > MAX_BYTES:
                raise CheckpointFailed(f"more than {MAX_BYTES >> 30} GiB of files", is_final=True)
            mode, permissions = _git_mode(status), status.st_mode & 0o777
            if mode != LINK and permissions != mode & 0o777:
                notes.permissions[name] = permissions
            changes[name] = Entry(mode, self._write_content(content))
        return changes

    def _write_content(self, content: bytes) -> str:
        """Write a content as git does, which would cost a process; its id."""
        blob = b"blob %d\0%s" % (len(content), content)
        object_id = sha1(blob, usedforsecurity=False).hexdigest()
        path = self.git_dir / "objects" / object_id[:2] / object_id[2:]
        with suppress(FileNotFoundError):
            os.utime(path)  # what is used again is not unused
            return object_id
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_name(f"tmp_obj_{os.urandom(8).hex()}")  # a name by which git knows what to remove
        temporary.write_bytes(compress(blob, 1))
        temporary.replace(path)
        return object_id

    def scan_missing(self, reason: str) -> Scan:
        """For a directory that does not exist: nothing of it is saved."""
        return Scan({}, Notes(omitted={"": reason}), [], 0)

    # the second step

    def fold(self, scan: Scan, deadline: float) -> SavedTree:
        """Make a tree of what was scanned."""
        if "" in scan.notes.omitted:
            notes = self._write_content(_encode(scan.notes))
            return SavedTree(str(self.directory), str(self.top), EMPTY_TREE, notes)
        path, now = self.git_dir / "state.json", self.rules.index_state()
        state = self._read_state() or _State(user_index=now)
        if scan.changes or not state.tree:
            path.unlink(missing_ok=True)
            state.tree = self._write_tree(scan, deadline)
        is_changed, state.user_index = state.user_index != now, now
        state.unsaved = self.rules.tracked_but_ignored(deadline) if is_changed else []
        self._write_notes(scan, state)
        write_private_file(path, _encode(state), is_durable=False)
        return SavedTree(str(self.directory), str(self.top), state.tree, state.notes)

    def _write_tree(self, scan: Scan, deadline: float) -> str:
        lines = [  # those that are gone first: a directory may be in the place of a file
            b"%06o %s\t%s\0" % (mode, object_id.encode(), os.fsencode(name))
            for name, (mode, object_id) in sorted(
                ((name, entry or _GONE) for name, entry in scan.changes.items()), key=lambda each: each[1] != _GONE
            )
        ]
        if lines:
            options = ("-z", "--add", "--remove", "--replace", "--index-info")
            self._run("update-index", *options, deadline=deadline, stdin=b"".join(lines))
        tree = self._run("write-tree", deadline=deadline).decode().strip()
        if lines:  # the index needs the times of the files; the next scan finds those that have changed meanwhile
            self._run("update-index", "-q", "--refresh", deadline=deadline, codes=(0, 1))
        if max(scan.staged, len(lines)) > _MOST_STAGED:
            commit = self._run("commit-tree", tree, "-m", "saved", deadline=deadline)
            write_private_file(self.git_dir / "HEAD", commit, is_durable=False)
        return tree

    def _write_notes(self, scan: Scan, state: _State) -> None:
        path = self.git_dir / "notes.json"
        before = path.read_bytes() if path.exists() else b""
        kept = (_decode(before, Notes) or Notes()).permissions
        permissions = {name: kept[name] for name in kept.keys() - scan.changes.keys()} | scan.notes.permissions
        notes = _encode(Notes(scan.notes.omitted, dict(sorted(permissions.items())), scan.notes.rules))
        if notes != before or not state.notes:
            state.notes = self._write_content(notes)
            write_private_file(path, notes, is_durable=False)

    def _read_state(self) -> _State | None:
        try:
            return _decode((self.git_dir / "state.json").read_bytes(), _State)
        except FileNotFoundError:
            return None

    def keep(self, name: str, saved: SavedTree) -> None:
        """Keep a saved tree until its references are removed."""
        for suffix, object_id in (("", saved.tree), ("-notes", saved.notes)):
            path = self.git_dir / "refs" / "checkpoints" / f"{name}{suffix}"
            write_private_file(path, f"{object_id}\n".encode(), is_durable=False)

    # what is saved

    def notes(self, saved: SavedTree, deadline: float) -> Notes:
        """The notes of a saved tree."""
        notes = _decode(next(self.read([saved.notes], deadline)) or b"", Notes)
        if notes is None:
            raise CheckpointFailed(_LOST)
        return notes

    def diff(self, old: str, new: str, deadline: float) -> dict[str, tuple[Entry | None, Entry | None]]:
        """The entries that differ between two trees, by name; None where there is no file."""
        if old == new:
            return {}
        command = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
        result = self._git.run(command, self.git_dir, self._environment, deadline=deadline)
        if "bad object" in result.message:
            raise CheckpointFailed(_LOST)
        fields = result.check().output.split(b"\0")
        found: dict[str, tuple[Entry | None, Entry | None]] = {}
        for line, name in zip(fields[0:-1:2], fields[1::2], strict=True):
            old_mode, new_mode, old_id, new_id, _ = line[1:].decode().split(" ")
            entries = [Entry(int(mode, 8), each) for mode, each in ((old_mode, old_id), (new_mode, new_id))]
            before, after = (entry if entry.mode else None for entry in entries)
            found[os.fsdecode(name)] = before, after
        return found

    def read(self, object_ids: Sequence[str], deadline: float) -> Iterator[bytes | None]:
        """The contents with these ids, in their order; None for one that is missing."""
        if not object_ids:
            return
        stdin = "".join(f"{each}\n" for each in object_ids).encode()
        command = ("cat-file", "--batch")
        with self._git.start(command, self.git_dir, self._environment, deadline=deadline, stdin=stdin) as process:
            output = process.stdout
            assert output is not None
            for _ in object_ids:
                header = output.readline().split()
                size = int(header[2]) + 1 if header[1:2] == [b"blob"] else 0
                content = output.read(size)
                if not header or len(content) < size:
                    raise CheckpointFailed("git ended early")
                yield content[:-1] if size else None

    def ignored(self, saved: SavedTree, names: Sequence[str], deadline: float) -> set[str]:
        """The names that were ignored when the tree was saved, or are ignored now."""
        files = self.diff(EMPTY_TREE, saved.tree, deadline)
        found = {
            name: entry.object_id
            for name, (_, entry) in files.items()
            if entry is not None and entry.mode != LINK and name.rpartition("/")[2] == ".gitignore"
        }
        contents = self.read(list(found.values()), deadline)
        texts = [(content or b"").decode(errors="surrogateescape") for content in contents]
        rules = self.notes(saved, deadline).rules | dict(zip(found, texts, strict=True))
        return self.rules.ignored(names, rules, deadline)

    def collect_garbage(self, unused_since: str = "1.hour.ago") -> None:
        """Pack what is saved, and delete what has no reference. Others may save meanwhile: what they use is younger."""
        self._run("gc", "--quiet", f"--prune={unused_since}", deadline=time.monotonic() + _GARBAGE_TIMEOUT)


def _read(path: Path) -> tuple[os.stat_result, bytes]:
    """The status and the content of a file, of a link what it says; OSError with the reason if it can't be saved."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return status, os.fsencode(os.readlink(path))  # noqa: PTH115  # as it is spelled
    if stat.S_ISDIR(status.st_mode):
        raise FileNotFoundError
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if status.st_size > MAX_FILE:
        raise OSError(errno.EFBIG, f"it is larger than {MAX_FILE >> 20} MiB")
    return status, read_file(path, MAX_FILE)


def _git_mode(status: os.stat_result) -> int:
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return _PROGRAM if status.st_mode & 0o100 else _FILE


_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def _encode(value: msgspec.Struct) -> bytes:
    """As JSON in ASCII: a name that is not UTF-8 has half characters, which other encoders refuse."""
    return json.dumps(msgspec.to_builtins(value)).encode()


def _decode(content: bytes, kind: type[_Struct]) -> _Struct | None:
    """None if it is damaged."""
    try:
        return msgspec.convert(json.loads(content), kind)
    except (ValueError, msgspec.ValidationError):
        return None
