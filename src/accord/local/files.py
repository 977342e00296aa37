"""Files: reading some of their lines, replacing them in one step, locking them, and the errors for those that can't be used.

Law: a FIFO, device, socket or directory in the place of a file is refused at once. It is never waited for, read or
replaced. These calls block no longer than the disk does.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec

from accord.errors import Denied, InvalidParams, NotFound, RequestFailed
from accord.local.paths import Directory, ResolvedPath, path_error

_CHUNK = 1024 * 1024


# Files of a session, below its directories. Errors are those that the peer gets: they name the reason, and no path that
# the peer did not name itself.


def read_lines(place: ResolvedPath, line: int | None, limit: int | None, max_bytes: int) -> str:
    """Read `limit` lines of a text file from `line` on; `NotFound` when there is no file."""
    with _protocol_errors("read", place.path), place.parent() as directory:
        if _regular_status(directory, place, "read") is None:
            raise _missing(place.path)
        descriptor = directory.open(place.names[-1], os.O_RDONLY)
        try:
            _check_status(os.fstat(descriptor), place, "read")  # it may have been replaced since
            return _read_range(partial(os.read, descriptor), place.path, line, limit, max_bytes)
        finally:
            os.close(descriptor)


def replace_file(place: ResolvedPath, content: bytes) -> None:
    """Replace a file in one step, or create it; owner and permissions of an existing file are kept.

    Symbolic links to the file stay valid; other hard links keep the old content.
    """
    with _protocol_errors("write", place.path), place.parent(creating=True) as directory:
        before = _regular_status(directory, place, "write")
        if before is not None and not directory.is_writable(place.names[-1]):
            raise PermissionError
        replace_in(directory, place.names[-1], content, before)


def replace_in(
    directory: Directory, name: str, content: bytes, before: os.stat_result | None, permissions: int | None = None
) -> None:
    """Replace a regular file with the status `before`, or create it, as `replace_file` does. Errors are OSErrors.

    With `permissions` the file gets exactly these.
    """
    temporary = f".accord-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    # Nobody may read the new text who could not read the old one, not even for a moment.
    descriptor = directory.open(temporary, flags, 0o666 if before is None and permissions is None else 0o600)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor has no path
            file.write(content)
            file.flush()
            if before is not None:
                _copy_permissions(directory, name, before, descriptor)
            if permissions is not None and sys.platform != "win32":
                os.fchmod(descriptor, permissions)
            os.fsync(descriptor)  # else a crash of the system could leave an empty file in its place
        directory.replace(name, by=temporary)
    except BaseException:
        with suppress(OSError):
            directory.remove(temporary)
        raise


def select_lines(text: str, line: int | None, limit: int | None, path: str = "", max_bytes: int | None = None) -> str:
    """As `read_lines`, of a text in memory."""
    content = text.encode()
    return _read_range(io.BytesIO(content).read, path, line, limit, len(content) if max_bytes is None else max_bytes)


def count_lines(text: str) -> int:
    """The number of lines; a last line without a newline counts."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _read_range(read: Callable[[int], bytes], path: str, line: int | None, limit: int | None, max_bytes: int) -> str:
    """A newline belongs to the line that it ends, so consecutive ranges join to the whole text."""
    start = (line or 1) - 1
    stop = None if limit is None else start + limit
    newlines_before = 0
    content = bytearray()
    while (stop is None or newlines_before < stop) and (chunk := read(_CHUNK)):
        newlines = chunk.count(b"\n")
        if newlines_before + newlines >= start:
            begin = _after_newlines(chunk, start - newlines_before)
            end = (
                None
                if stop is None or newlines_before + newlines < stop
                else _after_newlines(chunk, stop - newlines_before)
            )
            content += chunk[begin:end]
            if len(content) > max_bytes:
                reason = f"that is more than {max_bytes} bytes; ask for fewer lines with line and limit"
                raise _unusable("read", path, reason)
        newlines_before += newlines
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unusable("read", path, "it is not text in UTF-8") from error


def _after_newlines(chunk: bytes, count: int) -> int:
    """The position after so many newlines."""
    position = 0
    for _ in range(count):
        position = chunk.index(b"\n", position) + 1
    return position


def _regular_status(directory: Directory, place: ResolvedPath, action: str) -> os.stat_result | None:
    if not place.names:
        raise _unusable(action, place.path, "it is a directory")
    status = directory.status(place.names[-1])
    if status is not None:
        _check_status(status, place, action)
    return status


def _check_status(status: os.stat_result, place: ResolvedPath, action: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise _unusable(action, place.path, "it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise _unusable(action, place.path, "it is not a regular file")


def _copy_permissions(directory: Directory, name: str, before: os.stat_result, descriptor: int) -> None:
    if sys.platform == "win32":
        return
    mode = stat.S_IMODE(before.st_mode)
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        except PermissionError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)  # they were set for another owner
    os.fchmod(descriptor, mode)
    if sys.platform == "linux":
        with suppress(OSError), open(directory.open(name, os.O_RDONLY), "rb") as old:  # noqa: PTH123  # as above
            for attribute in os.listxattr(old.fileno()):  # access control lists are among them
                os.setxattr(descriptor, attribute, os.getxattr(old.fileno(), attribute))


def _unusable(action: str, path: str, reason: str) -> RequestFailed:
    short = path if len(path) <= 200 else f"{path[:200]}…"
    return RequestFailed(-32603, f"Can't {action} {short}: {reason}", {"reason": reason})


def _missing(path: str) -> NotFound:
    """The same error wherever a file does not exist. AMB-34, FN-71"""
    return NotFound(uri=Path(path).as_uri())


@contextmanager
def _protocol_errors(action: str, path: str) -> Generator[None]:
    """Raises errors of the operating system as errors of the protocol."""
    try:
        yield
    except PermissionError as error:
        raise Denied(f"fs.{action} refused by the system: {path}") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        if action == "read":
            raise _missing(path) from error
        raise _unusable(action, path, "a parent directory is missing or is not a directory") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # raised only when its parent directories are made
            raise InvalidParams("it is too long", field="path") from error
        reason = os.strerror(error.errno) if error.errno else "the operating system refused"
        raise _unusable(action, path, reason) from error


# Files of the user's own, such as settings and history. Errors are OSErrors.

_LOCK_TIMEOUT = 2.0
_MAX_SIZE = 64 * 1024 * 1024
# So that opening a FIFO does not wait for a writer, and a terminal does not become our controlling terminal.
_NO_WAIT: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_KINDS = [
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
]


def check_path(path: Path) -> None:
    """OSError for a path that no file can have; the system's own calls raise other errors for some of them."""
    reason = path_error(path)
    if reason is not None:
        raise OSError(errno.EINVAL, f"invalid path: {reason}", ascii(str(path)))


def check_file(path: Path) -> bool:
    """Whether the file exists; OSError when it is not a regular file. Links are followed."""
    check_path(path)
    try:
        _check_regular(path.stat(), path)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def open_file(path: Path) -> Generator[BinaryIO]:
    """Open a regular file for reading; OSError says what else it is."""
    check_path(path)
    _check_regular(path.stat(), path)  # opening a device may have an effect
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
    with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor has no path
        _check_regular(os.fstat(descriptor), path)  # it may have been replaced since
        yield file


def read_file(path: Path, max_size: int = _MAX_SIZE) -> bytes:
    """Read all of a regular file; OSError for anything else, and for a file of more than `max_size` bytes."""
    with open_file(path) as file:
        content = bytearray()
        while len(content) <= max_size and (chunk := file.read(min(max_size + 1 - len(content), _CHUNK))):
            content += chunk  # in chunks: a read allocates the size that it is asked for
    if len(content) > max_size:
        raise OSError(errno.EFBIG, f"it is larger than {_size_text(max_size)}", str(path))
    return bytes(content)


def write_private_file(path: Path, content: bytes, *, is_durable: bool = True) -> None:
    """Replace a file in one step: readers find the old content or the new. Only the user may read it."""
    check_file(path)
    temporary = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_WAIT, 0o600), "wb") as file:  # noqa: PTH123
            file.write(content)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def make_private_directory(path: Path) -> None:
    """Make a directory and its missing parents for the user alone; `mkdir` would make the parents for everybody."""
    check_path(path)
    if not path.parent.exists():
        make_private_directory(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def file_lock(path: Path, timeout: float = _LOCK_TIMEOUT) -> Generator[int]:
    """Hold the lock of this name; the end of the process frees it. TimeoutError when it is not free in time.

    A child process that inherits the descriptor holds it, too.
    """
    check_file(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | _NO_WAIT, 0o600)
    try:
        _check_regular(os.fstat(descriptor), path)
        end = time.monotonic() + timeout
        while not _try_lock(descriptor):
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "locked by another process", str(path))
            time.sleep(0.01)
        yield descriptor
    finally:
        os.close(descriptor)


def _check_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "something else")
    raise OSError(errno.EINVAL, f"it is not a regular file, but {kind}", str(path))


def _size_text(count: int) -> str:
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count // 2**10} KiB"


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":  # not tested there
            import msvcrt  # noqa: PLC0415  # exists only there

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415  # exists only elsewhere

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # held by another process; Windows raises the second
        return False
    return True


class SavedContent(msgspec.Struct):
    """The content of a file of our own; subclasses add what is saved."""

    format: int = 1


S = TypeVar("S", bound=SavedContent)


class SavedFile(Generic[S]):
    """A JSON file that only its owner can read; `name` is what errors call its content. The file need not exist.

    Law: a change reads the file and replaces it in one step, under a lock: two processes lose nothing of each other's, and
    readers find all of before or all of after.
    """

    def __init__(self, path: Path, content: type[S], name: str) -> None:
        self._path = path
        self._content = content
        self._name = name

    def read(self) -> S:
        """ValueError, with what to do, for a file that can't be used."""
        where = f"the {self._name} in {self._path}"
        try:
            saved = msgspec.json.decode(read_file(self._path), type=self._content)
        except (FileNotFoundError, NotADirectoryError):
            return self._content()
        except (OSError, msgspec.DecodeError) as error:
            raise ValueError(f"{where} can't be read ({error}): fix the file or delete it") from None
        if saved.format != self._content().format:
            raise ValueError(f"{where}: written by a newer accord; use that, or delete the file")
        return saved

    @contextmanager
    def edit(self) -> Generator[S]:
        """The content, which is written at the end of the block."""
        make_private_directory(self._path.parent)
        with file_lock(self._path.with_name(f"{self._path.name}.lock")):
            saved = self.read()
            yield saved
            write_private_file(self._path, msgspec.json.format(msgspec.json.encode(saved)) + b"\n")
