"""Absolute and relative paths, of any system: an agent may run on another one than its client."""

from __future__ import annotations

import re

# POSIX, a drive letter, or UNC: the other side's system need not be ours (AMB-46). Compiled when first used.
_ABSOLUTE = r"/|[A-Za-z]:[\\/]|\\\\"


def is_absolute(path: str) -> bool:
    """Whether a path is absolute on some system."""
    return re.match(_ABSOLUTE, path) is not None


def is_relative(command: str) -> bool:
    """Whether a command is a relative path. A bare name is not a path: it is looked up when it is started (AMB-46)."""
    return not is_absolute(command) and ("/" in command or "\\" in command)
