"""The files that a session has changed: shown in a diff of a completed tool call, or written through us.

Law: a diff counts as soon as it was shown, also when a later update of its call leaves it out (FN-105). A call that has
not been completed has changed nothing.
"""

from __future__ import annotations

import os
from pathlib import PurePath

from accord.session.entities import Diff, FileChange
from accord.session.updates import ToolCallAppend, ToolCallChanged, ToolCallPatch, Update

_MOST_FILES = 10_000
_MOST_TEXT = 8 * 1024 * 1024
_LONGEST_PATH = 4096
"""The system takes no longer one."""


def absolute_path(path: str, cwd: str) -> str:
    """The text of it from the root on; nothing is looked up. What `..` leads to, a link may decide: so that stays."""
    return str(PurePath(cwd, path))


def short_path(path: str, cwd: str) -> str:
    """Relative to the session's directory where it is inside, with ~ for the home directory otherwise."""
    inside = cwd.rstrip("/") + "/"
    if cwd and path.startswith(inside):
        return path[len(inside) :]
    home = os.path.expanduser("~")  # noqa: PTH111  # the text of it, nothing is looked up
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def merge_diffs(before: list[Diff], patch: ToolCallPatch | ToolCallAppend) -> list[Diff]:
    """The diffs of a call after an update: those of its content, and earlier ones of files that it does not show again.

    `before` is theirs from then on.
    """
    if isinstance(patch, ToolCallAppend):
        if isinstance(patch.item, Diff):
            before.append(patch.item)
        return before
    if not patch.content:
        return before
    now = [item for item in patch.content if isinstance(item, Diff)]
    again = {change.path for diff in now for change in diff.changes}
    return [diff for diff in before if again.isdisjoint(change.path for change in diff.changes)] + now


def is_same_change(change: FileChange, written: FileChange, cwd: str) -> bool:
    """Whether a change that a call has shown, whole or in part, is what was written to the file through us."""
    if absolute_path(change.path, cwd) != absolute_path(written.path, cwd):
        return False
    if change.new_text is None or written.new_text is None:
        return False
    return change.new_text in written.new_text and (change.old_text or "") in (written.old_text or "")


class ChangedFiles:
    """Which files were changed, in the order in which that became known; the first ten thousand."""

    def __init__(self) -> None:
        self._changed: dict[str, None] = {}
        self._shown: dict[str, dict[str, None]] = {}
        """By the id of a call that is not completed, the paths that it has shown; those of the oldest are forgotten."""
        self._room = _MOST_FILES

    def tell(self, change: Update) -> None:
        """Take in what a session has told."""
        if not isinstance(change, ToolCallChanged):
            return
        call, shown = change.call, merge_diffs([], change.patch)
        paths = self._shown.pop(call.id, {})
        self._room += len(paths)
        named = [each.path for diff in shown for each in diff.changes if len(each.path) <= _LONGEST_PATH]
        paths |= dict.fromkeys(named[:_MOST_FILES])
        if call.status == "completed":
            for path in paths:
                self.wrote(path)
        elif paths:
            self._shown[call.id] = paths
            self._room -= len(paths)
            while self._room < 0 and len(self._shown) > 1:
                self._room += len(self._shown.pop(next(iter(self._shown))))

    def wrote(self, path: str) -> None:
        """A file was written, whoever did it."""
        if len(self._changed) < _MOST_FILES:
            self._changed[path] = None

    def paths(self, cwd: str) -> list[str]:
        """All of them, each once, from the root on."""
        return list(dict.fromkeys(absolute_path(path, cwd) for path in self._changed))


class WrittenFiles:
    """Each write that was done through us, with its texts; past some megabytes the texts of the oldest are dropped."""

    def __init__(self) -> None:
        self.changes: list[FileChange] = []
        self._size = 0

    def add(self, path: str, old_text: str | None, new_text: str) -> None:
        """A file was written."""
        operation = "add" if old_text is None else "modify"
        self.changes.append(FileChange(operation=operation, path=path, old_text=old_text, new_text=new_text))
        self._size += _size(self.changes[-1])
        if len(self.changes) > _MOST_FILES:
            self._size -= _size(self.changes.pop(0))
        for place, change in enumerate(self.changes):
            if self._size <= _MOST_TEXT:
                break
            self._size -= _size(change)
            self.changes[place] = FileChange(operation=change.operation, path=change.path)


def _size(change: FileChange) -> int:
    return len(change.old_text or "") + len(change.new_text or "")
