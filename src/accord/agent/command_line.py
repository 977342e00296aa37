"""The command line of a run as every client executes it, and the result of a run.

What no shell would take for anything else is sent as it is, and so is a line for the shell that is nothing but a program
and such words: clients show the user the words that they are asked to run. The rest is written into a file of ours, whose
name tells the command, and the command that is sent is a shell with that file: the same two words to those who join and
to those who don't.

The file's first act is to remove itself, and it ends if it can't. So a file that is still there was never run: the
client does not see our disk, and the words may be sent after all.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from accord.local.paths import file_kind

__all__ = ["CommandLine", "CommandResult", "Script", "is_inert", "plain_words", "words_of", "written"]

_LONGEST_NAME = 40
_SHELL_WORDS = {
    ".", ":", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete",
    "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif", "else", "enable", "esac", "eval", "exec",
    "exit", "export", "fc", "fg", "fi", "for", "function", "getopts", "hash", "help", "history", "if", "in", "jobs",
    "kill", "let", "local", "logout", "mapfile", "popd", "pushd", "pwd", "read", "readarray", "readonly", "return",
    "select", "set", "shift", "shopt", "source", "suspend", "then", "time", "times", "trap", "type", "typeset",
    "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
}  # fmt: skip
"""What a shell does by itself, or takes for the beginning of something."""


def is_inert(words: list[str]) -> bool:
    """Whether a shell that is given the words joined by blanks makes the same words of them."""
    return all(shlex.quote(word) == word and word[0] != "=" for word in words) and "=" not in words[0]


def plain_words(line: CommandLine) -> list[str] | None:
    """A line for the shell as a program and its arguments; None if it is more than that, or nobody knows the program."""
    if sys.platform == "win32" or not line.is_for_shell or "\n" in line.shown:
        return None
    words = line.shown.split()
    if not words or not is_inert(words) or words[0] in _SHELL_WORDS:
        return None
    if words[0] == "echo" and words[1:2] and words[1].startswith("-"):  # shells differ in what they make of that
        return None
    if not Path(line.cwd).is_dir():
        return words
    known = Path(line.cwd, words[0]) if "/" in words[0] else words[0]
    return words if shutil.which(known, path={**os.environ, **line.env}.get("PATH")) else None


def written(line: CommandLine) -> Script | None:
    """The command as a file; None where the client can't see one: its directory is not on our disk, or there is no sh."""
    if sys.platform == "win32" or file_kind(Path(line.cwd)) != "directory":
        return None
    import tempfile  # noqa: PLC0415  # loads much, which an agent that only starts need not wait for

    name = re.sub(r"[^A-Za-z0-9.]+", "-", line.shown)[:_LONGEST_NAME].strip("-.") or "command"
    directory = tempfile.mkdtemp(prefix="accord-")
    script = Script(directory, name)
    command = line.shown if line.is_for_shell else f"exec {line.shown}"
    remove = f"rm -- {script.path} && rmdir -- {directory} || exit 126"
    is_usable = False
    try:
        Path(script.path).write_text(f"{remove}\n{command}\n", encoding="utf-8", newline="")
        is_usable = is_inert(script.words)
    finally:
        if not is_usable:
            script.remove()
    return script if is_usable else None


class Script:
    """A file that runs a command once, in a directory of its own."""

    def __init__(self, directory: str, name: str) -> None:
        self.path = f"{directory}/{name}"
        self.words = ["/bin/sh", self.path]
        self._directory = directory

    @property
    def was_begun(self) -> bool:
        return not os.path.lexists(self.path)

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path)  # noqa: PTH108
        with suppress(FileNotFoundError):
            os.rmdir(self._directory)  # noqa: PTH106


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
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


class CommandLine(msgspec.Struct, frozen=True):
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
