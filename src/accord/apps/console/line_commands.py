"""The program's own slash commands in the line mode: help, sessions, changed files, undo, export.

They have the names of the screen's, and the same rules: the agent's command of that name goes first, and an unknown one is
sent only when it is typed again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from accord.apps.console.file_changes import ChangedFiles, short_path
from accord.apps.console.line_undo import LineUndo
from accord.apps.console.sanitizer import exact, exact_line, one_line
from accord.apps.console.screen.export import export, export_path
from accord.apps.console.session_choice import KnownSessions, local_time, newest_first
from accord.apps.console.slash_commands import OwnCommand, command_meanings, parse_own_command, unknown_command
from accord.apps.console.tty import TerminalDialog
from accord.client.session import Session
from accord.session.diffs import diff_text
from accord.session.entities import Diff
from accord.session.updates import Update

OpenSession: TypeAlias = Callable[[str | None], Awaitable[Session | None]]
"""Opens a new session, or the one of that id; None, after saying why, if that fails."""

MEANINGS = {
    "help": "these commands",
    "new": "begin a new session",
    "clear": "the same as /new",
    "resume": "continue an earlier session",
    "undo": "go back to the files before a turn, after a preview",
    "diff": "the files changed in this session, with their changes",
    "export": "write the conversation to a file: /export [PATH, md or json]",
    "quit": "quit accord",
    "exit": "the same as /quit",
}
_MOST_SESSIONS = 20


class LineCommands:
    """`is_over` says that the user wants to leave. `open_session` opens another session."""

    def __init__(self, dialog: TerminalDialog, cwd: Path, open_session: OpenSession, undo: LineUndo) -> None:
        self.is_over = False
        self._dialog = dialog
        self._cwd = cwd
        self._open_session = open_session
        self._undo = undo
        self._changed = ChangedFiles()
        self._unknown = ""
        """The text with an unknown command that was not sent."""

    def tell(self, update: Update) -> None:
        """Take in an update of the session."""
        self._changed.tell(update)

    def wrote(self, path: str) -> None:
        """The agent has written a file through the client."""
        self._changed.wrote(path)

    async def run(self, text: str, session: Session, known: KnownSessions) -> Session | None:
        """Run a command of the program; returns the session to continue with, or None if the text is to be sent."""
        own = parse_own_command(text, session.commands)
        if own is not None:
            return await self._run_own(*own, session, known)
        message = unknown_command(text, session.commands, "Type it again to send it as text.", MEANINGS)
        if message is None or text == self._unknown:
            self._unknown = ""
            return None
        self._unknown = text
        await self._say([message])
        return session

    async def _run_own(self, command: OwnCommand, argument: str, session: Session, known: KnownSessions) -> Session:
        name = command.name
        if name not in MEANINGS:
            await self._say([f"/{name} is a command of the screen: `accord` without --plain."])
        elif argument and not command.hint:
            await self._say([f"/{name} takes no text after it."])
        elif name == "help":
            meanings = command_meanings(session.commands, MEANINGS)
            await self._say([f"/{each}: {meaning}" for each, meaning in meanings.items()])
        elif name in ("new", "clear"):
            return await self._open(None, session)
        elif name == "resume":
            return await self._resume(session, known)
        elif name == "undo":
            await self._undo.run(session)
        elif name == "diff":
            await self._say(self._differences(session))
        elif name == "export":
            await self._say([_export(session, argument)])
        else:
            self.is_over = True
        return session

    async def _open(self, session_id: str | None, before: Session) -> Session:
        session = await self._open_session(session_id)
        if session is None:
            return before
        before.on_update = _ignore
        self._changed = ChangedFiles()
        return session

    async def _resume(self, session: Session, known: KnownSessions) -> Session:
        sessions = [each for each in newest_first(await known.all()) if each.session_id != session.id][:_MOST_SESSIONS]
        lines = [
            f"{number}  {local_time(each.updated_at)}  {one_line(each.title or each.session_id, 100)}"
            for number, each in enumerate(sessions, start=1)
        ]
        async with self._dialog.attention():
            if not sessions:
                self._dialog.tell("There are no other sessions.\n")
                return session
            self._dialog.tell("".join(f"{line}\n" for line in lines))
            typed = (await self._dialog.ask(f"1-{len(sessions)}, or Enter for none: ") or "").strip()
        if not typed.isdecimal() or not 1 <= int(typed) <= len(sessions):
            return session
        return await self._open(sessions[int(typed) - 1].session_id, session)

    def _differences(self, session: Session) -> list[str]:
        """The paths of all changed files, and the changes that the transcript holds."""
        paths = self._changed.paths(str(self._cwd))
        if not paths:
            return ["No files changed yet."]
        lines = [f"{len(paths)} file{'s' * (len(paths) != 1)} changed:"]
        lines += [f"  {exact_line(short_path(path, str(self._cwd)))}" for path in paths]
        calls = [call for call in session.transcript.tool_calls.values() if call.status == "completed"]
        diffs = [item for call in calls for item in call.content if isinstance(item, Diff)]
        return lines + [line for diff in diffs for line in exact(diff_text(diff), tab="    ").splitlines()]

    async def _say(self, lines: list[str]) -> None:
        async with self._dialog.attention():
            self._dialog.tell("".join(f"{line}\n" for line in lines))


def _export(session: Session, target: str) -> str:
    """Write the file; returns what to say."""
    path = export_path(target, Path(session.cwd), session.id)
    try:
        export(session.transcript, path)
    except (OSError, ValueError) as error:  # ValueError: an impossible name
        return f"Cannot write {exact_line(str(path))}: {error.strerror if isinstance(error, OSError) else error}"
    return f"Written to {exact_line(str(path))}"


def _ignore(_: object) -> None:
    """A session that the user has left tells nobody anything."""
