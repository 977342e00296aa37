"""External programs: the terminal handed over to an editor or a login, and `!commands` of the user.

Law: however a program ends, the screen returns. The agent continues meanwhile; its output is shown afterwards.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import tempfile
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from textual.app import SuspendNotSupported

from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.blocks.notices import ShellBlock
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.session import SessionTab
from accord.client.login import run_in_terminal
from accord.client.target import Command
from accord.client.workspace.terminals import usual_shell
from accord.errors import ConnectionClosed
from accord.local.processes import exit_status
from accord.transports.command_output import CapturedCommand, capture_command


class TerminalHandover:
    """Runs one program at a time in the terminal. `suspend` suspends the screen; `on_return` is called after it."""

    def __init__(self, suspend: Callable[[], AbstractContextManager[None]], on_return: Callable[[], None]) -> None:
        self._suspend = suspend
        self._on_return = on_return
        self._terminal = asyncio.Lock()

    @property
    def is_active(self) -> bool:
        """Whether another program has the terminal, so that nothing may be written to it."""
        return self._terminal.locked()

    async def run(self, command: Command) -> int:
        """Returns the exit code; OSError if the program cannot be started, ConsoleFailed without a terminal."""
        async with self._terminal:
            code = await self._run(command)
        self._on_return()
        return code

    async def _run(self, command: Command) -> int:
        code, failure = 0, None
        try:
            with self._suspend(), _ignored_interrupts():
                try:
                    code = await run_in_terminal(command)
                except BaseException as error:  # noqa: BLE001  # Textual would not resume after an exception
                    failure = error
        except SuspendNotSupported:
            raise ConsoleFailed("this terminal cannot be handed over to another program") from None
        if failure is not None:
            raise failure
        return code


@contextmanager
def _ignored_interrupts() -> Generator[None]:
    """Ctrl-C is for the other program, but the terminal sends it to this process too."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda number, frame: None)  # not SIG_IGN, which the program would inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_PLUS = [
    "vi",
    "vim",
    "nvim",
    "view",
    "gvim",
    "nano",
    "pico",
    "emacs",
    "emacsclient",
    "micro",
    "kak",
    "joe",
    "jed",
    "mg",
    "ne",
]
_GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")
_COLON = ("hx", "helix", "subl", "zed", "sublime_text")


def editor_command(editor: str, path: str, line: int | None) -> list[str]:
    """The command that opens a file, at a line if the editor is known to support that; ValueError for an open quote."""
    words = shlex.split(editor)
    name = Path(words[0]).name.removesuffix(".exe")
    if line is None:
        return [*words, path]
    if name in _GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", path] if name in _PLUS else [*words, path]


class Editor:
    """The user's editor: `$VISUAL`, else `$EDITOR`, else vi. It runs in the directory of the session."""

    def __init__(self, screen: ScreenContext, handover: TerminalHandover) -> None:
        self._screen = screen
        self._handover = handover

    async def edit_text(self, text: str) -> str | None:
        """The text that the user has saved; None if the editor failed."""
        with tempfile.TemporaryDirectory(prefix="accord-") as directory:
            path = Path(directory) / "prompt.md"
            path.write_text(text, "utf-8")
            if not await self.open(str(path), None):
                return None
            return path.read_text("utf-8", "replace").rstrip("\n")

    async def open(self, path: str, line: int | None) -> bool:
        """Open a file; returns whether the editor ended without an error."""
        editor = (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi").strip()
        name = one_line(editor, 80)
        try:
            code = await self._handover.run(Command(editor_command(editor, path, line), cwd=self._screen.tab.cwd))
        except FileNotFoundError:
            self._screen.tell(f"Command not found: {name}. Set $VISUAL or $EDITOR to your editor.", "error")
            return False
        except (OSError, ValueError, ConsoleFailed) as error:
            self._screen.tell(f"Cannot run {name}: {error}. Set $VISUAL or $EDITOR to your editor.", "error")
            return False
        if code != 0:
            self._screen.tell(f"{name} exited with code {code}; the text was not changed.", "warning")
        return code == 0


class Shell:
    """Runs `!commands`, one at a time in each tab. A command ends with all its processes, at the latest with the screen."""

    def __init__(self) -> None:
        self._running: dict[SessionTab, asyncio.Task[CapturedCommand]] = {}
        """The starts of the commands, which are never cancelled."""

    def is_running(self, tab: SessionTab) -> bool:
        return tab in self._running

    def run(self, tab: SessionTab, command: str) -> Coroutine[Any, Any, None]:
        """Start the command at once; the coroutine waits for its end."""
        block = ShellBlock(command)
        tab.conversation.add(block)

        def add_output(data: bytes) -> None:
            block.add_output(data)
            tab.conversation.changed()

        line = [*usual_shell(), command]
        start = capture_command(line, env=dict(os.environ), cwd=tab.cwd, on_output=add_output, terminate_grace=1.0)
        self._running[tab] = asyncio.create_task(start, name="accord shell")
        return self._wait(tab, block)

    async def _wait(self, tab: SessionTab, block: ShellBlock) -> None:
        start = self._running[tab]
        try:
            await asyncio.wait((start,))
            capture = start.result()
            await asyncio.wait((capture.ended,))
            await capture.end()
            block.set_exit(exit_status(capture.ended.result()))
        except (ConnectionClosed, OSError) as error:
            block.add_output(f"{error}\n".encode())
        finally:
            await self.stop(tab)
            self._running.pop(tab, None)
            tab.conversation.changed()

    async def stop(self, tab: SessionTab) -> None:
        """End the command that runs in a tab, with all its processes."""
        start = self._running.get(tab)
        if start is None:
            return
        await asyncio.wait((start,))
        if start.exception() is None:
            await start.result().end()

    async def aclose(self) -> None:
        """End all commands."""
        for tab in list(self._running):
            await self.stop(tab)
