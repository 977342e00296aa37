"""What an always-choice about a command covers, in words that the user chooses by.

Law: it is the line as it is written, in the directory where it was to run. Only for programs in the tables here other
arguments are covered, too: options that neither write nor run anything, and files inside the session's directories.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["covered"]

_GIT_HISTORY = r"-\d+|-n|-n\d+|-p|--(?:all|decorate|graph|name-only|name-status|oneline|patch|reverse|stat)"
_LOOKING = {
    "cat": r"-[AbeEnstTuv]+",
    "diff": r"-[Nbqruwy]+",
    "git blame": r"-[CMsw]+",
    "git diff": r"-w|--(?:cached|name-only|name-status|staged|stat|word-diff)",
    "git log": _GIT_HISTORY,
    "git show": _GIT_HISTORY,
    "git status": r"-[bsu]+|--(?:branch|porcelain|short)",
    "grep": r"-[EFHIPchilnoqrsvwx]+|-[ABCm]\d*",
    "head": r"-\d+|-[cnqv]\d*",
    "ls": r"-[A-Za-z1]+",
    "tail": r"-\d+|-[cnqv]\d*",
    "wc": r"-[Lclmw]+",
}
_PYTEST = r"-[lqsvx]+|-[kmn]|-r\w+|--(?:ff|lf|no-header|tb=\w+|maxfail=\d+|durations=\d+)"
_UNITTEST = r"-[bfqv]+|-[kpst]"
_TESTING = {
    "cargo test": r"-q|-p|--(?:bins|lib|no-fail-fast|quiet|release|workspace)",
    "go test": r"-v|-run|-race|-short|-count=\d+",
    "pytest": _PYTEST,
    "python -m pytest": _PYTEST,
    "python -m unittest": _UNITTEST,
    "python3 -m pytest": _PYTEST,
    "python3 -m unittest": _UNITTEST,
    ".venv/bin/python -m pytest": _PYTEST,
    ".venv/bin/python -m unittest": _UNITTEST,
}
_SPECIAL = frozenset("|&;<>()$`\\\n\r*?[]{}~!#\"'=%^")


def covered(command: str, directory: str | None, is_inside: Callable[[str], bool]) -> str:
    """The scope of a choice. `is_inside` tells whether an argument, taken as a path, stays in the directories."""
    line = command.strip()
    words = line.split()
    for table, about in ((_LOOKING, "whatever it looks at"), (_TESTING, "whatever it tests")):
        for program, options in table.items():
            length = program.count(" ") + 1
            if words[:length] == program.split() and _is_plain(line, words[length:], options, is_inside):
                return f"run `{program}`, {about}" + ("" if directory is None else f", in {directory}")
    return f"run `{line}`" + ("" if directory is None else f" in {directory}")


def _is_plain(line: str, arguments: list[str], options: str, is_inside: Callable[[str], bool]) -> bool:
    if any(letter in line for letter in _SPECIAL - {"="}):
        return False
    return all(
        re.fullmatch(options, word) is not None if word.startswith("-") else "=" not in word and is_inside(word)
        for word in arguments
    )
