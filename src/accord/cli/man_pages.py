"""Man pages of all commands, made from the parsers that read their arguments."""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser
from pathlib import Path

from accord import __version__
from accord.cli.commands import COMMANDS, TALK, Subcommand, help_page
from accord.cli.parser import new_parser
from accord.local.paths import expand_path

_ABOUT = "agents and clients of the Agent Client Protocol"
_STATUSES = {
    "0": "Done.",
    "1": "It failed; one line on stderr says why, and what to do.",
    "2": "The command line is wrong.",
    "130": "Ctrl-C.",
    "141": "Nobody reads the output any more.",
}


def write_man_pages(directory: str) -> list[Path]:
    """Write a page for each command into the directory's `man1`, where `man -M` looks; their paths."""
    target = expand_path(directory) / "man1"
    target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for command in (TALK, *COMMANDS.values()):
        written.append(target / f"{_page_name(command)}.1")
        written[-1].write_text(man_page(command), encoding="utf-8")
    return written


def man_page(command: Subcommand) -> str:
    """The page of one command, in the macros of man(7)."""
    parser = new_parser(command)
    name = _page_name(command)
    summary = command.summary if command.name else _ABOUT
    lines = [
        f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "accord {__version__}" "Manual of accord"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(summary)}",
        ".SH SYNOPSIS",
        f".B {_text(parser.prog)}",
        _text((parser.usage or "").removeprefix(parser.prog).strip()),
        ".SH DESCRIPTION",
        _text(parser.description or ""),
    ]
    if not command.name:
        lines += [".SH COMMANDS", *_commands()]
    arguments = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001  # argparse has no other way
    options = [action for action in parser._actions if action.option_strings]  # noqa: SLF001
    for heading, actions in (("ARGUMENTS", arguments), ("OPTIONS", options)):
        if actions:
            lines += [f".SH {heading}", *(line for action in actions for line in _argument(parser, action))]
    lines += [
        ".SH EXIT STATUS",
        *(line for number, about in _STATUSES.items() for line in _tagged(f"\\fB{number}\\fR", about)),
    ]
    if command.for_talking:
        lines += [".PP", _text("Commands that talk to agents have more of them: see `accord help run exit`.")]
    lines += [".SH SEE ALSO", *_see_also(command), ".PP", _text("`accord help` lists the pages of the documentation.")]
    return "\n".join([*lines, ""])


def _commands() -> list[str]:
    """As `accord --help` groups them."""
    lines: list[str] = []
    for group in dict.fromkeys(command.group for command in COMMANDS.values()):
        lines.append(f".SS {_text(group)}")
        for command in COMMANDS.values():
            if command.group == group:
                lines += _tagged(f"\\fB{_text(command.name)}\\fR", command.summary)
    notes = help_page().rstrip("\n").split("\n\n")[-2]
    return [*lines, ".PP", _text(notes)]


def _argument(parser: ArgumentParser, action: Action) -> list[str]:
    formatter = parser._get_formatter()  # noqa: SLF001  # the one that writes --help
    value = "" if action.nargs == 0 else formatter._format_args(action, str(action.metavar or action.dest))  # noqa: SLF001
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in action.option_strings)
    shown = f"\\fI{_text(value if names else str(action.metavar))}\\fR" if value or not names else ""
    return _tagged(" ".join(part for part in (names, shown) if part), action.help or "")


def _see_also(command: Subcommand) -> list[str]:
    names = [_page_name(each) for each in (TALK, *COMMANDS.values()) if each.name != command.name]
    return [f".BR {_text(name)} (1){',' if name != names[-1] else ''}" for name in names]


def _tagged(tag: str, about: str) -> list[str]:
    return [".TP", tag, _text(about)]


def _page_name(command: Subcommand) -> str:
    return f"accord-{command.name}" if command.name else "accord"


def _text(text: str) -> str:
    """Words that troff takes for nothing but words."""
    escaped = (
        " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("^", "\\(ha")
    )
    escaped = escaped.replace("~", "\\(ti").replace('"', "\\(dq")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)
