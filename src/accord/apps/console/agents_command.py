"""`accord agents`: which agents are known, which are installed, and what each can do."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

import msgspec

from accord.apps.console.known_agents import KnownAgent, agent_meant, known_agents
from accord.apps.console.looking import Looked, look
from accord.apps.console.run_command import describe_start, directory_of, start_timeout_of
from accord.apps.console.sanitising import escaped, one_line
from accord.apps.console.surroundings import SurroundingsIn
from accord.peer.loop import run

__all__ = ["describe", "main"]


def describe(parser: ArgumentParser) -> None:
    parser.description = (
        "Lists the agents that accord knows and whether each is installed. With a NAME, or a command after `--`, that "
        "agent is started and asked what it can do; a session is opened if it wants no login for that, and closed."
    )
    parser.add_argument("agent", metavar="NAME", nargs="?", help="the agent to ask")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to work in (default: this one)")
    describe_start(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def main(given: Mapping[str, Any], surroundings_in: SurroundingsIn) -> int:
    cwd = directory_of(given)
    around = surroundings_in(cwd)
    name, command = given.get("agent"), given.get("command")
    if name is None and command is None:
        around.tell_notices()
        known = known_agents(around)
        shown: Any = [_row(agent) for agent in known]
        text = _as_table(known)
    else:
        agent = agent_meant(name, command, around)
        around.tell_notices()
        shown = run(look(agent, cwd, start_timeout_of(given, around)))
        text = _as_text(shown)
    if given.get("json"):
        text = escaped(msgspec.json.format(msgspec.json.encode(shown))).decode() + "\n"
    sys.stdout.write(text)
    return 0


def _row(agent: KnownAgent) -> dict[str, Any]:
    program = agent.program()
    return {
        "name": agent.name,
        "title": agent.title,
        "source": agent.source,
        "command": agent.shown_command,
        "installed": program is not None,
        "program": program,
        "install": agent.install,
    }


def _as_table(known: list[KnownAgent]) -> str:
    names = [one_line(agent.name, 40) for agent in known]
    width = max(map(len, names))
    lines: list[str] = []
    for name, agent in zip(names, known, strict=True):
        there = agent.program() is not None
        command = "accord agent" if agent.is_builtin else agent.line
        how = "" if there or not agent.install else f"  ({agent.install})"
        state = "installed" if there else "missing"
        lines.append(f"{name:<{width}}  {state:<9}  {one_line(command, 60)}{how}")
    lines += [
        "",
        "`accord agents NAME` asks one what it can do. Others: [agents.NAME] in config.toml, or `-- COMMAND`.",
    ]
    return "\n".join([*lines, ""])


def _as_text(looked: Looked) -> str:
    info = " ".join(filter(None, (looked.title or looked.agent, looked.agent_version)))
    lines = [f"{one_line(info) or 'It does not say what it is'}, protocol version {looked.protocol} ({looked.dialect})"]
    lines.append(f"can: {', '.join(looked.capabilities) or 'nothing beyond text'}")
    lines += [f"login: {one_line(each)}" for each in looked.logins]
    if looked.session_failure:
        lines.append(f"no session: {one_line(looked.session_failure, 1000)}")
    for mode in looked.modes:
        lines.append(f"mode {one_line(mode.id, 40)}: {one_line(mode.name, 80)}")
    for option in looked.options:
        choices = ", ".join(one_line(choice.value, 40) for choice in option.choices[:20])
        more = f" of {choices}" if choices else ""
        lines.append(f"option {one_line(option.id, 40)} = {one_line(str(option.value), 80)}{more}")
    for command in looked.commands:
        lines.append(f"/{one_line(command.name, 40)}: {one_line(command.description)}")
    return "\n".join([*lines, ""])
