"""`accord [AGENT]`: talk to an agent on the screen; without a terminal, one prompt and its answer."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from accord.apps.console.failures import ConsoleFailed, UsageWrong
from accord.apps.console.known_agents import BUILTIN, KnownAgent, agent_meant, known_agents
from accord.apps.console.run_command import describe_session, directory_of, session_asked
from accord.apps.console.running import Run, run
from accord.apps.console.surroundings import Surroundings, SurroundingsIn

__all__ = ["describe", "main"]

_SCREEN = "accord.apps.console.screen.program"


def describe(parser: ArgumentParser) -> None:
    parser.description = (
        "Talks to an agent on the screen: the built-in one, or AGENT, by its name or as a command after `--`. Without "
        "a terminal it reads one prompt from stdin and prints the conversation; for scripts there is `accord run`."
    )
    parser.add_argument("agent", metavar="AGENT", nargs="?", help="the agent, by its name; `accord agents` lists them")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to work in (default: this one)")
    describe_session(parser)


def main(given: Mapping[str, Any], surroundings_in: SurroundingsIn) -> int:
    cwd = directory_of(given)
    around = surroundings_in(cwd)
    agent = _meant(given, around)
    asked = Run(
        agent=agent,
        around=around,
        cwd=cwd,
        prompt=None,
        otherwise="/explain" if agent.is_builtin else None,
        is_transcript=True,
        **session_asked(given),
    )
    if _has_terminal():
        return _screen(asked)
    status = run(asked)
    sys.stderr.write(
        "\nThis was one prompt, because there is no terminal here. In a terminal `accord` opens a screen to talk in; "
        "for scripts there is `accord run PROMPT`.\n"
    )
    return status


def _meant(given: Mapping[str, Any], around: Surroundings) -> KnownAgent:
    name = given.get("agent")
    names = [agent.name for agent in known_agents(around)]
    if name is None or given.get("command") is not None or name in names:
        return agent_meant(name, given.get("command"), around)
    close = [each for each in get_close_matches(name, [*around.commands, *names], n=1) if each != BUILTIN]
    hint = f"; did you mean `accord {close[0]}`?" if close else ""
    raise UsageWrong(
        f"there is no command and no agent {name!r}{hint}", "`accord --help` and `accord agents` list them"
    )


def _has_terminal() -> bool:
    streams = (sys.__stdin__, sys.__stdout__)
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


def _screen(asked: Run) -> int:
    if find_spec("textual") is None:
        raise ConsoleFailed(
            "the screen needs Textual, which is not installed",
            "Install it with `pip install 'accord[console]'`, or use `accord run PROMPT`, which needs no screen",
        )
    try:
        screen = import_module(_SCREEN)
    except ModuleNotFoundError as missing:
        if missing.name is None or not missing.name.startswith("accord."):
            raise
        raise ConsoleFailed(
            "the screen is not part of this accord yet", "Use `accord run PROMPT`, which needs none"
        ) from None
    return screen.main(asked)
