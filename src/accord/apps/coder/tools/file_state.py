"""Reads and writes text files for the tools, and remembers which version the model read and the user was shown.

Law: a file that changed since the model read it, or since the user was asked, is not changed.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from accord.agent.turn import Turn
from accord.apps.coder.errors import FileMissing, ToolFailed
from accord.local.paths import file_kind
from accord.local.threads import in_thread

_READ_AGAIN = "read it again, then decide"


class FileVersions:
    """Digests of files by their real path."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    def add(self, path: Path, text: str) -> None:
        self._digests[os.path.realpath(path)] = _digest(text)

    def forget(self, path: Path) -> None:
        self._digests.pop(os.path.realpath(path), None)

    def __contains__(self, path: Path) -> bool:
        return os.path.realpath(path) in self._digests

    def has_changed(self, path: Path, text: str) -> bool:
        """Whether the text differs from the known version; False if there is none."""
        digest = self._digests.get(os.path.realpath(path))
        return digest is not None and digest != _digest(text)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def display_path(path: Path, cwd: Path) -> str:
    """The path relative to the session's directory if it is below it."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


class FileState:
    """The text files of a session. `seen` is what the model read, kept with the session; `previewed` is what the user was
    shown in this turn.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.seen: FileVersions = turn.session.state.setdefault("seen", FileVersions())
        self.previewed = FileVersions()

    async def read(self, path: Path, line: int | None = None, limit: int | None = None) -> str:
        """A text file, or some lines of it, as the user has it in the editor; ToolFailed says why it can't be read."""
        name = display_path(path, self._turn.cwd)
        if await in_thread(lambda: file_kind(path)) == "directory":
            raise ToolFailed(f"{name} is a directory", "use the list tool")
        try:
            text = await self._turn.files.read(path, line, limit)
        except FileNotFoundError:
            raise FileMissing(f"file not found: {name}{await in_thread(lambda: _similar_names(path, name))}") from None
        except OSError as error:
            raise ToolFailed(f"{name} can't be read: {error.strerror or error}") from None
        if "\0" in text:
            raise ToolFailed(f"{name} is not a text file: it contains binary data, which can't be shown or edited")
        return text

    async def write(self, path: Path, text: str) -> None:
        """Replace the whole file in one step; if that fails, the file is unchanged."""
        try:
            await self._turn.files.write(path, text)
        except OSError as error:
            name = display_path(path, self._turn.cwd)
            reason = f"{name} can't be written: {error.strerror or error}; the file is unchanged"
            if isinstance(error, PermissionError):
                raise ToolFailed(
                    f"{reason}. It may be read-only", "ask the user before you change its permissions"
                ) from None
            raise ToolFailed(reason) from None
        self.seen.add(path, text)

    def check_unchanged(self, path: Path, text: str) -> None:
        """Fail unless the text is what the model read, and what the user was shown."""
        name = display_path(path, self._turn.cwd)
        if self.seen.has_changed(path, text):
            self.seen.forget(path)
            raise ToolFailed(f"{name} has changed since it was read", _READ_AGAIN)
        if self.previewed.has_changed(path, text):
            raise ToolFailed(f"{name} has changed since permission was asked", _READ_AGAIN)


def _similar_names(path: Path, name: str) -> str:
    try:
        names = sorted(each.name for each in path.parent.iterdir() if each.stem.lower() == path.stem.lower())
    except OSError:
        return f"; the directory {Path(name).parent} does not exist either"
    return f"; there is {', '.join(names)}" if names else ""
