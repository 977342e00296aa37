"""The environment of programs that nobody is asked about.

Law: of the user's variables they get those that say who the user is and how to show things, and no other: a variable can tell a
program, or what loads it, to run something (`LD_PRELOAD`, `PYTHONPATH`, `BASH_ENV`, `GIT_EXTERNAL_DIFF`) or to do more than it is asked
(`GREP_OPTIONS`, `POSIXLY_CORRECT`). Where programs and their libraries are searched, nothing is left that lies in the directories of
a session or depends on where a program starts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from accord.local.paths import Roots

__all__ = ["program_environment"]

_KEPT = frozenset(
    {
        *("HOME", "LOGNAME", "USER", "SUDO_UID", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "NO_COLOR"),
        *("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "LOCALE_ARCHIVE"),
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"),
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "SYSTEMDRIVE"),
        *("SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
    }
)
_KEPT_KINDS = ("LC_", "WSL")
_FILES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_SEARCHED = ("PATH", "GIT_EXEC_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")


def program_environment(roots: Roots, ours: Mapping[str, str]) -> dict[str, str]:
    """The whole environment for such a program, made of ours; `roots` is what a stranger, or a tool, may have written."""
    kept = {name: value for name, value in ours.items() if name in _KEPT or name.startswith(_KEPT_KINDS)}
    for name in _FILES:
        if not os.path.isabs(kept.get(name, os.sep)):  # noqa: PTH117  # as it is written
            del kept[name]
    for name in _SEARCHED:
        searched = roots.search_path(_entries(name, ours.get(name, os.defpath if name == "PATH" else "")))
        if searched or name == "PATH":
            kept[name] = searched
    return kept


def _entries(name: str, value: str) -> str:
    """Apart from PATH, a semicolon separates as well, and `$ORIGIN` and its kind stand for something else."""
    if name == "PATH" or os.name == "nt":
        return value
    return os.pathsep.join(each for each in re.split("[:;]", value) if "$" not in each)
