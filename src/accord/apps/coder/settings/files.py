"""The directories and files of the user's settings and state. A file is read once, and knows the line of each key.

The directories follow the rules of the operating system; `ACCORD_HOME` puts both into one directory. Nothing is created
here: whoever writes first creates the directory.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accord.apps.coder.errors import CoderFailed, InvalidSettings
from accord.local.files import read_file
from accord.local.paths import expand_path, file_kind


def config_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of `config.toml`."""
    return _accord_home(environment) or _user_directory(environment, "XDG_CONFIG_HOME", ".config") / "accord"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of sessions, trust and always-answers."""
    home = _accord_home(environment)
    return home / "state" if home else _user_directory(environment, "XDG_STATE_HOME", ".local/state") / "accord"


def home_directory() -> Path:
    """The user's own directory."""
    try:
        return Path.home()
    except RuntimeError:
        raise InvalidSettings("HOME", "there is no home directory; set HOME, or ACCORD_HOME for accord alone") from None


def display_path(path: Path) -> str:
    """The path with `~` for the home directory."""
    try:
        home = Path.home()
    except RuntimeError:
        return str(path)
    if path == home or home == Path(home.anchor) or not path.is_relative_to(home):
        return str(path)
    return f"~{os.sep}{path.relative_to(home)}"


def existing_directory(directory: str) -> Path:
    """A directory that the user named; raises CoderFailed if it is not one."""
    path = Path(directory).absolute()
    if file_kind(path) != "directory":
        raise CoderFailed(f"not a directory: {display_path(path)}")
    return path


def _accord_home(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("ACCORD_HOME")
    return expand_path(home).absolute() if home else None


def _user_directory(environment: Mapping[str, str], variable: str, default: str) -> Path:
    if sys.platform == "win32":  # not tested there
        local = environment.get("LOCALAPPDATA")
        return Path(local) if local else home_directory() / "AppData" / "Local"
    directory = environment.get(variable, "")
    if directory.startswith("/"):  # the XDG rules: a relative path is ignored
        return Path(directory)
    if sys.platform == "darwin":
        return home_directory() / "Library" / "Application Support"
    return home_directory() / default


PROJECT_FILE = ".accord.toml"

_MAX_BYTES = 1024 * 1024


def project_file(cwd: Path) -> Path | None:
    """The nearest `.accord.toml`, from a directory upward to the root of its repository.

    The home directory and its parents belong to no project, unless it starts there.
    """
    start = cwd.resolve()
    home = home_directory().resolve()
    for directory in (start, *start.parents):
        if directory != start and home.is_relative_to(directory):
            return None
        file = directory / PROJECT_FILE
        if file_kind(file) is not None:  # reading it fails if it is not a file
            return file
        if file_kind(directory / ".git") is not None:
            return None
    return None


class SettingsFile:
    """The content as it was read: what is trusted is exactly what is used."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.content = content
        self.label = display_path(path)

    @classmethod
    def read_if_exists(cls, path: Path) -> SettingsFile | None:
        """None if there is no such file."""
        return cls.read(path) if os.path.lexists(path) else None

    @classmethod
    def read(cls, path: Path) -> SettingsFile:
        """Raises InvalidSettings if it can't be read."""
        try:
            return cls(path, read_file(path, _MAX_BYTES))
        except OSError as error:
            raise InvalidSettings(display_path(path), f"can't be read: {error.strerror or error}") from None

    def table(self) -> dict[str, Any]:
        """The parsed content, unchecked."""
        import tomllib  # noqa: PLC0415  # takes a moment, and many users have no settings file

        try:
            return tomllib.loads(self._text())
        except tomllib.TOMLDecodeError as error:
            match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
            reason, line, column = match.groups() if match else (str(error), None, None)
            where = f"{self.label}:{line}:{column}" if line else self.label
            raise InvalidSettings(where, f"invalid TOML: {reason[:1].lower()}{reason[1:]}") from None

    def where(self, path: tuple[str, ...]) -> str:
        """The file, line and name of a key, for a message."""
        line = self.line_of(path)
        return f"{self.label}{f':{line}' if line else ''}: {'.'.join(path)}"

    def line_of(self, path: tuple[str, ...]) -> int | None:
        """The line on which a key begins: the shortest beginning of the file that contains the key ends there."""
        lines = self._text().splitlines(keepends=True)
        low, high = 0, len(lines)
        if not self._has_key(lines, high, path)[0]:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._has_key(lines, middle, path)[0]:
                high = middle
            else:
                low = middle
        return self._has_key(lines, high - 1, path)[1] + 1

    def _has_key(self, lines: list[str], count: int, path: tuple[str, ...]) -> tuple[bool, int]:
        """Whether the first `count` lines contain the key, and how many could be parsed: fewer if they end inside a value."""
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
            raise InvalidSettings(f"{self.label}:{line}", "not valid UTF-8") from None
