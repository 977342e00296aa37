"""Paths: the directories below which an agent may act, and paths as people and peers spell them.

Laws: a path that is not proved to be inside is outside. Paths are compared after all links are resolved, and opened later
step by step without following any, so a link that is put into the path meanwhile has no effect (FN-42). The functions that
judge a path never raise, whatever it contains.
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

PathLike: TypeAlias = str | os.PathLike[str]

_RULE = "must be an absolute path on this system"
_HAS_DIR_FD = os.open in os.supports_dir_fd
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
# With O_PATH, on Linux, a directory need not be readable to be traversed.
_TRAVERSE: int = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_NO_WAIT: int = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class Directory:
    """An open directory: its names stay the same ones whatever happens to the path that led to it.

    Where the system can't open one (Windows, not tested), it is only a path.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def at(cls, path: Path) -> Directory:
        """Open the directory with this path; links are followed."""
        return cls(path, os.open(path, _TRAVERSE) if _HAS_DIR_FD else None)

    def enter(self, name: str) -> Directory:
        """Open a directory in this one; a link to a directory is refused."""
        descriptor = self._descriptor
        if descriptor is not None:
            descriptor = os.open(name, _TRAVERSE | _NO_FOLLOW, dir_fd=descriptor)
        return Directory(self._path / name, descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def create(self, name: str) -> None:
        """Make a directory in this one, unless it exists."""
        with suppress(FileExistsError):
            os.mkdir(self._named(name), dir_fd=self._descriptor)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Never follows a link, never waits for the other end of a FIFO."""
        return os.open(self._named(name), flags | _NO_FOLLOW | _NO_WAIT, mode, dir_fd=self._descriptor)

    def status(self, name: str) -> os.stat_result | None:
        """The status of a file, of a link itself; None when it does not exist."""
        try:
            return os.stat(self._named(name), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_writable(self, name: str) -> bool:
        return os.access(self._named(name), os.W_OK, dir_fd=self._descriptor)

    def replace(self, name: str, by: str) -> None:
        """Replace `name` by `by` in one step."""
        os.replace(self._named(by), self._named(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def move(self, name: str, to: Directory, new_name: str) -> None:
        """Move a file to another directory or name; on POSIX it replaces a file that has that name."""
        os.rename(self._named(name), to._named(new_name), src_dir_fd=self._descriptor, dst_dir_fd=to._descriptor)

    def remove(self, name: str) -> None:
        os.unlink(self._named(name), dir_fd=self._descriptor)

    def remove_directory(self, name: str) -> None:
        """Remove an empty directory."""
        os.rmdir(self._named(name), dir_fd=self._descriptor)

    def make_link(self, name: str, target: str) -> None:
        """Make a symbolic link."""
        os.symlink(target, self._named(name), dir_fd=self._descriptor)

    def _named(self, name: str) -> str:
        return name if self._descriptor is not None else str(self._path / name)


class ResolvedPath(NamedTuple):
    """A path with all links resolved: some names below a root. `path` is how it was spelled."""

    path: str
    root: Path
    names: tuple[str, ...]

    @property
    def real(self) -> Path:
        """The whole path, without links."""
        return self.root.joinpath(*self.names)

    @contextmanager
    def parent(self, *, creating: bool = False) -> Generator[Directory]:
        """Open the directory it is in; with `creating`, missing directories are made."""
        directory = Directory.at(self.root)
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
    """Directories, the working directory first. Their links are resolved once, when this is made."""

    def __init__(self, directories: Iterable[PathLike] = ()) -> None:
        self.directories: list[Path] = []
        for directory in directories:
            error = _absolute_error(directory)
            if error is not None:
                raise ValueError(f"a root {error}, not {_short(directory)}")
            self.directories.append(Path(os.path.realpath(directory)))

    def __add__(self, other: Roots) -> Roots:
        both = Roots()
        both.directories = [*self.directories, *other.directories]
        return both

    def search_path(self, path: str) -> str:
        """A PATH without relative directories and without those below the roots.

        A program that an agent may have written must not be run without permission.
        """
        directories = [each for each in path.split(os.pathsep) if os.path.isabs(each)]  # noqa: PTH117  # as it is spelled
        real = [(each, Path(os.path.realpath(each))) for each in directories]
        return os.pathsep.join(
            each for each, target in real if not any(target.is_relative_to(root) for root in self.directories)
        )

    def resolve(self, path: str, scope: str, field: str = "path") -> ResolvedPath:
        """Resolve the links of a path; `Denied`, with the scope, when it is not below a root. It reads the disk."""
        error = _absolute_error(path)
        if error is not None:
            raise InvalidParams(error, field=field)
        real = Path(os.path.realpath(path))
        for root in self.directories:
            if real.is_relative_to(root):
                return ResolvedPath(path, root, real.relative_to(root).parts)
        raise Denied(f"{scope} outside the session's directories: {path}")


def _absolute_error(path: PathLike) -> str | None:
    if not os.path.isabs(path):  # noqa: PTH117  # AMB-46: of this system, not of any
        return _RULE
    error = path_error(path)
    return None if error is None else f"{_RULE}: {error}"


def _short(path: PathLike) -> str:
    text = repr(os.fspath(path))
    return text if len(text) <= 200 else f"{text[:200]}…"


def expand_path(path: str) -> Path:
    """Replace `~` and `~user` by the home directory; an unknown user's stays as it is, as in a shell."""
    try:
        return Path(os.path.expanduser(path))  # noqa: PTH111  # that of Path raises for an unknown user
    except ValueError:  # there is a NUL in the name of the user
        return Path(path)


def path_error(path: str | os.PathLike[str]) -> str | None:
    """Why no file of this system can have such a path; None if one can. It reads the disk."""
    try:
        if b"\0" in os.fsencode(path):
            return "it has a NUL character"
        os.lstat(path)
    except UnicodeEncodeError:
        return "it has half of a character"
    except OSError as error:
        return "it is too long" if error.errno == errno.ENAMETOOLONG else None
    return None


def file_kind(path: Path) -> Literal["file", "directory", "other"] | None:
    """What the path leads to, links followed; None when it does not exist or can't be reached."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # too long, with a NUL in it, or without permission to enter
        return None
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


def directory_error(path: str | os.PathLike[str]) -> str | None:
    """Why this is not a directory of this system; None if it is one. It reads the disk."""
    error = path_error(path)
    if error is not None:
        return f"{_RULE}: {error}"
    kind = file_kind(Path(path))
    if kind == "directory":
        return None
    return f"{'no such' if kind is None else 'not a'} directory: {os.fspath(path)}"
