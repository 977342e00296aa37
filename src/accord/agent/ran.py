"""What is to be run, and how that ended."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

import msgspec

__all__ = ["Line", "Ran", "words_of"]


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended and what it wrote; of more than the limit, the end."""

    output: str
    code: int | None = None
    signal: str | None = None
    is_truncated: bool = False
    is_timed_out: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself, with 0."""
        return self.code == 0 and not self.is_timed_out


class Line(msgspec.Struct, frozen=True):
    """What is to be run, and where; `env` is laid over the environment there is."""

    words: list[str]
    cwd: str
    env: dict[str, str]
    deadline: float | None
    limit: int

    @property
    def is_for_shell(self) -> bool:
        """Whether the last word is a line for the usual shell."""
        return self.words[:-1] == _SHELL

    @property
    def shown(self) -> str:
        """As a user would type it."""
        return self.words[-1] if self.is_for_shell else shlex.join(self.words)


_SHELL = ["cmd.exe", "/d", "/s", "/c"] if sys.platform == "win32" else ["/bin/sh", "-c"]


def words_of(command: Sequence[str]) -> list[str]:
    """The program and its arguments; one string with blanks in it is a line for the shell."""
    if not command:
        raise TypeError("run() needs a command")
    if len(command) == 1 and any(letter.isspace() for letter in str(command[0])):
        return [*_SHELL, command[0]]
    return list(command)
