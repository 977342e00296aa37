"""Hands the terminal to another program: the user's editor, a login, or a `!command`.

Law: however that program ends, the screen comes back.

The agent goes on meanwhile; what it says is shown afterwards.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import tempfile
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.blocks.notices import ShellRun
from accord.apps.console.screen.session import Talk
from accord.client.login import run_in_terminal
from accord.client.target import Command
from accord.client.workspace.terminals import usual_shell
from accord.errors import ConnectionClosed
from accord.local.processes import exit_status
from accord.transports.command_output import Capture, start_capture

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Editing", "HandingOver", "Shell", "editor_command"]


class HandingOver:
    """One program at a time; the next one waits."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self._terminal = asyncio.Lock()

    @property
    def is_away(self) -> bool:
        """Whether nothing may be written to the terminal now."""
        return self._terminal.locked()

    async def run(self, command: Command) -> int:
        """Its exit code; OSError when it can't be started, ConsoleFailed without a terminal."""
        async with self._terminal:
            code = await self._run(command)
        self._app.showing.window_title()  # it may be another now
        return code

    async def _run(self, command: Command) -> int:
        app, code, failure = self._app, 0, None
        try:
            # Textual draws on when it is suspended, into a queue that nobody empties: full, it would stop everything.
            with app.suspend(), app.batch_update(), _interrupts_are_for_it():
                try:
                    code = await run_in_terminal(command)
                except BaseException as error:  # noqa: BLE001  # Textual would not come back from one
                    failure = error
        except SuspendNotSupported:
            raise ConsoleFailed("this terminal can't be handed over to another program") from None
        if failure is not None:
            raise failure
        return code


@contextmanager
def _interrupts_are_for_it() -> Generator[None]:
    """A Ctrl-C at the terminal reaches us too."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, _nothing)  # not SIG_IGN, which the program would inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _nothing(number: int, frame: Any) -> None:
    pass


_PLUS = (
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
)
_GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")
_COLON = ("hx", "helix", "subl", "zed", "sublime_text")


def editor_command(editor: str, path: str, line: int | None) -> list[str]:
    """The command that opens a file, at its line where the editor is known to take one; ValueError for a broken quote."""
    words = shlex.split(editor)
    name = Path(words[0]).name.removesuffix(".exe")
    if line is None:
        return [*words, path]
    if name in _GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", path] if name in _PLUS else [*words, path]


class Editing:
    """The editor of a screen's user: `$VISUAL`, else `$EDITOR`, else vi."""

    def __init__(self, app: Console) -> None:
        self._app = app

    async def prompt(self) -> None:
        """What is saved in the editor is the new prompt; what was typed on the way there stands behind it."""
        app = self._app
        before = app.prompt.text
        with tempfile.TemporaryDirectory(prefix="accord-") as directory:
            path = Path(directory) / "prompt.md"
            path.write_text(before, "utf-8")
            if not await self.file(str(path), None):
                return
            written = path.read_text("utf-8", "replace").rstrip("\n")
        meanwhile = app.prompt.text
        if meanwhile.startswith(before):
            app.prompt.take(written + meanwhile[len(before) :])
        else:
            app.prompting.take_back(written)

    async def file(self, path: str, line: int | None) -> bool:
        """Whether the editor was there and ended well; if not, the user is told."""
        app = self._app
        editor = (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi").strip()
        try:
            code = await app.handing_over.run(Command(editor_command(editor, path, line), cwd=app.talk.cwd))
        except FileNotFoundError:
            app.tell(f"There is no program {one_line(editor, 80)!r}. Set $VISUAL or $EDITOR to your editor.", "error")
            return False
        except (OSError, ValueError, ConsoleFailed) as error:
            app.tell(f"{one_line(editor, 80)} can't be opened: {error}. $VISUAL or $EDITOR names the editor.", "error")
            return False
        if code != 0:
            app.tell(f"{one_line(editor, 80)} ended with exit code {code}; nothing was taken over.", "warning")
        return code == 0


class Shell:
    """One command at a time for each talk; it ends, with all that it started, when it is stopped or the screen goes."""

    def __init__(self) -> None:
        self._running: dict[Talk, asyncio.Task[Capture]] = {}
        """From the moment that each is asked for: the starts, which are never cancelled."""

    def is_running(self, talk: Talk) -> bool:
        return talk in self._running

    def run(self, talk: Talk, command: str) -> Coroutine[Any, Any, None]:
        """Begin at once; what this returns sees the command to its end."""
        block = ShellRun(command)
        talk.story.add(block)

        def heard(piece: bytes) -> None:
            block.heard(piece)
            talk.story.changed(block)

        line = [*usual_shell(), command]
        start = start_capture(line, env=dict(os.environ), cwd=talk.cwd, on_output=heard, terminate_grace=1.0)
        self._running[talk] = asyncio.create_task(start, name="accord shell")
        return self._see_to_its_end(talk, block)

    async def _see_to_its_end(self, talk: Talk, block: ShellRun) -> None:
        starting = self._running[talk]
        try:
            await asyncio.wait((starting,))
            capture = starting.result()
            await asyncio.wait((capture.ended,))
            await capture.end()
            block.ended(exit_status(capture.ended.result()))
        except (ConnectionClosed, OSError) as error:
            block.heard(f"{error}\n".encode())
        finally:
            await self.stop(talk)
            self._running.pop(talk, None)
            talk.story.changed(block)

    async def stop(self, talk: Talk) -> None:
        """End the command that runs there, and all that it started."""
        starting = self._running.get(talk)
        if starting is None:
            return
        await asyncio.wait((starting,))
        if starting.exception() is None:
            await starting.result().end()

    async def aclose(self) -> None:
        """End all of them."""
        for talk in list(self._running):
            await self.stop(talk)
