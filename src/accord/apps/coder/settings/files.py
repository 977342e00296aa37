"""A settings file: found, read once, and able to say on which line a key stands."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.directories import home_directory, shown_path
from accord.local.files import read_file
from accord.local.paths import file_kind

__all__ = ["PROJECT_FILE", "SettingsFile", "project_file"]

PROJECT_FILE = ".accord.toml"

_MOST = 1024 * 1024


def project_file(cwd: Path) -> Path | None:
    """The nearest `.accord.toml`, from a directory upward to the root of its repository.

    The home directory and what is above it belong to no project, unless one starts there.
    """
    start = cwd.resolve()
    home = home_directory().resolve()
    for directory in (start, *start.parents):
        if directory != start and home.is_relative_to(directory):
            return None
        file = directory / PROJECT_FILE
        if file_kind(file) is not None:  # whoever reads it says what else than a file it is
            return file
        if file_kind(directory / ".git") is not None:
            return None
    return None


class SettingsFile:
    """Its content as it was when it was read: what is trusted is exactly what is used."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.content = content
        self.label = shown_path(path)

    @classmethod
    def read_if_there(cls, path: Path) -> SettingsFile | None:
        """None when there is no such file."""
        return cls.read(path) if os.path.lexists(path) else None

    @classmethod
    def read(cls, path: Path) -> SettingsFile:
        """Raises InvalidSettings when it can't be read."""
        try:
            return cls(path, read_file(path, _MOST))
        except OSError as error:
            raise InvalidSettings(shown_path(path), f"can't be read: {error.strerror or error}") from None

    def table(self) -> dict[str, Any]:
        """What it says, unchecked."""
        import tomllib  # noqa: PLC0415  # takes a moment, and many users have no file

        try:
            return tomllib.loads(self._text())
        except tomllib.TOMLDecodeError as error:
            found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
            reason, line, column = found.groups() if found else (str(error), None, None)
            place = f"{self.label}:{line}:{column}" if line else self.label
            raise InvalidSettings(place, f"is not TOML: {reason[:1].lower()}{reason[1:]}") from None

    def where(self, path: tuple[str, ...]) -> str:
        """The place of a key, for a message."""
        line = self.line_of(path)
        return f"{self.label}{f':{line}' if line else ''}: {'.'.join(path)}"

    def line_of(self, path: tuple[str, ...]) -> int | None:
        """The line on which a key begins: the one with which the beginning of the file first holds it."""
        lines = self._text().splitlines(keepends=True)
        low, high = 0, len(lines)
        if not self._beginning_holds(lines, high, path)[0]:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._beginning_holds(lines, middle, path)[0]:
                high = middle
            else:
                low = middle
        return self._beginning_holds(lines, high - 1, path)[1] + 1

    def _beginning_holds(self, lines: list[str], count: int, path: tuple[str, ...]) -> tuple[bool, int]:
        """Whether so many lines hold the key, and how many were read: less where they end inside a value."""
        import tomllib  # noqa: PLC0415  # as above

        for length in range(count, -1, -1):
            try:
                table: Any = tomllib.loads("".join(lines[:length]))
            except tomllib.TOMLDecodeError:
                continue
            for key in path:
                if not isinstance(table, dict) or key not in table:
                    return False, length
                table = table[key]  # pyright: ignore[reportUnknownVariableType]
            return True, length
        return False, 0

    def _text(self) -> str:
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise InvalidSettings(f"{self.label}:{line}", "is not written in UTF-8") from None
