"""`accord [AGENT]`: talk to an agent on the screen; without a terminal, one prompt and its answer."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from accord.apps.console.environment import SurroundingsIn
from accord.apps.console.errors import ConsoleFailed, Exit
from accord.apps.console.known_agents import agent_meant
from accord.apps.console.run.one_prompt import Run, run
from accord.apps.console.run_command import (
    describe_session,
    describe_start,
    directory_of,
    session_asked,
    start_timeout_of,
)

__all__ = ["describe", "main"]

_CUT_SHORT = (Exit.UNREAD, Exit.INTERRUPTED, Exit.TERMINATED, Exit.HANGUP)


def describe(parser: ArgumentParser) -> None:
    parser.description = (
        "Talks to an agent on the screen: the built-in one, or AGENT, by its name or as a command after `--`. Without "
        "a terminal it reads one prompt from stdin and prints the conversation; for scripts there is `accord run`."
    )
    parser.add_argument("agent", metavar="AGENT", nargs="?", help="the agent, by its name; `accord agents` lists them")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to work in (default: this one)")
    describe_start(parser)
    describe_session(parser)
    parser.add_argument("--theme", metavar="NAME", help="how the screen looks (ACCORD_THEME, `theme` in config.toml)")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="line by line, with nothing drawn, for screen readers (ACCORD_PLAIN, `plain` in config.toml)",
    )


def main(given: Mapping[str, Any], surroundings_in: SurroundingsIn) -> int:
    cwd = directory_of(given)
    around = surroundings_in(cwd)
    agent = agent_meant(given.get("agent"), given.get("command"), around, may_be_command=True)
    asked = Run(
        agent=agent,
        around=around,
        cwd=cwd,
        prompt=None,
        otherwise="/explain" if agent.is_builtin else None,
        is_transcript=True,
        start_timeout=start_timeout_of(given, around),
        **session_asked(given),
    )
    if _has_terminal():
        return _screen(asked, given.get("theme") or around.theme, is_plain=given.get("plain") or around.plain)
    status = run(asked)
    if status in _CUT_SHORT:
        return status
    sys.stderr.write(
        "\nWithout a terminal, as here, `accord` takes one prompt. In a terminal it opens a screen to talk in; for scripts "
        "there is `accord run PROMPT`.\n"
    )
    return status


def _has_terminal() -> bool:
    streams = (sys.__stdin__, sys.__stdout__)
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


def _screen(asked: Run, theme: str | None, *, is_plain: bool) -> int:
    if find_spec("textual") is None:
        raise ConsoleFailed(
            "the screen needs Textual, which is not installed",
            "Install it with `pip install 'accord[console]'`, or use `accord run PROMPT`, which needs no screen",
        )
    from accord.apps.console.screen import startup  # noqa: PLC0415  # Textual, which may not be there

    return startup.main(asked, theme, is_plain=is_plain)
