"""Checkpoints: the files of a session's directories as they were at one moment, and the way back to them. These calls block.

Laws: only files below the session's directories are changed, and no link is followed to them. A file is removed only if it
is certain that it did not exist at the time of the checkpoint: one that was ignored or could not be saved stays. Git's own
files are neither saved nor changed.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from accord.errors import CheckpointFailed
from accord.local.files import replace_in
from accord.local.git import is_git_name
from accord.local.git_processes import GitProcesses
from accord.local.ignore_rules import find_top, user_rules
from accord.local.paths import ResolvedPath
from accord.local.shadow_repository import EMPTY_TREE, LINK, Entry, Notes, SavedTree, Scan, ShadowRepository

TIMEOUT = 60.0
"""Seconds. The first checkpoint of a directory reads all its files."""
_MOST_NESTED = 100
_LOST = "its content is not saved any more"
_REASONS = {
    errno.ELOOP: "a link is in the place of a directory",
    errno.ENOTDIR: "a file is in the place of a directory",
    errno.ENOTEMPTY: "a directory is in its place",
}


class Checkpoint(msgspec.Struct, frozen=True):
    """A saved moment. The name is unique, and the names of later ones are greater."""

    name: str
    trees: list[SavedTree]


class SavedFile(NamedTuple):
    """A file in a checkpoint: where it is saved, git's mode for it, and the id of its content."""

    tree: SavedTree
    mode: int
    object_id: str

    def is_same(self, other: SavedFile) -> bool:
        """Whether it has the same content and mode."""
        return (self.mode, self.object_id) == (other.mode, other.object_id)


class Change(NamedTuple):
    """A file that differs between two checkpoints; None where it does not exist."""

    path: str
    old: SavedFile | None
    new: SavedFile | None
    warning: str = ""
    """Why the new content is not saved, if it exists."""


class Checkpoints:
    """Saves and restores the files of some directories. `state` is the state directory of accord.

    Every method raises CheckpointFailed for what it cannot do. Safe to use from several threads and processes.
    """

    def __init__(self, state: Path, directories: Iterable[str | os.PathLike[str]]) -> None:
        self.directories = list(dict.fromkeys(Path(os.path.realpath(each)) for each in directories))
        self._state = state / "checkpoints"
        self._started: GitProcesses | None = None
        self._user_rules: str | None = None
        self._tops: dict[Path, Path] = {}
        self._is_closed = False
        self.unsaved: dict[str, str] = {}
        """What the last save has left out, as `omitted` says it."""

    def close(self) -> None:
        """End all processes. Calls that still run in other threads fail."""
        self._is_closed = True
        if self._started is not None:
            self._started.close()

    @property
    def _git(self) -> GitProcesses:
        if self._started is None:
            self._started = GitProcesses(self.directories)
        if self._is_closed:
            self._started.close()
        return self._started

    def _repository(self, directory: str | Path, top: str | Path) -> ShadowRepository:
        return ShadowRepository(self._state, self._git, Path(directory), Path(top))

    # saving

    def save(self, on_stored: Callable[[], None] = lambda: None, *, is_kept: bool = True) -> Checkpoint:
        """Save the files as they are now. `on_stored` is called as soon as they may change again.

        One that is not kept is for comparisons only: it may be removed within the hour.
        """
        deadline = time.monotonic() + TIMEOUT
        with _as_failure(), ExitStack() as locks:
            scans = list(self._scan_all(locks, deadline))
            on_stored()
            name = f"{time.time_ns():020d}-{os.urandom(4).hex()}"
            trees: list[SavedTree] = []
            for repository, scan in scans:
                with _reset_after_error(repository):
                    trees.append(repository.fold(scan, deadline))
                if is_kept:
                    repository.keep(name, trees[-1])
            self.unsaved = dict(_paths((repository.top, scan.notes) for repository, scan in scans))
            return Checkpoint(name, trees)

    def _scan_all(self, locks: ExitStack, deadline: float) -> Iterator[tuple[ShadowRepository, Scan]]:
        """Scan the directories and the repositories inside of them."""
        seen: set[Path] = set()
        for directory in self.directories:
            seen.add(directory)
            repository = self._repository(directory, self._top(directory, deadline))
            unvisited = [(repository, self._scan(locks, repository, deadline))]
            while unvisited:
                repository, scan = unvisited.pop()
                for name in scan.nested:
                    nested = repository.top / name
                    if nested in seen:
                        continue
                    try:
                        if len(seen) > _MOST_NESTED:
                            raise CheckpointFailed(f"more than {_MOST_NESTED} repositories in the directory")
                        inner = self._repository(nested, nested)
                        unvisited.append((inner, self._scan(locks, inner, deadline)))
                        seen.add(nested)
                    except CheckpointFailed as error:
                        scan.notes.omitted[name] = str(error)
                yield repository, scan

    def _scan(self, locks: ExitStack, repository: ShadowRepository, deadline: float) -> Scan:
        locks.enter_context(repository.locked())
        if not repository.directory.is_dir():
            return repository.scan_missing("no such directory")
        if self._user_rules is None:
            self._user_rules = user_rules(self._git, repository.git_dir, deadline)
        with _reset_after_error(repository):
            return repository.scan(self._user_rules, deadline)

    def _top(self, directory: Path, deadline: float) -> Path:
        """The root of the repository that a directory is in, unless it is ignored there."""
        if directory not in self._tops:
            top = find_top(directory)
            outer = self._repository(directory, top)
            with outer.locked():
                outer.rules.update("", self._state)
                is_ignored = top != directory and outer.rules.ignores_directory(deadline)
            self._tops[directory] = directory if is_ignored else top
        return self._tops[directory]

    def repositories(self, checkpoint: Checkpoint) -> list[ShadowRepository]:
        """The repositories in which it is saved."""
        return [self._repository(each.directory, each.top) for each in checkpoint.trees]

    # comparing

    def changes(self, old: Checkpoint, new: Checkpoint) -> list[Change]:
        """All files that differ, by path."""
        deadline, found = time.monotonic() + TIMEOUT, dict[str, Change]()
        olds, news = ({(each.directory, each.top): each for each in side.trees} for side in (old, new))
        for key in {**olds, **news}:
            repository, before, after = self._repository(*key), olds.get(key), news.get(key)
            left_tree, right_tree = (EMPTY_TREE if tree is None else tree.tree for tree in (before, after))
            for name, (left, right) in repository.diff(left_tree, right_tree, deadline).items():
                path = os.path.join(key[1], name)  # noqa: PTH118  # as it is spelled
                known = found.get(path) or Change(path, None, None)
                found[path] = Change(path, _file(before, left) or known.old, _file(after, right) or known.new)
        differing = [each for each in found.values() if not (each.old and each.new and each.old.is_same(each.new))]
        return sorted(differing, key=lambda each: each.path)

    def changes_to_undo(self, target: Checkpoint, now: Checkpoint) -> list[Change]:
        """What has to be changed to get back to a checkpoint: without files that may have existed then, unsaved."""
        deadline, changes = time.monotonic() + TIMEOUT, self.changes(target, now)
        kept = self._existed(target, [each.path for each in changes if each.old is None], deadline)
        omitted = self.omitted(now)
        return [
            each._replace(warning="" if each.new else _reason(each.path, omitted))
            for each in changes
            if each.path not in kept
        ]

    def _existed(self, checkpoint: Checkpoint, paths: Sequence[str], deadline: float) -> set[str]:
        """Those of the paths that may have existed without being saved."""
        omitted, found = self.omitted(checkpoint), set[str]()
        by_tree: dict[SavedTree, dict[str, str]] = {}
        for path in paths:
            trees = [each for each in checkpoint.trees if Path(path).is_relative_to(each.directory)]
            innermost = max(trees, key=lambda each: len(each.directory), default=None)
            if innermost is None or _reason(path, omitted):
                found.add(path)
            else:
                by_tree.setdefault(innermost, {})[os.path.relpath(path, innermost.top)] = path
        for tree, names in by_tree.items():
            ignored = self._repository(tree.directory, tree.top).ignored(tree, list(names), deadline)
            found |= {names[name] for name in ignored}
        return found

    def omitted(self, checkpoint: Checkpoint) -> dict[str, str]:
        """The files and directories that existed but were not saved, with the reason."""
        deadline = time.monotonic() + TIMEOUT
        repositories = zip(self.repositories(checkpoint), checkpoint.trees, strict=True)
        return dict(_paths((each.top, each.notes(tree, deadline)) for each, tree in repositories))

    def read(self, files: Sequence[SavedFile]) -> list[bytes]:
        """The contents of files; of a link, what it says."""
        deadline, found = time.monotonic() + TIMEOUT, dict[SavedFile, bytes]()
        for tree in {each.tree for each in files}:
            group = [each for each in files if each.tree == tree]
            contents = self._repository(tree.directory, tree.top).read([each.object_id for each in group], deadline)
            for file, content in zip(group, contents, strict=True):
                if content is None:
                    raise CheckpointFailed(_LOST)
                found[file] = content
        return [found[each] for each in files]

    # restoring

    def restore(self, changes: Iterable[Change]) -> dict[str, str]:
        """Make each file as it was in the old checkpoint. Returns the paths that could not be restored, with the reason."""
        todo, failures = list(changes), dict[str, str]()
        removed = [each.path for each in todo if each.old is None]
        for path in removed:
            with _record_failure(failures, path):
                self._remove(path)
        for directory in sorted({Path(path).parent for path in removed}, key=lambda each: -len(each.parts)):
            self._remove_empty(directory)
        by_tree: dict[SavedTree, list[Change]] = {}
        for change in todo:
            if change.old is not None:
                by_tree.setdefault(change.old.tree, []).append(change)
        for tree, group in by_tree.items():
            self._write_all(tree, group, failures)
        return failures

    def _write_all(self, tree: SavedTree, changes: Sequence[Change], failures: dict[str, str]) -> None:
        repository, deadline = self._repository(tree.directory, tree.top), time.monotonic() + TIMEOUT
        permissions = repository.notes(tree, deadline).permissions
        contents = repository.read([each.old.object_id for each in changes if each.old is not None], deadline)
        for change in changes:
            assert change.old is not None
            with _record_failure(failures, change.path):
                noted = permissions.get(os.path.relpath(change.path, tree.top), change.old.mode & 0o777)
                content = next(contents, None)
                if content is None:
                    raise CheckpointFailed(_LOST)
                self._write(change.path, content, None if change.old.mode == LINK else noted)

    def _place(self, path: str) -> ResolvedPath:
        """Not resolved in fact: each directory on the way must be one, and not a link."""
        for directory in self.directories:
            names = Path(path).relative_to(directory).parts if Path(path).is_relative_to(directory) else ()
            if names and not any(map(is_git_name, names)) and os.path.realpath(directory) == str(directory):
                return ResolvedPath(path, directory, names)
        raise OSError(errno.EPERM, "it is not in the session's directories")

    def _write(self, path: str, content: bytes, permissions: int | None) -> None:
        """Write a regular file with these permissions; without any, a link."""
        place = self._place(path)
        with place.parent(creating=True) as directory:
            name = place.names[-1]
            status = directory.status(name)
            if status is not None and stat.S_ISDIR(status.st_mode):
                directory.remove_directory(name)
                status = None
            if permissions is None:
                temporary = f".accord-{os.urandom(8).hex()}"
                directory.make_link(temporary, os.fsdecode(content))
                directory.replace(name, by=temporary)
                return
            if status is not None and not stat.S_ISREG(status.st_mode):
                directory.remove(name)
                status = None
            if status is not None and not status.st_mode & 0o077:
                permissions &= 0o700  # what nobody else may read now stays so
            replace_in(directory, name, content, status, permissions)

    def _remove(self, path: str) -> None:
        place = self._place(path)
        with place.parent() as directory, suppress(FileNotFoundError):
            directory.remove(place.names[-1])

    def _remove_empty(self, path: Path) -> None:
        """Remove directories in which nothing is left, up to the session's own."""
        with suppress(OSError):
            while path not in self.directories:
                place = self._place(str(path))
                with place.parent() as directory:
                    directory.remove_directory(place.names[-1])
                path = path.parent


def _paths(notes: Iterable[tuple[Path, Notes]]) -> Iterator[tuple[str, str]]:
    """What is omitted, by path."""
    for top, each in notes:
        for name, reason in each.omitted.items():
            yield os.path.normpath(top / name), reason


def _file(tree: SavedTree | None, entry: Entry | None) -> SavedFile | None:
    return None if tree is None or entry is None else SavedFile(tree, *entry)


def _reason(path: str, omitted: Mapping[str, str]) -> str:
    """Why a path was not saved; empty if it could have been."""
    return next((omitted[each] for each in (path, *map(str, Path(path).parents)) if each in omitted), "")


@contextmanager
def _as_failure() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise CheckpointFailed(
            f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        ) from error


@contextmanager
def _reset_after_error(repository: ShadowRepository) -> Generator[None]:
    """Whatever is wrong with the index, the next save begins with a new one."""
    try:
        yield
    except CheckpointFailed as error:
        if not error.is_final:
            repository.reset()
        raise


@contextmanager
def _record_failure(failures: dict[str, str], path: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        failures[path] = _REASONS.get(error.errno or 0) or error.strerror or str(error)
    except CheckpointFailed as error:
        failures[path] = str(error)
