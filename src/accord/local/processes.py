"""Processes that we start: how one exited, and the environment of those that run without permission.

Law: a program that runs without permission gets only the variables that say who the user is and how to display things.
Others can make a program, or what loads it, run something (`LD_PRELOAD`, `PYTHONPATH`, `BASH_ENV`, `GIT_EXTERNAL_DIFF`) or
do more than it is told to (`GREP_OPTIONS`, `POSIXLY_CORRECT`). Search paths for programs and libraries lose what lies in
the directories of a session and what depends on the working directory.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping

from accord.local.paths import Roots
from accord.session.entities import Exit

_VARIABLES = frozenset(
    {
        *("HOME", "LOGNAME", "USER", "SUDO_UID", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "NO_COLOR"),
        *("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "LOCALE_ARCHIVE"),
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"),
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "SYSTEMDRIVE"),
        *("SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
    }
)
_PREFIXES = ("LC_", "WSL")
_FILES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_SEARCH_PATHS = ("PATH", "GIT_EXEC_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")


def program_environment(roots: Roots, ours: Mapping[str, str]) -> dict[str, str]:
    """The whole environment for such a program, made of ours; files below `roots` may be anybody's."""
    environment = {name: value for name, value in ours.items() if name in _VARIABLES or name.startswith(_PREFIXES)}
    for name in _FILES:
        if not os.path.isabs(environment.get(name, os.sep)):  # noqa: PTH117  # as it is spelled
            del environment[name]
    for name in _SEARCH_PATHS:
        path = roots.search_path(_entries(name, ours.get(name, os.defpath if name == "PATH" else "")))
        if path or name == "PATH":
            environment[name] = path
    return environment


def _entries(name: str, value: str) -> str:
    """In all but PATH a semicolon separates as well, and `$ORIGIN` and the like are replaced by the loader."""
    if name == "PATH" or os.name == "nt":
        return value
    return os.pathsep.join(each for each in re.split("[:;]", value) if "$" not in each)


def exit_status(returncode: int | None) -> Exit:
    """A negative return code is a signal, which is told by its name, without a code. AMB-65"""
    if returncode is None or returncode >= 0:
        return Exit(code=returncode)
    try:
        return Exit(signal=signal.Signals(-returncode).name)
    except ValueError:
        return Exit(signal=str(-returncode))
