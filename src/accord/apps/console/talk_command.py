"""`accord [AGENT]`: talk to an agent on the screen; without a terminal, one prompt and its answer."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from accord.apps.console.environment import LoadEnvironment
from accord.apps.console.errors import ConsoleFailed, ExitStatus
from accord.apps.console.known_agents import find_agent
from accord.apps.console.run.one_prompt import RunOptions, run
from accord.apps.console.run_command import (
    add_session_arguments,
    add_start_timeout,
    session_options,
    start_timeout,
    working_directory,
)

__all__ = ["add_arguments", "main"]

_CUT_SHORT = (ExitStatus.UNREAD, ExitStatus.INTERRUPTED, ExitStatus.TERMINATED, ExitStatus.HANGUP)


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Talks to an agent on the screen: the built-in one, or AGENT, by its name or as a command after `--`. Without "
        "a terminal it reads one prompt from stdin and prints the conversation; for scripts there is `accord run`."
    )
    parser.add_argument("agent", metavar="AGENT", nargs="?", help="the agent, by its name; `accord agents` lists them")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to work in (default: this one)")
    add_start_timeout(parser)
    add_session_arguments(parser)
    parser.add_argument("--theme", metavar="NAME", help="how the screen looks (ACCORD_THEME, `theme` in config.toml)")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="line by line, with nothing drawn, for screen readers (ACCORD_PLAIN, `plain` in config.toml)",
    )


def main(args: Mapping[str, Any], load_environment: LoadEnvironment) -> int:
    cwd = working_directory(args)
    environment = load_environment(cwd)
    agent = find_agent(args.get("agent"), args.get("command"), environment, may_be_command=True)
    options = RunOptions(
        agent=agent,
        environment=environment,
        cwd=cwd,
        prompt=None,
        default_prompt="/explain" if agent.is_builtin else None,
        is_transcript=True,
        start_timeout=start_timeout(args, environment),
        **session_options(args),
    )
    if _has_terminal():
        return _screen(options, args.get("theme") or environment.theme, is_plain=args.get("plain") or environment.plain)
    status = run(options)
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


def _screen(options: RunOptions, theme: str | None, *, is_plain: bool) -> int:
    if find_spec("textual") is None:
        raise ConsoleFailed(
            "the screen needs Textual, which is not installed",
            "Install it with `pip install 'accord[console]'`, or use `accord run PROMPT`, which needs no screen",
        )
    from accord.apps.console.screen import program  # noqa: PLC0415  # Textual, which may not be there

    return program.main(options, theme, is_plain=is_plain)
