"""The command line: `accord COMMAND`, or `accord [AGENT]`. A command pays only for what it needs itself.

Exit statuses: 0 done, 1 it failed, 2 the command line is wrong, 130 Ctrl-C, 141 nobody reads the output any more;
docs/run.md has more of them, for commands that talk to agents.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from accord.cli.commands import COMMANDS, TALK

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status; errors that are not our own fault are one line on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer has to go somewhere at exit
        return 141
    except Exception as error:
        if not _is_for_the_user(error):
            raise
        sys.stderr.write(f"accord: {error}\n")
        return getattr(error, "status", 1)
    return status


def _run(words: list[str]) -> int:
    first, rest = (words[0], words[1:]) if words else ("", [])
    if first == "help" and rest:
        first, rest = rest[0], ["--help"]
    if first in ("--version", "-V"):
        from accord import __version__  # noqa: PLC0415  # as all below: each word pays for itself

        sys.stdout.write(f"accord {__version__}\n")
        return 0
    if first in ("--help", "-h", "help"):
        from accord.cli.overview import overview  # noqa: PLC0415

        sys.stdout.write(overview())
        return 0
    command = COMMANDS.get(first)
    if command is None:
        command, rest = TALK, words
    arguments = {}
    if rest:  # reading them takes longer than many a command
        from accord.cli.parsing import given  # noqa: PLC0415

        arguments = given(command, rest)
    module = import_module(command.module)
    if not command.for_talking:
        return module.main(arguments)
    import logging  # noqa: PLC0415

    from accord.cli.surroundings import surroundings_in  # noqa: PLC0415

    logging.getLogger("accord").addHandler(logging.NullHandler())  # what a user has to know is told in other ways
    return module.main(arguments, surroundings_in)


def _is_for_the_user(error: Exception) -> bool:
    from accord.errors import AccordError  # noqa: PLC0415

    return isinstance(error, AccordError | OSError)
