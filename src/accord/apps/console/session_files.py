"""The checkpoints of a session's files: when they are made, what going back to one would change, and the way back.

Laws: a prompt waits at most two seconds for its checkpoint. An undo can be undone: it is a turn itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.shutdown import BackgroundTasks
from accord.errors import CheckpointFailed
from accord.local.checkpoint_log import CheckpointedTurn, CheckpointLog, conflicts
from accord.local.checkpoints import Change, Checkpoint, Checkpoints
from accord.local.threads import shielded_result

PATIENCE = 2.0
"""Seconds that a prompt waits for its checkpoint."""
MEMORY = "The agent's memory does not change: it does not know of an undo."
TURNED_OFF = "Checkpoints are turned off: set checkpoints = true in config.toml, or ACCORD_CHECKPOINTS=true."
_MOST_NAMES = 20
T = TypeVar("T")


class SessionFiles:
    """The checkpoints of one session. Its jobs run in threads, one after the other."""

    def __init__(self, state: Path, directories: Sequence[str], tasks: BackgroundTasks) -> None:
        self.directories = directories
        self.checkpoints = Checkpoints(state, directories)
        self.session: str = ""
        self.log = CheckpointLog(state, "")
        self.refusal = ""
        """Why there are no checkpoints here."""
        self.is_prepared = False
        """The first checkpoint has begun."""
        self.turn: CheckpointedTurn | None = None
        """The turn that runs."""
        self.begin: asyncio.Task[Checkpoint | CheckpointFailed] | None = None
        """The checkpoint of the prompt that is about to be sent."""
        self._state = state
        self._tasks = tasks
        self._last: asyncio.Task[object] | None = None
        self._told: set[str] = set()

    def set_session(self, session: str) -> None:
        """The session is open: its turns may be known from before."""
        if session != self.session:
            self.session, self.log = session, CheckpointLog(self._state, session)

    def start(self, job: Callable[[], T]) -> asyncio.Task[T | CheckpointFailed]:
        """Run a job after all others; its failure is its result."""
        previous = self._last

        async def run() -> T | CheckpointFailed:
            if previous is not None:
                await asyncio.wait((previous,))
            try:
                return await asyncio.to_thread(job)
            except CheckpointFailed as error:
                return error
            except OSError as error:
                return CheckpointFailed(str(error))

        self._last = task = self._tasks.start(run())
        return task

    async def run(self, job: Callable[[], T]) -> T:
        """As `start`, for one that waits for the result."""
        result = await shielded_result(self.start(job))
        if isinstance(result, CheckpointFailed):
            raise result
        return result

    def save(self) -> tuple[asyncio.Future[None], asyncio.Task[Checkpoint | CheckpointFailed]]:
        """Begin a checkpoint. The first result comes as soon as the files may change, the other at its end."""
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()

        def set_stored(*_: object) -> None:
            if not stored.done():
                stored.set_result(None)

        def on_stored() -> None:
            with suppress(RuntimeError):  # the screen is closed
                loop.call_soon_threadsafe(set_stored)

        task = self.start(lambda: self.checkpoints.save(on_stored))
        task.add_done_callback(set_stored)
        return stored, task

    async def save_in_time(self) -> asyncio.Task[Checkpoint | CheckpointFailed] | None:
        """Begin a checkpoint, and wait until the files may change; None if that takes too long."""
        self.is_prepared = True
        stored, task = self.save()
        await asyncio.wait((stored,), timeout=PATIENCE)
        return task if stored.done() else None

    @property
    def lateness(self) -> str:
        """Why a prompt went without a checkpoint."""
        return f"saving the files takes longer than {PATIENCE:g} s"

    def newly_omitted(self) -> dict[str, str]:
        """What the last checkpoint has left out, each once."""
        found = {path: reason for path, reason in self.checkpoints.unsaved.items() if path not in self._told}
        self._told.update(found)
        return found


class Comparison(msgspec.Struct):
    """What going back to a turn would change. `now`: the files of this moment, with which it was compared."""

    now: Checkpoint
    changes: list[Change]
    conflicts: list[Change]
    """Those of the changes that the user is asked about."""
    omitted: dict[str, str]
    """What was not saved then, and stays as it is, with the reason."""


def compare(files: SessionFiles, turn: CheckpointedTurn) -> Comparison:
    """Compare a checkpoint with the files of this moment. Blocks."""
    checkpoints, target = files.checkpoints, turn.before
    assert target is not None
    now = checkpoints.save(is_kept=False)
    changes = checkpoints.changes_to_undo(target, now)
    edited = files.log.edited_since(turn, now, checkpoints)
    return Comparison(now, changes, conflicts(changes, edited), checkpoints.omitted(target))


def restore(files: SessionFiles, turn: CheckpointedTurn, changes: Sequence[Change]) -> dict[str, str]:
    """Restore files, between two checkpoints; those that could not be restored, with the reason. Blocks."""
    undo = files.log.add(f"undo: {turn.text}", files.checkpoints.save(), is_undo=True)
    files.log.save()
    failures = files.checkpoints.restore(changes)
    undo.after = files.checkpoints.save()
    files.log.save()
    return failures


def summary(changes: Sequence[Change]) -> str:
    """How many files are changed, and how."""
    counts = {
        "changed back": sum(each.old is not None and each.new is not None for each in changes),
        "brought back": sum(each.new is None for each in changes),
        "removed": sum(each.old is None for each in changes),
    }
    if not changes:
        return "no file differs"
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    return f"{len(changes)} file{'s' * (len(changes) != 1)}: {', '.join(parts)}"


def named_lines(title: str, names: dict[str, str], cwd: str) -> list[str]:
    """A line for each name with its reason, below a title; nothing without names."""
    if not names:
        return []
    lines = [f"  {exact_line(short_path(path, cwd))} ({reason})" for path, reason in names.items()]
    rest = [f"  … and {len(lines) - _MOST_NAMES} more"] if len(lines) > _MOST_NAMES else []
    return [title, *lines[:_MOST_NAMES], *rest]
