"""What runs when an agent asks for a command: a program with its arguments, or a line for the shell.

Law: an argument never meets a shell. With arguments, `command` is the program and each argument arrives as it was sent
(FN-72). Without, it is the program if there is one of that name, blanks included, and otherwise a line for the shell:
many agents send whole command lines that way. It is a line if it begins with a bare name and has blanks: else a repository
with a directory `cat x`, or with a program `make test` in a directory of PATH, would decide what such a line means.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from accord.errors import ConnectionClosed, InvalidParams
from accord.session.requests import CreateTerminal
from accord.transports.child import located

__all__ = ["environment", "shown", "to_run", "usual_shell"]


def usual_shell() -> list[str]:
    """Bash where there is one, because that is what models write for, else sh; on Windows cmd (not tested)."""
    if sys.platform == "win32":
        return [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c"]
    return [shutil.which("bash") or "/bin/sh", "-c"]


def to_run(asked: CreateTerminal, env: Mapping[str, str], cwd: str, shell: Sequence[str]) -> list[str]:
    """The program and its arguments."""
    if not asked.command.strip():
        raise InvalidParams("there is no command", field="command")
    if asked.args:
        return [asked.command, *asked.args]
    first, *more = asked.command.split()
    if more and PurePath(first).name == first:
        return [*shell, asked.command]
    try:
        located([asked.command], env, cwd)
    except (ConnectionClosed, OSError, ValueError):
        return [*shell, asked.command]
    return [asked.command]


def environment(asked: CreateTerminal, ours: Mapping[str, str]) -> dict[str, str]:
    """Ours, with what was asked for laid over it."""
    for name in asked.env:
        if not name or "=" in name:
            raise InvalidParams("a variable's name must not be empty or hold an equals sign", field="env")
    return {**ours, **asked.env}


def shown(asked: CreateTerminal) -> str:
    """The command as a user would type it."""
    return shlex.join([asked.command, *asked.args]) if asked.args else asked.command
