"""Undo for any agent: a checkpoint of the session's files before each prompt and after each turn, and the way back.

Laws: a prompt waits at most two seconds for its checkpoint. What can't be saved is said in one line. Nothing that the user has edited after a turn is overwritten without a question. An undo can be undone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitizer import exact_line, one_line
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.pages.choice_page import Entry, QuestionPage
from accord.apps.console.screen.pages.undo_page import Preview, UndoPage, read_diffs
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.session_files import MEMORY, TURNED_OFF, SessionFiles, compare, named_lines, restore, summary
from accord.errors import CheckpointFailed
from accord.local.checkpoint_log import CheckpointedTurn, CheckpointLog, remove_old_checkpoints
from accord.local.checkpoints import Change, Checkpoint, Checkpoints
from accord.local.threads import shielded_result

_MOST_TOLD = 3
_LONGEST_TITLE = 60

log = logging.getLogger("accord.console")


class UndoController:
    """Saves checkpoints for all tabs, and goes back to them."""

    def __init__(self, screen: ScreenContext) -> None:
        self._screen = screen
        self._files: dict[SessionTab, SessionFiles] = {}
        self._told: set[str] = set()
        self._has_cleaned = False

    def _files_of(self, tab: SessionTab) -> SessionFiles | None:
        """None if checkpoints are turned off."""
        options, session = self._screen.options, tab.session
        if not options.saves_checkpoints or options.state is None:
            return None
        directories = [tab.cwd, *([] if session is None else session.additional_directories)]
        known = self._files.get(tab)
        if known is None or known.directories != directories:
            self.close(tab)
            known = self._files[tab] = SessionFiles(options.state, directories, self._screen.tasks)
        known.set_session(self._session_name(tab.session_id))
        return known

    def _session_name(self, session_id: str | None) -> str:
        return f"{self._screen.options.agent.key}\0{session_id or ''}"

    def forget(self, session_id: str) -> None:
        """The session is deleted: so is the list of its turns."""
        if self._screen.options.state is not None:
            CheckpointLog(self._screen.options.state, self._session_name(session_id)).delete()

    def close(self, tab: SessionTab | None = None) -> None:
        """End all processes, or those for one tab."""
        for each in [tab] if tab is not None else list(self._files):
            files = self._files.pop(each, None)
            if files is not None:
                files.checkpoints.close()

    # checkpoints

    def prepare(self, tab: SessionTab) -> None:
        """The user types: make the first checkpoint, which reads all files."""
        files = self._files_of(tab)
        if files is not None and not files.is_prepared:
            files.is_prepared = True
            files.save()

    async def before_turn(self, tab: SessionTab) -> None:
        """Make the checkpoint of a prompt that is about to be sent."""
        files = self._files_of(tab)
        if files is None or files.refusal:
            return
        files.begin = await files.save_in_time()
        if files.begin is None:
            tab.add_note(f"no checkpoint for /undo: {files.lateness}, so the prompt went without")

    def sent(self, tab: SessionTab, text: str) -> None:
        """A prompt goes to the agent."""
        files = self._files_of(tab)
        if files is None or files.refusal:
            return
        files.turn = turn = files.log.add(text, None)
        begin, files.begin = files.begin, None
        if begin is not None:
            self._screen.tasks.start(self._set_begin(tab, files, turn, begin))

    async def _set_begin(
        self,
        tab: SessionTab,
        files: SessionFiles,
        turn: CheckpointedTurn,
        begin: asyncio.Task[Checkpoint | CheckpointFailed],
    ) -> None:
        result = await shielded_result(begin)
        if isinstance(result, CheckpointFailed):
            self._tell_failure(tab, files, result)
            return
        turn.before = result
        self._tell_omitted(tab, files)
        await files.start(files.log.save)
        if not self._has_cleaned:
            self._has_cleaned = True
            await self._clean(files.checkpoints, result)

    def status_changed(self, tab: SessionTab) -> None:
        """When a turn has ended: make the checkpoint of its end."""
        files = self._files.get(tab)
        if files is not None and files.turn is not None and not tab.is_busy:
            turn, files.turn = files.turn, None
            self._screen.tasks.start(self._set_end(files, turn))

    async def _set_end(self, files: SessionFiles, turn: CheckpointedTurn) -> None:
        _, task = files.save()
        result = await shielded_result(task)
        if isinstance(result, Checkpoint):
            turn.after = result
            await files.start(files.log.save)

    def _tell_failure(self, tab: SessionTab, files: SessionFiles, error: CheckpointFailed) -> None:
        if not error.is_final:
            tab.add_note(f"no checkpoint for /undo before this turn: {one_line(str(error))}")
            return
        files.refusal = str(error)
        if files.refusal not in self._told:
            self._told.add(files.refusal)
            tab.add_note(f"/undo is not available here: {one_line(files.refusal)}")

    def _tell_omitted(self, tab: SessionTab, files: SessionFiles) -> None:
        found = files.newly_omitted()
        if found:
            names = [f"{exact_line(short_path(path, tab.cwd))} ({reason})" for path, reason in found.items()]
            rest = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
            tab.add_note(f"not in the checkpoints for /undo: {', '.join(names[:_MOST_TOLD])}{rest}")

    async def _clean(self, checkpoints: Checkpoints, last: Checkpoint) -> None:
        """Remove old checkpoints, once for each screen."""
        state = self._screen.options.state
        assert state is not None
        try:
            await asyncio.to_thread(lambda: remove_old_checkpoints(state, checkpoints.repositories(last)))
        except (CheckpointFailed, OSError) as error:
            log.info("old checkpoints were not removed: %s", error)

    # the way back

    async def choose(self) -> None:
        """`/undo`: let the user choose a turn, and go back to it."""
        tab = self._screen.tab
        files = self._files_of(tab)
        turns = [] if files is None else [turn for turn in reversed(files.log.turns) if turn.before is not None]
        reason = self._reason_against(tab, files)
        if reason or files is None or not turns:
            self._screen.tell(reason or "There is no turn to go back to yet.", "warning")
            return
        page = UndoPage(turns, lambda turn: self._preview(files, turn), tab.cwd, self._screen.palette)
        chosen = await self._screen.ask_page(page)
        if chosen is not None:
            try:
                await self._go_back(tab, files, turns[int(chosen)])
            except CheckpointFailed as error:
                self._screen.tell(f"Nothing was changed: {error}", "error")

    def _reason_against(self, tab: SessionTab, files: SessionFiles | None) -> str:
        if files is None:
            return TURNED_OFF
        if files.refusal and not files.log.turns:
            return f"/undo is not available here: {files.refusal}"
        busy = [each for each, theirs in self._files.items() if each.is_busy and _overlap(files, theirs)]
        if tab.is_busy or busy:
            where = "" if tab.is_busy else " in another tab, in the same directory"
            return f"The agent is working{where}; Esc stops it."
        return ""

    async def _preview(self, files: SessionFiles, turn: CheckpointedTurn) -> Preview:
        def load() -> Preview:
            comparison = compare(files, turn)
            return Preview(comparison, read_diffs(files.checkpoints, comparison.changes))

        return await files.run(load)

    async def _go_back(self, tab: SessionTab, files: SessionFiles, turn: CheckpointedTurn) -> None:
        asked: set[str] = set()
        kept: set[str] = set()
        while True:
            preview = await files.run(lambda: compare(files, turn))
            unasked = [each for each in preview.conflicts if each.path not in asked]
            if not unasked:
                break
            answer = await self._ask(tab, unasked)
            if answer is None:
                return
            asked |= {each.path for each in unasked}
            kept |= {each.path for each in unasked} if answer == "keep" else set()
        if reason := self._reason_against(tab, files):
            self._screen.tell(reason, "warning")
            return
        changes = [each for each in preview.changes if each.path not in kept]
        if not changes:
            self._screen.tell("Nothing to change: the files are as they were.")
            return
        failures = await files.run(lambda: restore(files, turn, changes))
        self._tell_result(tab, turn, [each for each in changes if each.path not in failures], failures)

    async def _ask(self, tab: SessionTab, edited: Sequence[Change]) -> str | None:
        names = ", ".join(exact_line(short_path(each.path, tab.cwd)) for each in edited)
        entries = [
            Entry("keep", "Keep these files, restore the others", names),
            Entry("overwrite", "Overwrite them", "a checkpoint keeps them if it can"),
        ]
        count = f"{len(edited)} file{'s were' if len(edited) != 1 else ' was'}"
        return await self._screen.ask_page(QuestionPage(f"{count} edited after the turn", entries))

    def _tell_result(
        self, tab: SessionTab, turn: CheckpointedTurn, changes: Sequence[Change], failures: dict[str, str]
    ) -> None:
        title = one_line(turn.text, _LONGEST_TITLE)
        if changes:
            tab.add_note(f"went back to before “{title}”, {summary(changes)}. {MEMORY} /undo can take it back.")
        for line in named_lines("not restored:", failures, tab.cwd):
            tab.add_note(line.strip())


def _overlap(one: SessionFiles, other: SessionFiles) -> bool:
    pairs = [(left, right) for left in one.checkpoints.directories for right in other.checkpoints.directories]
    return any(left.is_relative_to(right) or right.is_relative_to(left) for left, right in pairs)
