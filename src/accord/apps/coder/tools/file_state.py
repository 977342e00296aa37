"""One turn's surroundings of the tools: which files they may touch, and what the model and the user have seen of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accord.agent.turn import Turn
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.settings.display import printable
from accord.apps.coder.tools.programs import installation
from accord.errors import Denied, InvalidParams, UnusableRepository
from accord.local.git import is_bare_layout, is_git_name, nested_repository
from accord.local.paths import ResolvedPath, expand_path, file_kind
from accord.local.threads import in_thread

if TYPE_CHECKING:
    from accord.apps.coder.settings.settings import Settings

__all__ = ["FileVersions", "ToolContext"]

_READ_AGAIN = "read it again, then decide"


class FileVersions:
    """The content of files when somebody last saw it, by where they really are."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    def note(self, path: Path, text: str) -> None:
        self._digests[os.path.realpath(path)] = _digest(text)

    def forget(self, path: Path) -> None:
        self._digests.pop(os.path.realpath(path), None)

    def is_known(self, path: Path) -> bool:
        return os.path.realpath(path) in self._digests

    def has_changed(self, path: Path, text: str) -> bool:
        """Whether it is not what was seen; False for what was not seen at all."""
        seen = self._digests.get(os.path.realpath(path))
        return seen is not None and seen != _digest(text)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class ToolContext:
    """`seen` is what the model has seen, kept with the session; `previewed` what the user was shown in this turn.

    `hidden` are files of our own: keys and always-choices are not the model's to read or write. `is_read_only` makes it
    the work of an architect, whatever the session's mode.
    """

    def __init__(
        self, turn: Turn, settings: Settings, *, hidden: Sequence[Path] = (), is_read_only: bool = False
    ) -> None:
        self.turn = turn
        self.session = turn.session
        self.settings = settings
        self.hidden = [Path(os.path.realpath(path)) for path in hidden]
        self.is_read_only = is_read_only
        self.seen: FileVersions = turn.session.state.setdefault("seen", FileVersions())
        self.previewed = FileVersions()
        self.asked: dict[str, str | None] = {}
        """What was allowed, by the id of the call: its scope, None for this call alone."""

    @property
    def mode(self) -> str:
        """The mode that holds now; it may change in the middle of a turn."""
        return "architect" if self.is_read_only else str(self.turn.options.get("mode") or "ask")

    def path(self, path: str) -> Path:
        """Where a path that the model named is, absolute; outside the session's directories it fails."""
        return Path(self._place(path).path)

    def path_to_change(self, path: str) -> Path:
        """The same, for changing it. What git keeps is not to be changed as files: git runs programs that it names."""
        place = self._place(path)
        if any(map(is_git_name, place.names)):
            raise ToolFailed(f"{path} belongs to git itself", "change it with git, by the run tool")
        return Path(place.path)

    def repository_made(self, path: Path) -> str | None:
        """Why a file that is put there, wherever links lead, may become one of git's own, with settings that name programs."""
        place = self._place(str(path))
        for depth, name in enumerate(place.names):
            directory = place.root.joinpath(*place.names[:depth])
            if is_bare_layout(directory, name):
                return (
                    f"With this, {printable(self.display_path(directory))} is laid out like a git repository: git may run programs that "
                    "files in it name."
                )
        return None

    def repository_moved(self, path: Path) -> str | None:
        """The same, for what is moved from there with all that is in it."""
        made = self.repository_made(path / "HEAD")
        if made is not None or path.is_symlink():
            return made
        try:
            found = nested_repository(path)
        except (OSError, UnusableRepository) as why:
            return f"It can't be seen whether this moves a git repository, in which files name programs: {printable(str(why))}."
        if found is None:
            return None
        return f"This moves {printable(self.display_path(found))}, a git repository: git may run programs that files in it name."

    def installation_changed(self, path: Path) -> str | None:
        """Why a change there may change accord itself, or what it runs; None if it can't."""
        real = self._place(str(path)).real
        for directory in installation():
            if real.is_relative_to(directory) or directory.is_relative_to(real):
                return (
                    f"This changes what accord is installed in, {printable(self.display_path(directory))}: what is put there may be "
                    "run without a question."
                )
        return None

    def _place(self, path: str) -> ResolvedPath:
        try:
            place = self.session.roots.resolve(str(self.turn.cwd / expand_path(path)), "access")
        except InvalidParams as refused:
            raise ToolFailed(f"not a path of a file, {refused.reason}: {_short(path)}") from None
        except Denied:
            roots = ", ".join(map(str, self.session.roots.directories))
            raise ToolFailed(f"{path} is outside the session's directories ({roots}): it can't be used") from None
        if any(place.real.is_relative_to(each) for each in self.hidden):
            raise ToolFailed(f"{path} holds accord's own settings or choices, which are the user's alone")
        return place

    def display_path(self, path: Path) -> str:
        """A path as the user knows it: from the session's directory where it is below it."""
        return str(path.relative_to(self.turn.cwd)) if path.is_relative_to(self.turn.cwd) else str(path)

    async def read(self, path: Path, line: int | None = None, limit: int | None = None) -> str:
        """A text file, or some lines of it, as the user has it; ToolFailed says why it can't be had."""
        name = self.display_path(path)
        if await in_thread(lambda: file_kind(path)) == "directory":
            raise ToolFailed(f"{name} is a directory", "use the list tool")
        try:
            text = await self.turn.files.read(path, line, limit)
        except FileNotFoundError:
            raise ToolFailed(f"there is no file {name}{await in_thread(lambda: self._neighbours(path))}") from None
        except OSError as error:
            raise ToolFailed(f"{name} can't be read: {error.strerror or error}") from None
        if "\0" in text:
            raise ToolFailed(f"{name} is not a text file: it holds binary data, which can't be shown or edited as text")
        return text

    async def write(self, path: Path, text: str) -> None:
        """Replace the whole file in one step; the old one stays whole when that fails."""
        try:
            await self.turn.files.write(path, text)
        except PermissionError as error:
            raise ToolFailed(
                f"{self.display_path(path)} can't be written: {error.strerror or error}; it is as it was before. It may be read-only",
                "ask the user before you change that",
            ) from None
        except OSError as error:
            raise ToolFailed(
                f"{self.display_path(path)} can't be written: {error.strerror or error}; it is as it was before"
            ) from None
        self.seen.note(path, text)

    def check_unchanged(self, path: Path, text: str) -> None:
        """Fail unless it is what the model read, and what the user was shown."""
        if self.seen.has_changed(path, text):
            self.seen.forget(path)
            raise ToolFailed(f"{self.display_path(path)} has changed since it was read", _READ_AGAIN)
        if self.previewed.has_changed(path, text):
            raise ToolFailed(f"{self.display_path(path)} has changed since permission was asked", _READ_AGAIN)

    def _neighbours(self, path: Path) -> str:
        try:
            names = sorted(each.name for each in path.parent.iterdir() if each.stem.lower() == path.stem.lower())
        except OSError:
            return f", nor a directory {self.display_path(path.parent)}"
        return f"; there is {', '.join(names)}" if names else ""


def _short(path: str) -> str:
    text = printable(path)
    return text if len(text) <= 200 else f"{text[:200]}…"
