"""What the user decided for good, kept for each project in one file of the user's own. These calls block.

Law: a change reads the file, and replaces it in one step, under a lock; so two programs lose none of each other's
choices, and whoever reads finds all of them or those before. What was revoked counts no more from that moment on, in
whatever program.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from accord.local.atomic_files import locked, make_directory, read_regular, write_whole
from accord.local.paths import kind_of, path_of

__all__ = ["Choices", "SavedChoice", "project_of"]

_FORMAT = 1


class SavedChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What it is about, what was chosen, and when."""

    project: str
    scope: str
    allowed: bool
    when: str


class _File(msgspec.Struct):
    format: int = _FORMAT
    choices: list[SavedChoice] = []


class Choices:
    """The file, which need not be there. ValueError, with what to do, for one that can't be used.

    It must not lie in a project: whoever wrote the project could allow themselves anything.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path_of(os.fspath(path)).absolute()

    def for_project(self, directory: str | os.PathLike[str]) -> MutableMapping[str, bool]:
        """Those of the project that a directory belongs to, by scope, alive: what is set is kept, what is deleted gone."""
        return _OfProject(self, project_of(directory))

    def listed(self, project: str | None = None) -> list[SavedChoice]:
        """All of them, or those of one project, the oldest first."""
        return [choice for choice in self._read().choices if project in (None, choice.project)]

    def set(self, project: str, scope: str, allowed: bool) -> None:
        """Keep a choice, in the place of an earlier one about the same."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        with self._changing() as file:
            file.choices = [each for each in file.choices if (each.project, each.scope) != (project, scope)]
            file.choices.append(SavedChoice(project=project, scope=scope, allowed=allowed, when=when))

    def revoke(self, project: str, scope: str | None = None) -> int:
        """Forget a choice, or all of a project; how many there were."""
        with self._changing() as file:
            before = len(file.choices)
            file.choices = [each for each in file.choices if each.project != project or scope not in (None, each.scope)]
            return before - len(file.choices)

    def _read(self) -> _File:
        try:
            file = msgspec.json.decode(read_regular(self.path), type=_File)
        except (FileNotFoundError, NotADirectoryError):
            return _File()
        except (OSError, msgspec.DecodeError) as error:
            raise ValueError(
                f"the choices in {self.path} can't be read ({error}): mend the file or delete it"
            ) from None
        if file.format != _FORMAT:
            raise ValueError(f"the choices in {self.path} were written by a newer accord: use that, or delete the file")
        return file

    @contextmanager
    def _changing(self) -> Generator[_File]:
        make_directory(self.path.parent)
        with locked(self.path.with_name(f"{self.path.name}.lock")):
            file = self._read()
            yield file
            write_whole(self.path, msgspec.json.format(msgspec.json.encode(file)) + b"\n")


class _OfProject(MutableMapping[str, bool]):
    def __init__(self, choices: Choices, project: str) -> None:
        self._choices = choices
        self._project = project

    def _known(self) -> dict[str, bool]:
        return {choice.scope: choice.allowed for choice in self._choices.listed(self._project)}

    def __getitem__(self, scope: str) -> bool:
        return self._known()[scope]

    def __setitem__(self, scope: str, allowed: bool) -> None:
        self._choices.set(self._project, scope, allowed)

    def __delitem__(self, scope: str) -> None:
        if not self._choices.revoke(self._project, scope):
            raise KeyError(scope)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())


def project_of(directory: str | os.PathLike[str]) -> str:
    """The repository that a directory is in, or else the directory itself; as it really is, without links."""
    real = Path(directory).resolve()
    for each in (real, *real.parents):
        if kind_of(each / ".git") is not None:
            return str(each)
    return str(real)
