"""The scope of an always-answer about a command, in words that the user chooses by.

Law: it covers the command line exactly as written, in the directory where it runs. Only for the programs in the tables
below are other arguments covered, too: options that neither write nor run anything, and files inside the session's
directories. A line with invisible characters, or with characters that look like blanks, is never covered.

Answers are saved by the text of their scope: a changed wording makes the user be asked again.

A program is in the table of readers only if all of this holds for everything that the table lets through: its options
read no further file, follow no link below a directory, start no program and wait for nothing; it has no settings file of
its own; and the variables that change what it does are removed. `diff` is not: it follows links in the directories that it
compares. Git is, with what `accord.local.git` removes. They run without a shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from accord.local.git import DIFF_OPTIONS, GIT
from accord.local.text import character_visibility

_GIT_HISTORY = r"-\d+|-n|-n\d+|-p|--(?:all|decorate|graph|name-only|name-status|oneline|patch|reverse|stat)"
_READERS = {
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
_TEST_RUNNERS = {
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
_PLAIN_LINE = re.compile(r"[A-Za-z0-9 \t_./,:+@=-]+", re.ASCII)


IsInside: TypeAlias = Callable[[Literal["git", "read", "test"], str], bool]
"""Whether a word, taken as a path, is where git, another reader or a test runner may go."""


class AlwaysScope(NamedTuple):
    """`scope` says what an always-answer about a command covers; None if none is possible.

    `words` is the command line of a reader, to be run without a shell.
    """

    scope: str | None
    words: list[str] | None = None


def always_scope(command: str, directory: str | None, is_inside: IsInside) -> AlwaysScope:
    """The scope of this command in this directory."""
    if not all(is_visible or letter in "\t\n" for letter, is_visible in character_visibility(command)):
        return AlwaysScope(None)
    where = "" if directory is None else directory.replace("\\", "\\\\").replace("`", "\\x60")
    # Split as a shell does.
    words = [word for word in re.split(r"[ \t]", command) if word] if _PLAIN_LINE.fullmatch(command) else []
    reader = _program(words, _READERS, partial(is_inside, "git" if words[:1] == ["git"] else "read"))
    if reader:
        return AlwaysScope(
            f"run `{reader}`, whatever it looks at" + (f", in {where}" if where else ""), _safe_words(words)
        )
    runner = _program(words, _TEST_RUNNERS, partial(is_inside, "test"))
    if runner:
        return AlwaysScope(f"run `{runner}`, whatever it tests" + (f", in {where}" if where else ""))
    return AlwaysScope(f"run `{command}`" + (f" in {where}" if where else ""))


def _program(words: Sequence[str], table: dict[str, str], is_inside: Callable[[str], bool]) -> str | None:
    """The program of the table that these words run, with arguments that the table lets through."""
    for program, options in table.items():
        length = program.count(" ") + 1
        if words[:length] == program.split(" ") and is_inside("."):
            return program if all(_is_harmless(word, options, is_inside) for word in words[length:]) else None
    return None


def _is_harmless(word: str, options: str, is_inside: Callable[[str], bool]) -> bool:
    if word.startswith("-"):
        return re.fullmatch(options, word, re.ASCII) is not None
    is_other = word.startswith("+") and not word[1:].isdigit()  # `tail +1f` waits forever
    return not is_other and not word.startswith("@") and "=" not in word and is_inside(word)  # @FILE: more arguments


def _safe_words(words: list[str]) -> list[str]:
    if words[0] != "git":
        return words
    return [*GIT, words[1], *_GIT_OPTIONS[words[1]], *words[2:]]
