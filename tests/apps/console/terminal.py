"""A person at a terminal: `accord` behind a pseudo-terminal, what it shows and what is typed."""

from __future__ import annotations

import asyncio
import codecs
import fcntl
import os
import pty
import sys
import termios
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

ACCORD = (sys.executable, "-m", "accord")


class Terminal:
    def __init__(self, descriptor: int) -> None:
        self.shown = ""
        self._descriptor = descriptor
        self._decoded = codecs.getincrementaldecoder("utf-8")("replace")
        self._progress = asyncio.Event()
        self._is_over = False
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    async def sees(self, text: str) -> str:
        """Wait until this is on the terminal, after what was seen before; what is between."""
        while text not in self.shown:
            assert not self._is_over, f"{text!r} never came:\n{self.shown}"
            self._progress.clear()
            await self._progress.wait()
        between, _, self.shown = self.shown.partition(text)
        return between

    async def sees_all(self, *texts: str) -> str:
        """Wait until all of these are on the terminal, in whatever order; all that was shown until then."""
        while missing := [text for text in texts if text not in self.shown]:
            assert not self._is_over, f"{missing} never came:\n{self.shown}"
            self._progress.clear()
            await self._progress.wait()
        shown, self.shown = self.shown, ""
        return shown

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _read(self) -> None:
        try:
            piece = os.read(self._descriptor, 65536)
        except OSError:  # nobody has the other end open any more
            piece = b""
        if not piece:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._is_over = True
        self._heard(self._decoded.decode(piece))
        self._progress.set()

    def _heard(self, text: str) -> None:
        self.shown += text


def _without_size(env: Mapping[str, str]) -> dict[str, str]:
    """The terminal that the tests themselves run in is another one."""
    return {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}


Kind = TypeVar("Kind", bound=Terminal)


@asynccontextmanager
async def at_terminal(
    *words: object, cwd: Path, stdout: int | None = None, program: Sequence[str] = ACCORD, kind: type[Kind] = Terminal
) -> AsyncGenerator[tuple[Kind, asyncio.subprocess.Process]]:
    """`accord` with these words; a Ctrl-C that is typed reaches it."""
    ours, theirs = pty.openpty()

    def take_over() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = await asyncio.create_subprocess_exec(
        *program,
        *map(str, words),
        cwd=cwd,
        stdin=theirs,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        preexec_fn=take_over,  # nothing else runs in this process meanwhile
        env={**_without_size(os.environ), "NO_COLOR": "1", "TERM": "xterm"},
    )
    os.close(theirs)
    terminal = kind(ours)
    try:
        yield terminal, process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        terminal.close()


def plainly(command: Any, *words: str, cwd: Path) -> Any:
    """`accord --plain` with this agent."""
    return at_terminal("--plain", *words, "--", *command.args, cwd=cwd)


async def prompted(terminal: Terminal, text: str = "Hi") -> None:
    await terminal.sees("You: ")
    terminal.type(f"{text}\n")


async def left(terminal: Terminal, accord: Any) -> None:
    await prompted(terminal, "/quit")
    assert await accord.wait() == 0
