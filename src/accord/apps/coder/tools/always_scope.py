"""What an always-choice about a command covers, in words that the user chooses by.

Law: it is the line as it is written, letter by letter, in the directory where it was to run. Only for programs in the
tables here other arguments are covered, too: options that neither write nor run anything, and files inside the session's
directories. A line with letters that can't be seen, or that could be taken for blanks, is never covered.

A program is in the table of those that look only if this can be shown for all that the table lets through: its options
read no further file, follow no link that is found below a directory, start no program and wait for nothing; it has no
file of settings of its own; and the variables that change what it does are taken away. `diff` is not: it follows the links
in the directories that it compares. Git is, by what `accord.local.git` takes away from it. They run without a shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from accord.local.git import DIFF_OPTIONS, GIT
from accord.local.text import character_visibility

__all__ = ["AlwaysScope", "IsInside", "covered"]

_GIT_HISTORY = r"-\d+|-n|-n\d+|-p|--(?:all|decorate|graph|name-only|name-status|oneline|patch|reverse|stat)"
_LOOKING = {
    "cat": r"-[AbeEnstTuv]+",
    "git blame": r"-[CMsw]+",
    "git diff": r"-w|--(?:cached|name-only|name-status|staged|stat|word-diff)",
    "git log": _GIT_HISTORY,
    "git show": _GIT_HISTORY,
    "git status": r"-[bsu]+|--(?:branch|porcelain|short)",
    "grep": r"-[EFHIPchilnoqrsvwx]+|-[ABCm]\d*",  # -r follows no links, -R would
    "head": r"-\d+|-[cnqv]\d*",
    "ls": r"-[1ABCFGQRSUXabcdfghiklmnopqrstuvx]+",  # -L and -H follow links
    "tail": r"-\d+|-[cnqv]\d*",
    "wc": r"-[Lclmw]+",
}
_GIT_OPTIONS = {
    "blame": ("--no-textconv",),
    "diff": DIFF_OPTIONS,
    "log": DIFF_OPTIONS,
    "show": DIFF_OPTIONS,
    "status": ("--ignore-submodules=dirty",),
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
_PLAIN = re.compile(r"[A-Za-z0-9 \t_./,:+@=-]+", re.ASCII)


IsInside: TypeAlias = Callable[[Literal["git", "look", "test"], str], bool]
"""Whether a word, taken as a path, stays where a test, a program that looks, or git may go."""


class AlwaysScope(NamedTuple):
    """`scope` says what a choice about a command covers, None that there can be none.

    `words` are those of a program that only looks, to be run as they are, without a shell.
    """

    scope: str | None
    words: list[str] | None = None


def covered(command: str, directory: str | None, is_inside: IsInside) -> AlwaysScope:
    """What a choice about this command covers, in this directory."""
    if not all(is_seen or letter in "\t\n" for letter, is_seen in character_visibility(command)):
        return AlwaysScope(None)
    where = "" if directory is None else directory.replace("\\", "\\\\").replace("`", "\\x60")
    words = (
        [word for word in re.split(r"[ \t]", command) if word] if _PLAIN.fullmatch(command) else []
    )  # as a shell does
    looking = _found(words, _LOOKING, partial(is_inside, "git" if words[:1] == ["git"] else "look"))
    if looking:
        return AlwaysScope(
            f"run `{looking}`, whatever it looks at" + (f", in {where}" if where else ""), _to_look(words)
        )
    testing = _found(words, _TESTING, partial(is_inside, "test"))
    if testing:
        return AlwaysScope(f"run `{testing}`, whatever it tests" + (f", in {where}" if where else ""))
    return AlwaysScope(f"run `{command}`" + (f" in {where}" if where else ""))


def _found(words: Sequence[str], table: dict[str, str], is_inside: Callable[[str], bool]) -> str | None:
    """The program of the table that these words run, with arguments that the table lets through."""
    for program, options in table.items():
        length = program.count(" ") + 1
        if words[:length] == program.split(" ") and is_inside("."):
            return program if all(_is_harmless(word, options, is_inside) for word in words[length:]) else None
    return None


def _is_harmless(word: str, options: str, is_inside: Callable[[str], bool]) -> bool:
    if word.startswith("-"):
        return re.fullmatch(options, word, re.ASCII) is not None
    is_other = word.startswith("+") and not word[1:].isdigit()  # `tail +1f` waits for ever
    return not is_other and not word.startswith("@") and "=" not in word and is_inside(word)  # @FILE: more arguments


def _to_look(words: list[str]) -> list[str]:
    if words[0] != "git":
        return words
    return [*GIT, words[1], *_GIT_OPTIONS[words[1]], *words[2:]]
