"""The turns of a session with their checkpoints, kept over the end of the program, and the removal of old checkpoints.

Law: what is kept is limited in number, age and size. These calls block.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import msgspec

from accord.local.checkpoints import Change, Checkpoint, Checkpoints
from accord.local.files import file_lock, make_private_directory, write_private_file
from accord.local.shadow_repository import ShadowRepository

MOST_TURNS = 50
_MOST_SESSIONS = 200
MOST_CHECKPOINTS = 400
MAX_AGE = 30 * 24 * 3600.0
MAX_SIZE = 2 * 1024**3
_LONGEST_TEXT = 500
_LEFTOVER_AGE = 3600.0
_MANY_LOOSE = 8
"""Files in one of the 256 directories of loose objects, from which on they are packed."""


class CheckpointedTurn(msgspec.Struct):
    """A turn, or an undo, with the files before and after it; None where there is no checkpoint."""

    text: str
    time: float
    is_undo: bool = False
    before: Checkpoint | None = None
    after: Checkpoint | None = None


class CheckpointLog:
    """The turns of one session, the oldest first. `state` is the state directory, `session` names the session."""

    def __init__(self, state: Path, session: str) -> None:
        name = sha256(session.encode("utf-8", "replace")).hexdigest()[:32]
        self._path = state / "checkpoints" / "sessions" / f"{name}.json"
        self.turns = self._read()

    def _read(self) -> list[CheckpointedTurn]:
        try:
            return msgspec.convert(json.loads(self._path.read_bytes()), list[CheckpointedTurn])
        except (OSError, ValueError, msgspec.ValidationError):  # there is none, or it is damaged
            return []

    def add(self, text: str, before: Checkpoint | None, *, is_undo: bool = False) -> CheckpointedTurn:
        """Add a turn that begins now."""
        turn = CheckpointedTurn(text[:_LONGEST_TEXT], time.time(), is_undo, before)
        self.turns = [*self.turns[1 - MOST_TURNS :], turn]
        return turn

    def save(self) -> None:
        """Write all turns."""
        make_private_directory(self._path.parent)
        content = json.dumps(msgspec.to_builtins(self.turns)).encode()
        write_private_file(self._path, content, is_durable=False)

    def delete(self) -> None:
        """Delete the file. The checkpoints themselves stay until they are old."""
        self._path.unlink(missing_ok=True)

    def edited_since(self, turn: CheckpointedTurn, now: Checkpoint, checkpoints: Checkpoints) -> set[str]:
        """The files that have changed since the beginning of a turn, but not by this turn or a later one.

        Where a checkpoint is missing it is not known what changed them: they are among these, too.
        """
        index = next((number for number, each in enumerate(self.turns) if each is turn), 0)
        states = list(_states(self.turns[index:], now))
        return {
            change.path
            for (owner, begin), (next_owner, end) in pairwise(states)
            if owner is not next_owner
            for change in checkpoints.changes(begin, end)
        }


def _states(turns: Iterable[CheckpointedTurn], now: Checkpoint) -> Iterator[tuple[CheckpointedTurn | None, Checkpoint]]:
    """The checkpoints in their order, with the turn that they begin or end."""
    for turn in turns:
        for checkpoint in (turn.before, turn.after):
            if checkpoint is not None:
                yield turn, checkpoint
    yield None, now


def conflicts(changes: Iterable[Change], edited: set[str]) -> list[Change]:
    """The changes that would overwrite something that nobody could bring back, or that the user has edited."""
    return [each for each in changes if each.path in edited or each.warning]


def remove_old_checkpoints(state: Path, own: Iterable[ShadowRepository]) -> None:
    """Remove what is too old or too much. `own`: the repositories that are in use here."""
    directory, kept = state / "checkpoints", list(own)
    for pattern in ("rules-*", "*.removed"):
        for path in directory.glob(pattern):
            if _age(path) > _LEFTOVER_AGE:
                shutil.rmtree(path, ignore_errors=True)
    sessions = sorted(directory.glob("sessions/*.json"), key=_age)
    for number, path in enumerate(sessions):
        if number >= _MOST_SESSIONS or _age(path) > MAX_AGE:
            path.unlink(missing_ok=True)
    for repository in kept:
        _clean(repository)
    total = sum(_size(each.git_dir) for each in kept)
    others = set(directory.glob("*.git")) - {each.git_dir for each in kept}
    for path in sorted(others, key=_last_use):
        total += _size(path)
        if total > MAX_SIZE or _last_use(path) > MAX_AGE:
            _remove_repository(path)


def _clean(repository: ShadowRepository) -> None:
    references = sorted((repository.git_dir / "refs" / "checkpoints").iterdir(), reverse=True)
    old = [path for number, path in enumerate(references) if number >= 2 * MOST_CHECKPOINTS or _age(path) > MAX_AGE]
    for path in old:
        path.unlink(missing_ok=True)
    loose = repository.git_dir / "objects" / "17"
    if old or (loose.is_dir() and len(list(loose.iterdir())) >= _MANY_LOOSE):
        repository.collect_garbage()
    if _size(repository.git_dir) > MAX_SIZE:
        for path in references[-(-len(references) // 4) * 2 :]:  # of the older half of the checkpoints, two for each
            path.unlink(missing_ok=True)
        with repository.locked():
            repository.collect_garbage("now")


def _remove_repository(path: Path) -> None:
    """Unless somebody saves something there at this moment."""
    with suppress(OSError), file_lock(path.with_suffix(".lock"), 0.0):
        removed = path.rename(path.with_suffix(".removed"))
        shutil.rmtree(removed, ignore_errors=True)


def _last_use(path: Path) -> float:
    """Seconds since the last checkpoint in a repository."""
    return _age(path / "state.json")


def _age(path: Path) -> float:
    """Seconds since the last change; for ever if it does not exist."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return float("inf")


def _size(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size
    return total
