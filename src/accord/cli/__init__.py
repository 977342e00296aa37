"""The command line: `accord COMMAND`, or `accord [AGENT]`. A command pays only for what it needs itself.

Exit statuses: 0 done, 1 it failed, 2 the command line is wrong, 130 Ctrl-C, 141 nobody reads the output any more;
`accord help run exit` has more of them, for commands that talk to agents.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn, TextIO

from accord.cli.commands import COMMANDS, TALK

__all__ = ["main", "program"]

_OBEYED = re.compile(r"(\x1b\[(?:(?:[0124]|[39][0-7]);?)*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def program() -> NoReturn:
    """Run the command and end the process at once: no thread that somebody has left behind is waited for (FN-37).

    A usual end would wait for the threads of other libraries, and in uvloop for names that are being looked up.
    """
    gc.set_threshold(50_000)  # loading modules makes no garbage: 7 % of the time to start goes without it
    try:
        status = main()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0
    except BaseException:  # noqa: BLE001  # as Python tells it
        import traceback  # noqa: PLC0415  # only here

        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status; errors that are not our own fault are one line on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _prepare("stdout")
    _prepare("stderr")
    try:
        status = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer has to go somewhere at exit
        return 141
    except Exception as error:
        if not _is_for_the_user(error):
            raise
        sys.stderr.write(f"accord: {_told(error)}\n")
        return getattr(error, "status", 1)
    return status


def _prepare(name: str) -> None:
    """A stream that takes everything: what its encoding lacks is replaced, and nobody reads one that was closed."""
    stream = getattr(sys, name)
    if stream is None:
        stream = open(os.open(os.devnull, os.O_RDWR), "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # until the end
        setattr(sys, name, stream)
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    if stream.isatty():
        setattr(sys, name, _TerminalStream(stream))


class _TerminalStream:
    """A stream that leads to a terminal. Law: whatever a command writes there, the terminal obeys nothing of it but colours."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(_OBEYED.sub(lambda found: found[1] or f"\\x{ord(found[0]):02x}", text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _run(words: list[str]) -> int:
    first, rest = (words[0], words[1:]) if words else ("", [])
    if first in ("--version", "-V"):
        from accord import __version__  # noqa: PLC0415  # as all below: each word pays for itself

        sys.stdout.write(f"accord {__version__}\n")
        return 0
    if first in ("--help", "-h"):
        from accord.cli.commands import help_page  # noqa: PLC0415

        sys.stdout.write(help_page())
        return 0
    command = COMMANDS.get(first)
    if command is None:
        command, rest = TALK, words
    arguments = {}
    if rest:  # reading them takes longer than many a command
        from accord.cli.parser import parse_arguments  # noqa: PLC0415

        arguments = parse_arguments(command, rest)
    module = import_module(command.module)
    if not command.for_talking:
        return module.main(arguments)
    import logging  # noqa: PLC0415

    from accord.cli.environment import load_environment  # noqa: PLC0415

    logging.getLogger("accord").addHandler(logging.NullHandler())  # what a user has to know is told in other ways
    return module.main(arguments, load_environment)


def _told(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        try:
            os.getcwd()  # noqa: PTH109
        except FileNotFoundError:
            return (
                "the directory that this was started in is gone\n  Change into another one, or back into it: `cd DIR`"
            )
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return error.strerror or str(error)  # to import something more would fail as well
    from accord.apps.console.sanitizer import visible  # noqa: PLC0415  # only here

    return visible(str(error))


def _is_for_the_user(error: Exception) -> bool:
    from accord.errors import AccordError  # noqa: PLC0415  # only for an error

    return isinstance(error, AccordError | OSError)
