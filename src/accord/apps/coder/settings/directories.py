"""Where the user's settings and state are kept, by the rules of the system that we run on.

`ACCORD_HOME` puts both into one directory. Asking makes nothing: whoever writes first makes the directory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from accord.apps.coder.errors import CoderFailed, InvalidSettings
from accord.local.paths import expand_path, file_kind

__all__ = ["config_directory", "existing", "home_directory", "shown_path", "state_directory"]


def config_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where `config.toml` is."""
    own = _own(environment)
    return own or _of_user(environment, "XDG_CONFIG_HOME", ".config") / "accord"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where sessions, trust and always-choices are."""
    own = _own(environment)
    return own / "state" if own else _of_user(environment, "XDG_STATE_HOME", ".local/state") / "accord"


def home_directory() -> Path:
    """The user's own directory."""
    try:
        return Path.home()
    except RuntimeError:
        raise InvalidSettings("HOME", "there is no home directory; set HOME, or ACCORD_HOME for accord alone") from None


def shown_path(path: Path) -> str:
    """A path as a user writes it, with `~` for the home directory."""
    try:
        home = Path.home()
    except RuntimeError:
        return str(path)
    if path == home or home == Path(home.anchor) or not path.is_relative_to(home):
        return str(path)
    return f"~{os.sep}{path.relative_to(home)}"


def existing(directory: str) -> Path:
    """A directory that the user named; raises CoderFailed when it is none."""
    path = Path(directory).absolute()
    if file_kind(path) != "directory":
        raise CoderFailed(f"{shown_path(path)} is no directory")
    return path


def _own(environment: Mapping[str, str]) -> Path | None:
    given = environment.get("ACCORD_HOME")
    return expand_path(given).absolute() if given else None


def _of_user(environment: Mapping[str, str], variable: str, usual: str) -> Path:
    if sys.platform == "win32":  # not tested there
        local = environment.get("LOCALAPPDATA")
        return Path(local) if local else home_directory() / "AppData" / "Local"
    given = environment.get(variable, "")
    if given.startswith("/"):  # the XDG rules: a relative one is to be ignored
        return Path(given)
    if sys.platform == "darwin":
        return home_directory() / "Library" / "Application Support"
    return home_directory() / usual
