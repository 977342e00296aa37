"""Command lines in a form that every client runs the same way, and the result of a command.

Clients display the words that they are asked to run; some join them with blanks and pass that to a shell. So words that a
shell leaves as they are, given as words or as a shell line, are sent as they are. Anything else is written to a script,
whose name tells the command, and the client is asked for a shell with that script: the same two words for every client.

The script removes itself first, and stops if it can't. So a script that still exists was never run: the client does not
see our disk, and the words may be sent after all.
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
from typing import Any

import msgspec

from accord.local.paths import file_kind

__all__ = ["CommandLine", "CommandResult", "Script", "is_inert", "plain_words", "split_command", "write_script"]

_MAX_NAME = 40
_SHELL_WORDS = {
    ".", ":", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete",
    "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif", "else", "enable", "esac", "eval", "exec",
    "exit", "export", "fc", "fg", "fi", "for", "function", "getopts", "hash", "help", "history", "if", "in", "jobs",
    "kill", "let", "local", "logout", "mapfile", "popd", "pushd", "pwd", "read", "readarray", "readonly", "return",
    "select", "set", "shift", "shopt", "source", "suspend", "then", "time", "times", "trap", "type", "typeset",
    "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
}  # fmt: skip
"""Builtins and keywords of shells."""


def is_inert(words: list[str]) -> bool:
    """Whether a shell splits the words, joined by blanks, into the same words."""
    return all(shlex.quote(word) == word and word[0] != "=" for word in words) and "=" not in words[0]


def plain_words(line: CommandLine) -> list[str] | None:
    """A shell line as a program and its arguments; None if it is more than that, or the program is not found."""
    if sys.platform == "win32" or not line.is_shell_line or "\n" in line.text:
        return None
    words = line.text.split()
    if not words or not is_inert(words) or words[0] in _SHELL_WORDS:
        return None
    if words[0] == "echo" and words[1:2] and words[1].startswith("-"):  # shells differ in this
        return None
    if not Path(line.cwd).is_dir():
        return words
    program = Path(line.cwd, words[0]) if "/" in words[0] else words[0]
    return words if shutil.which(program, path={**os.environ, **line.env}.get("PATH")) else None


def write_script(line: CommandLine) -> Script | None:
    """Write the command to a script; None where that is of no use: the directory is not on our disk, or there is no sh."""
    if sys.platform == "win32" or file_kind(Path(line.cwd)) != "directory":
        return None
    import tempfile  # noqa: PLC0415  # slow to load, and not needed at start-up

    name = re.sub(r"[^A-Za-z0-9.]+", "-", line.text)[:_MAX_NAME].strip("-.") or "command"
    directory = tempfile.mkdtemp(prefix="accord-")
    script = Script(directory, name)
    command = line.text if line.is_shell_line else f"exec {line.text}"
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
    """A script that runs a command once, in a directory of its own."""

    def __init__(self, directory: str, name: str) -> None:
        self.path = f"{directory}/{name}"
        self.words = ["/bin/sh", self.path]
        self._directory = directory

    @property
    def has_started(self) -> bool:
        """Whether it ran: it removes itself first."""
        return not os.path.lexists(self.path)

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path)  # noqa: PTH108
        with suppress(FileNotFoundError):
            os.rmdir(self._directory)  # noqa: PTH106


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended, and its output; past the limit, the end of the output."""

    output: str
    code: int | None = None
    signal: str | None = None
    is_truncated: bool = False
    is_timed_out: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself, with the exit code 0."""
        return self.code == 0 and not self.is_timed_out


class CommandLine(msgspec.Struct, frozen=True):
    """A command to run, and where; `env` is added to the environment."""

    words: list[str]
    cwd: str
    env: dict[str, str]
    deadline: float | None
    limit: int

    @property
    def is_shell_line(self) -> bool:
        """Whether the last word is a line for the default shell."""
        return self.words[:-1] == _SHELL

    @property
    def text(self) -> str:
        """The command as a user would type it."""
        return self.words[-1] if self.is_shell_line else shlex.join(self.words)


_SHELL = ["cmd.exe", "/d", "/s", "/c"] if sys.platform == "win32" else ["/bin/sh", "-c"]


def split_command(command: Sequence[str]) -> list[str]:
    """The program and its arguments; a single string with blanks in it is a line for the shell."""
    if not command:
        raise TypeError("run() needs a command")
    words: Any = command
    if not all(isinstance(word, str | os.PathLike) for word in words):
        raise TypeError("run() takes the words of a command one by one: turn.run('git', 'status'), or turn.run(*words)")
    if len(command) == 1 and any(letter.isspace() for letter in str(command[0])):
        return [*_SHELL, command[0]]
    return list(command)
