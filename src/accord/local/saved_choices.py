"""Permission choices that the user made for good, by project, in a file of the user's own. These calls block.

Law: a change reads the file and replaces it in one step, under a lock. So two processes lose none of each other's choices,
and readers find all choices of before or of after. A revoked choice is void from that moment on, in every process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from accord.local.files import SavedContent, SavedFile
from accord.local.paths import expand_path, file_kind


class SavedChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The scope that it applies to, the decision, and when it was made."""

    project: str
    scope: str
    allowed: bool
    when: str


class _Saved(SavedContent):
    choices: list[SavedChoice] = []


class SavedChoices:
    """The file need not exist. ValueError, with what to do, for one that can't be used.

    It must not lie in a project: the author of the project could allow themselves anything.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = expand_path(os.fspath(path)).absolute()
        self._file = SavedFile(self.path, _Saved, "choices")

    def for_project(self, directory: str | os.PathLike[str]) -> MutableMapping[str, bool]:
        """The choices of the project that a directory belongs to, by scope. Changes of the mapping change the file."""
        return _ProjectChoices(self, project_root(directory))

    def read(self, project: str | None = None) -> list[SavedChoice]:
        """All choices, or those of one project, the oldest first."""
        return [choice for choice in self._file.read().choices if project in (None, choice.project)]

    def set(self, project: str, scope: str, allowed: bool) -> None:
        """Save a choice; it replaces an earlier one with the same project and scope."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        with self._file.edit() as file:
            file.choices = [each for each in file.choices if (each.project, each.scope) != (project, scope)]
            file.choices.append(SavedChoice(project=project, scope=scope, allowed=allowed, when=when))

    def revoke(self, project: str, scope: str | None = None) -> int:
        """Delete one choice or all choices of a project; returns how many there were."""
        with self._file.edit() as file:
            before = len(file.choices)
            file.choices = [each for each in file.choices if each.project != project or scope not in (None, each.scope)]
            return before - len(file.choices)


class _ProjectChoices(MutableMapping[str, bool]):
    def __init__(self, choices: SavedChoices, project: str) -> None:
        self._choices = choices
        self._project = project

    def _by_scope(self) -> dict[str, bool]:
        return {choice.scope: choice.allowed for choice in self._choices.read(self._project)}

    def __getitem__(self, scope: str) -> bool:
        return self._by_scope()[scope]

    def __setitem__(self, scope: str, allowed: bool) -> None:
        self._choices.set(self._project, scope, allowed)

    def __delitem__(self, scope: str) -> None:
        if not self._choices.revoke(self._project, scope):
            raise KeyError(scope)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_scope())

    def __len__(self) -> int:
        return len(self._by_scope())


def project_root(directory: str | os.PathLike[str]) -> str:
    """The repository that a directory is in, or else the directory itself, with links resolved."""
    real = Path(directory).resolve()
    for each in (real, *real.parents):
        if file_kind(each / ".git") is not None:
            return str(each)
    return str(real)
