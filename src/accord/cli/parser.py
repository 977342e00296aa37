"""Parses the command line, and reports usage errors in one line that says what to do."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, Action, ArgumentParser, HelpFormatter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

from accord.cli.commands import Subcommand


class _Help(HelpFormatter):
    def _format_action_invocation(self, action: Action) -> str:
        """The value once, after all names of an option, as Python 3.13 began to do."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        hint = ""
        if message.startswith("unrecognized arguments: "):
            wrong = message.split()[2]
            message = f"unknown argument: {wrong}"
            known = [option for action in self._actions for option in action.option_strings]
            close = get_close_matches(wrong.partition("=")[0], known, n=2)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            if self.prog == "accord" and not wrong.startswith("-"):
                hint = ". A prompt is typed on the screen, or sent with `accord run PROMPT`"
        sys.stderr.write(f"{self.prog}: {message}{hint} (`{self.prog} --help` tells more)\n")
        sys.exit(2)


def new_parser(command: Subcommand) -> ArgumentParser:
    """What reads its arguments, and tells about them."""
    parser = _Parser(
        prog=f"accord {command.name}".strip(), argument_default=SUPPRESS, allow_abbrev=False, formatter_class=_Help
    )
    import_module(command.module).add_arguments(parser)
    positional = [f"[{action.metavar}]" for action in parser._actions if not action.option_strings]  # noqa: SLF001
    positional += ["[-- COMMAND]"] if command.for_talking else []
    parser.usage = " ".join([parser.prog, "[options]", *positional])
    return parser


def parse_arguments(command: Subcommand, words: Sequence[str]) -> dict[str, Any]:
    """The arguments that were given, and only those."""
    parser = new_parser(command)
    if not command.for_talking or "--" not in words:
        return _read(parser, words)
    end = list(words).index("--")
    return {**_read(parser, words[:end]), "command": list(words[end + 1 :])}


def _read(parser: ArgumentParser, words: Sequence[str]) -> dict[str, Any]:
    """Words may stand on both sides of an option, unless `--` says that options are over."""
    return vars(parser.parse_args(words) if "--" in words else parser.parse_intermixed_args(words))
