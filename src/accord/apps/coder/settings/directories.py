"""The directories of the user's settings and state, by the rules of the operating system.

`ACCORD_HOME` puts both into one directory. Nothing is created here: whoever writes first creates the directory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from accord.apps.coder.errors import CoderFailed, InvalidSettings
from accord.local.paths import expand_path, file_kind

__all__ = ["config_directory", "display_path", "existing_directory", "home_directory", "state_directory"]


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
