"""Paths: the directories inside which an agent may act, and paths as people and peers write them.

Law: what can't be shown to be inside is outside. Paths are compared by where they really lead, with all links followed,
and what is opened later is opened step by step without following any, so a link that is put into the path meanwhile
leads nowhere. FN-42

Law: whatever is written, nothing raises here.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from accord.errors import Denied, InvalidParams

__all__ = ["Directory", "PathLike", "Place", "Roots", "fault_of", "fault_of_directory", "kind_of", "path_of"]

PathLike: TypeAlias = str | os.PathLike[str]

_RULE = "must be an absolute path on this system"
_CAN_HOLD = os.open in os.supports_dir_fd
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
# With O_PATH, which Linux has, a directory need not be readable to be passed through.
_PASS: int = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_PLAIN: int = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class Directory:
    """A directory held open, so that its names stay its names whatever happens to the path that led to it.

    Where the system can't hold one (Windows, not tested), it is only a path.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def opened(cls, path: Path) -> Directory:
        """The directory with this path, whose links are followed."""
        return cls(path, os.open(path, _PASS) if _CAN_HOLD else None)

    def enter(self, name: str) -> Directory:
        """A directory in this one; a link to one is none."""
        descriptor = self._descriptor
        if descriptor is not None:
            descriptor = os.open(name, _PASS | _NO_LINK, dir_fd=descriptor)
        return Directory(self._path / name, descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def create(self, name: str) -> None:
        """Make a directory in this one, if there is none."""
        with suppress(FileExistsError):
            os.mkdir(self._named(name), dir_fd=self._descriptor)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Never follows a link, never waits for somebody at the other end."""
        return os.open(self._named(name), flags | _NO_LINK | _PLAIN, mode, dir_fd=self._descriptor)

    def status(self, name: str) -> os.stat_result | None:
        """What is there, a link as a link; None when nothing is."""
        try:
            return os.stat(self._named(name), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_writable(self, name: str) -> bool:
        return os.access(self._named(name), os.W_OK, dir_fd=self._descriptor)

    def replace(self, name: str, by: str) -> None:
        """`by` takes the place of `name` in one step."""
        os.replace(self._named(by), self._named(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def move(self, name: str, to: Directory, new_name: str) -> None:
        """Into another directory, or under another name; on POSIX in the place of whatever file is there."""
        os.rename(self._named(name), to._named(new_name), src_dir_fd=self._descriptor, dst_dir_fd=to._descriptor)

    def remove(self, name: str) -> None:
        os.unlink(self._named(name), dir_fd=self._descriptor)

    def _named(self, name: str) -> str:
        return name if self._descriptor is not None else str(self._path / name)


class Place(NamedTuple):
    """Where a path really leads: some names below a root."""

    path: str
    root: Path
    names: tuple[str, ...]

    @property
    def real(self) -> Path:
        """The path without links."""
        return self.root.joinpath(*self.names)

    @contextmanager
    def parent(self, *, creating: bool = False) -> Generator[Directory]:
        """The directory it is in, held open; with `creating`, missing ones are made."""
        directory = Directory.opened(self.root)
        try:
            for name in self.names[:-1]:
                if creating:
                    directory.create(name)
                below = directory.enter(name)
                directory.close()
                directory = below
            yield directory
        finally:
            directory.close()


class Roots:
    """Ordered, the first is where commands start. Where each really is, is looked up once, now."""

    def __init__(self, directories: Iterable[PathLike] = ()) -> None:
        self.directories: list[Path] = []
        for directory in directories:
            fault = _fault_of(directory)
            if fault is not None:
                raise ValueError(f"a root {fault}, not {_shown(directory)}")
            self.directories.append(Path(os.path.realpath(directory)))

    def __add__(self, other: Roots) -> Roots:
        both = Roots()
        both.directories = [*self.directories, *other.directories]
        return both

    def search_path(self, path: str) -> str:
        """A PATH without what is inside, and without what depends on where a program starts.

        What may be written here must not become a program that is started without a question.
        """
        directories = [each for each in path.split(os.pathsep) if os.path.isabs(each)]  # noqa: PTH117  # as it is written
        real = [(each, Path(os.path.realpath(each))) for each in directories]
        return os.pathsep.join(
            each for each, place in real if not any(place.is_relative_to(root) for root in self.directories)
        )

    def place(self, path: str, scope: str, field: str = "path") -> Place:
        """Where the path really leads; `Denied` for the scope when that is not inside. It looks at the disk."""
        fault = _fault_of(path)
        if fault is not None:
            raise InvalidParams(fault, field=field)
        real = Path(os.path.realpath(path))
        for root in self.directories:
            if real.is_relative_to(root):
                return Place(path, root, real.relative_to(root).parts)
        raise Denied(f"{scope} outside the session's directories: {path}")


def _fault_of(path: PathLike) -> str | None:
    if not os.path.isabs(path):  # noqa: PTH117  # AMB-46: of this system, not of any
        return _RULE
    fault = fault_of(path)
    return None if fault is None else f"{_RULE}: {fault}"


def _shown(path: PathLike) -> str:
    text = repr(os.fspath(path))
    return text if len(text) <= 200 else f"{text[:200]}…"


def path_of(written: str) -> Path:
    """With `~` and `~user` as the home that they mean; those of nobody stay as they are, as in a shell."""
    try:
        return Path(os.path.expanduser(written))  # noqa: PTH111  # that of Path raises for a user who is not there
    except ValueError:  # there is a NUL in the name of the user
        return Path(written)


def fault_of(path: str | os.PathLike[str]) -> str | None:
    """Why no file of this system can have such a path; None if one can. It looks at the disk."""
    try:
        if b"\0" in os.fsencode(path):
            return "it has a NUL character"
        os.lstat(path)
    except UnicodeEncodeError:
        return "it has half of a character"
    except OSError as error:
        return "it is too long" if error.errno == errno.ENAMETOOLONG else None
    return None


def kind_of(path: Path) -> Literal["file", "directory", "other"] | None:
    """What is there, with links followed; None when nothing is, or nothing that could be looked at."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # what is too long, has a NUL in it or may not be entered is no path to anything
        return None
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


def fault_of_directory(path: str | os.PathLike[str]) -> str | None:
    """Why this is no directory of this system; None if it is one. It looks at the disk."""
    fault = fault_of(path)
    if fault is not None:
        return f"must be an absolute path on this system: {fault}"
    kind = kind_of(Path(path))
    if kind == "directory":
        return None
    return f"{'no such' if kind is None else 'not a'} directory: {os.fspath(path)}"
