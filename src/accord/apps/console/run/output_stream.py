"""Where a run writes: stdout or a file, and stderr, without ever blocking the event loop, in the order of what was written.

Law: a reader that is slow slows the turn down, one that is gone ends it; neither keeps a signal from being heard. The file
has all that was written or is as it was before.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Self, TextIO

from accord.apps.console.errors import ConsoleFailed, InvalidUsage
from accord.apps.console.sanitizer import keep_colours
from accord.local.paths import file_kind
from accord.transports.stdio import shared_writer

_HIGH_WATER = 64 * 1024


class OutputStream:
    """One descriptor; `broken` is done once nothing can be written to it: nobody reads it, or for `failure`."""

    def __init__(self, descriptor: int, *, is_terminal: bool, encoding: str = "utf-8") -> None:
        self.is_terminal = is_terminal
        self.at_line_start = True
        self.failure: OSError | None = None
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._descriptor = descriptor
        self._encoding = encoding
        self._writer = shared_writer(descriptor, self._broke)
        self._progress = asyncio.Event()
        self._writer.on_progress = self._progress.set

    def size(self) -> tuple[int, int] | None:
        """How many columns and lines the terminal has; None for no terminal, or one that does not say."""
        try:
            size = os.get_terminal_size(self._descriptor)
        except (OSError, ValueError):
            return None
        return (size.columns, size.lines) if size.columns > 1 and size.lines > 1 else None

    def write(self, text: str) -> None:
        """Never waits; `room` does. Of what a terminal obeys, only colours get through."""
        if text:
            self.at_line_start = text.endswith("\n")
            self._writer.write(keep_colours(text).encode(self._encoding, "replace"))

    def write_bytes(self, line: bytes) -> None:
        """As `write`, for what is encoded already."""
        self._writer.write(line)

    async def room(self) -> None:
        """Wait until the reader has caught up."""
        while self._writer.unsent > _HIGH_WATER and not self.broken.done():
            self._progress.clear()
            waiting = asyncio.ensure_future(self._progress.wait())
            await asyncio.wait((waiting, self.broken), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()

    async def finish(self) -> None:
        """Returns when all was written, or can't be."""
        await asyncio.wait((self._writer.finish(), self.broken), return_when=asyncio.FIRST_COMPLETED)

    def close(self) -> None:
        """Give up what is not written yet."""
        self._writer.close()

    def _broke(self, error: OSError | None) -> None:
        if not self.broken.done():
            if error is not None and error.errno not in (errno.EPIPE, errno.ECONNRESET):
                self.failure = error
            self.broken.set_result(None)


class OutputFile:
    """The file that is written in the place of stdout, in one step at the end; a device or pipe is written as it comes.

    InvalidUsage where it can't be written: that is said before an agent is asked anything.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = Path(os.path.realpath(path))
        kind = file_kind(path)
        try:
            self._check(kind)
            self._content: IO[bytes] = path.open("wb") if kind == "other" else tempfile.TemporaryFile()  # noqa: SIM115  # until the end
        except OSError as error:
            raise InvalidUsage(f"--output: {path} can't be written: {error.strerror or error}") from None
        self.is_stream = kind == "other"
        self.descriptor = self._content.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._content.close()

    def _check(self, kind: str | None) -> None:
        if kind == "directory":
            raise InvalidUsage(f"--output: {self.path} is a directory", "Name a file in it")
        directory = self._target.parent
        if file_kind(directory) != "directory":
            raise InvalidUsage(f"--output: {directory} is no directory", "Make it first: `mkdir -p`")
        if kind == "other":
            return
        for place in [directory] if kind is None else [directory, self._target]:
            if not os.access(place, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def replace(self) -> None:
        """Put what was written in the place of the file; ConsoleFailed if that can't be done."""
        if self.is_stream:
            return
        temporary = self._target.with_name(f".{self._target.name[:200]}.{os.urandom(8).hex()}")
        try:
            with temporary.open("xb") as file:
                if file_kind(self._target) == "file":
                    os.chmod(temporary, stat.S_IMODE(self._target.stat().st_mode))  # noqa: PTH101
                self._content.seek(0)
                shutil.copyfileobj(self._content, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._target)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise ConsoleFailed(
                f"{self.path} can't be written: {error.strerror or error}", "What it would have got is on stdout"
            ) from None

    def print(self) -> bool:
        """Write it all to stdout instead, as far as that is possible; whether it is anything."""
        self._content.seek(0)
        with suppress(OSError), open(1, "wb", closefd=False) as out:
            shutil.copyfileobj(self._content, out)
        return self._content.tell() > 0


class StandardStreams:
    """Stdout, or the file in its place, for the answer and stderr for what happens; one writer where they are one thing."""

    def __init__(self, file: OutputFile | None = None) -> None:
        self.err = _output(sys.__stderr__, 2)
        if file is not None:
            self.are_one = False
            self.out = OutputStream(file.descriptor, is_terminal=os.isatty(file.descriptor))
            return
        self.are_one = sys.__stdout__ is not None and sys.__stderr__ is not None and _same_thing(1, 2)
        self.out = self.err if self.are_one else _output(sys.__stdout__, 1)

    @property
    def all(self) -> list[OutputStream]:
        return list({id(each): each for each in (self.out, self.err)}.values())

    async def room(self) -> None:
        for each in self.all:
            await each.room()

    async def finish(self) -> None:
        for each in self.all:
            await each.finish()

    def close(self) -> None:
        for each in self.all:
            each.close()


def _output(stream: TextIO | None, descriptor: int) -> OutputStream:
    if stream is None:  # it was closed; its number may by now be something else's
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            return OutputStream(null, is_terminal=False)
        finally:
            os.close(null)
    stream.flush()
    return OutputStream(descriptor, is_terminal=os.isatty(descriptor), encoding=stream.encoding or "utf-8")


def _same_thing(one: int, other: int) -> bool:
    first, second = os.fstat(one), os.fstat(other)
    if os.isatty(one) and os.isatty(other):
        return first.st_rdev == second.st_rdev
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
