"""The files that `@` offers: those of the session's directory that Git would list, found by a few letters of their path."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["best_matches", "list_files", "match_score"]

MOST_FILES = 50_000
_PATIENCE = 5.0
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox", ".mypy_cache"})


async def list_files(cwd: str) -> list[str]:
    """Paths relative to the directory; what .gitignore names is left out where Git can be asked."""
    return await asyncio.to_thread(_list, cwd)


def _list(cwd: str) -> list[str]:
    listed = _of_git(cwd)
    return sorted((_walked(cwd) if listed is None else listed)[:MOST_FILES])


def _of_git(cwd: str) -> list[str] | None:
    command = ["git", "-C", cwd, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=True, stdin=subprocess.DEVNULL)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(path) for path in done.stdout.split(b"\0") if path]


def _walked(cwd: str) -> list[str]:
    found: list[str] = []
    for directory, directories, names in os.walk(cwd):
        directories[:] = sorted(name for name in directories if name not in _SKIPPED and not name.startswith("."))
        found += [os.path.relpath(Path(directory) / name, cwd) for name in sorted(names)]
        if len(found) >= MOST_FILES:
            break
    return found


def best_matches(wanted: str, paths: Sequence[str], most: int = 8) -> list[str]:
    """The paths that have these letters in this order, the likeliest first."""
    letters = wanted.casefold()
    if not letters:
        return sorted(paths, key=lambda path: (path.count("/"), path))[:most]
    scored = [(score, path) for path in paths if (score := match_score(letters, path)) is not None]
    scored.sort(key=lambda each: (-each[0], len(each[1]), each[1]))
    return [path for _, path in scored[:most]]


def match_score(letters: str, path: str) -> int | None:
    """More for letters together, at the beginning of a word and in the file's name; None if one is missing."""
    text = path.casefold()
    name = text.rfind("/") + 1
    whole = text.find(letters, name)
    if whole >= 0:
        return 1000 - (whole - name) + (200 if whole == name else 0)
    whole = text.find(letters)
    if whole >= 0:
        return 700 - whole
    score, place, last = 0, 0, -2
    for letter in letters:
        place = text.find(letter, place)
        if place < 0:
            return None
        score += 1
        if place == last + 1:
            score += 8
        if place == 0 or not text[place - 1].isalnum():
            score += 6
        if place >= name:
            score += 2
        last = place
        place += 1
    return score
