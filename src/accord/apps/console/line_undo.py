"""`/undo` in the line mode: checkpoints before each prompt and after each turn, and the way back, with numbered answers.

Law: nothing that the user has edited after a turn is overwritten without a question. What can't be saved is said in one line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitizer import exact, exact_line, one_line
from accord.apps.console.screen.shutdown import BackgroundTasks
from accord.apps.console.session_files import (
    MEMORY,
    TURNED_OFF,
    Comparison,
    SessionFiles,
    compare,
    named_lines,
    restore,
    summary,
)
from accord.apps.console.tty import TerminalDialog
from accord.client.session import Session
from accord.errors import CheckpointFailed
from accord.local.checkpoint_log import CheckpointedTurn
from accord.local.checkpoints import Change, Checkpoint
from accord.local.threads import shielded_result
from accord.session.diffs import diff_text
from accord.session.entities import Diff, FileChange

Tell = Callable[[str, Literal["info", "warning", "error"]], None]

_MOST_TURNS = 20
_LONGEST_DIFF = 64 * 1024


class LineUndo:
    """`state` is the state directory, or None if checkpoints are turned off. `agent` names the agent in the log."""

    def __init__(self, state: Path | None, agent: str, dialog: TerminalDialog, tell: Tell) -> None:
        self._state = state
        self._agent = agent
        self._dialog = dialog
        self._tell = tell
        self._tasks = BackgroundTasks(lambda text: tell(text, "error"))
        self._files: SessionFiles | None = None
        self._turn: CheckpointedTurn | None = None

    def close(self) -> None:
        """End all processes."""
        self._tasks.cancel()
        if self._files is not None:
            self._files.checkpoints.close()

    def _files_of(self, session: Session) -> SessionFiles | None:
        if self._state is None:
            return None
        directories = [session.cwd, *session.additional_directories]
        if self._files is None or self._files.directories != directories:
            self.close()
            self._files = SessionFiles(self._state, directories, self._tasks)
        self._files.set_session(f"{self._agent}\0{session.id}")
        return self._files

    def prepare(self, session: Session) -> None:
        """The session is open: make the first checkpoint, which reads all files, while the user types."""
        files = self._files_of(session)
        if files is not None and not files.is_prepared:
            files.is_prepared = True
            files.save()

    async def begin_turn(self, session: Session, text: str) -> None:
        """Make the checkpoint of a prompt that is about to be sent."""
        files = self._files_of(session)
        if files is None or files.refusal:
            return
        begin = await files.save_in_time()
        if begin is None:
            self._tell(f"no checkpoint for /undo: {files.lateness}", "warning")
        self._turn = files.log.add(text, None)
        if begin is not None:
            self._tasks.start(self._set_begin(files, self._turn, begin))

    async def _set_begin(
        self, files: SessionFiles, turn: CheckpointedTurn, begin: asyncio.Task[Checkpoint | CheckpointFailed]
    ) -> None:
        result = await shielded_result(begin)
        if isinstance(result, CheckpointFailed):
            files.refusal = str(result) if result.is_final else ""
            self._tell(f"no checkpoint for /undo: {one_line(str(result))}", "warning")
            return
        turn.before = result
        await files.start(files.log.save)

    def end_turn(self) -> None:
        """Make the checkpoint of the end of a turn."""
        files, turn = self._files, self._turn
        self._turn = None
        if files is not None and turn is not None:
            self._tasks.start(self._set_end(files, turn))

    async def _set_end(self, files: SessionFiles, turn: CheckpointedTurn) -> None:
        result = await shielded_result(files.save()[1])
        if isinstance(result, Checkpoint):
            turn.after = result
            await files.start(files.log.save)

    async def run(self, session: Session) -> None:
        """`/undo`: let the user choose a turn, show what would change, and go back to it."""
        files = self._files_of(session)
        turns = [] if files is None else [turn for turn in reversed(files.log.turns) if turn.before is not None]
        async with self._dialog.attention():
            if files is None:
                self._dialog.tell(f"{TURNED_OFF}\n")
            elif not turns:
                reason = f" /undo is not available here: {one_line(files.refusal)}." if files.refusal else ""
                self._dialog.tell(f"There is no turn to go back to yet.{reason}\n")
            else:
                try:
                    await self._choose(files, turns[:_MOST_TURNS], session.cwd)
                except CheckpointFailed as error:
                    self._dialog.tell(f"Nothing was changed: {one_line(str(error))}\n")

    async def _choose(self, files: SessionFiles, turns: Sequence[CheckpointedTurn], cwd: str) -> None:
        self._dialog.tell("Go back to the files before a turn:\n")
        lines = [f"{number}  {_time(turn)}  {one_line(turn.text, 100)}" for number, turn in enumerate(turns, start=1)]
        self._dialog.tell("".join(f"{line}\n" for line in lines))
        typed = (await self._dialog.ask(f"1-{len(turns)}, or Enter for none: ") or "").strip()
        if not typed.isdecimal() or not 1 <= int(typed) <= len(turns):
            return
        turn = turns[int(typed) - 1]
        comparison = await files.run(lambda: compare(files, turn))
        changes = await self._confirm(files, comparison, cwd)
        if changes and (await files.run(lambda: compare(files, turn))).changes != comparison.changes:
            self._dialog.tell("Nothing was changed: the files have changed meanwhile. Try /undo again.\n")
        elif changes:
            failures = await files.run(lambda: restore(files, turn, changes))
            restored = [each for each in changes if each.path not in failures]
            told = (
                [f"Went back to before “{one_line(turn.text, 60)}”, {summary(restored)}. {MEMORY}"] if restored else []
            )
            told += named_lines("Not restored:", failures, cwd)
            self._dialog.tell("".join(f"{line}\n" for line in told))

    async def _confirm(self, files: SessionFiles, comparison: Comparison, cwd: str) -> list[Change]:
        """The changes that the user wants."""
        changes = comparison.changes
        if not changes:
            self._dialog.tell("Nothing to change: the files are as they were.\n")
            return []
        diffs = await files.run(lambda: [line for change in changes for line in _diff_lines(files, change, cwd)])
        conflicts = {each.path: each.warning or "edited since" for each in comparison.conflicts}
        lines = [summary(changes), *diffs]
        lines += named_lines("You have edited these after the turn:", conflicts, cwd)
        lines += named_lines("Not saved then, and left as they are:", comparison.omitted, cwd)
        if not await self._dialog.reads(lines):
            return []
        question = (
            "y goes back and keeps the files that you have edited, o overwrites them" if conflicts else "y goes back"
        )
        typed = (await self._dialog.ask(f"{question}, Enter does nothing: ") or "").strip().lower()
        if typed == "o" and conflicts:
            return changes
        return [each for each in changes if each.path not in conflicts] if typed in ("y", "yes") else []


def _diff_lines(files: SessionFiles, change: Change, cwd: str) -> Iterator[str]:
    """What would change in a file. Blocks."""
    how = "removed" if change.old is None else "brought back" if change.new is None else "changed back"
    yield f"  {exact_line(short_path(change.path, cwd))}: {how}"
    contents = files.checkpoints.read([file for file in (change.new, change.old) if file is not None])
    if any(len(each) > _LONGEST_DIFF or b"\0" in each for each in contents):
        return
    now = contents[0].decode(errors="replace") if change.new is not None else None
    then = contents[-1].decode(errors="replace") if change.old is not None else None
    diff = Diff(changes=[FileChange(operation="modify", path=change.path, old_text=now, new_text=then)])
    yield from exact(diff_text(diff), tab="    ").splitlines()


def _time(turn: CheckpointedTurn) -> str:
    return datetime.fromtimestamp(turn.time).astimezone().strftime("%Y-%m-%d %H:%M")
