"""`accord agents`: lists known agents, which are installed, and what each can do."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from accord.apps.console.agent_process import AgentCallbacks, AgentProcess, agent_command
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent, LoadEnvironment, find_agent, known_agents, write_stderr_line
from accord.apps.console.run_command import add_start_timeout, start_timeout, working_directory
from accord.apps.console.sanitizer import escape_json, one_line
from accord.apps.console.tty import login_method_text
from accord.client.deadlines import Deadlines
from accord.client.session import Session, SessionUpdate
from accord.errors import AccordError
from accord.peer.event_loop import run
from accord.session.entities import Mode, Option, SlashCommand
from accord.session.updates import CommandsChanged

__all__ = ["AgentReport", "add_arguments", "inspect_agent", "main"]


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Lists the agents that accord knows and whether each is installed. With a NAME, or a command after `--`, that "
        "agent is started and asked what it can do; a session is opened if it wants no login for that, and closed."
    )
    parser.add_argument("agent", metavar="NAME", nargs="?", help="the agent to ask")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to work in (default: this one)")
    add_start_timeout(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def main(args: Mapping[str, Any], load_environment: LoadEnvironment) -> int:
    cwd = working_directory(args)
    environment = load_environment(cwd)
    name, command = args.get("agent"), args.get("command")
    if name is None and command is None:
        environment.print_notices()
        known = known_agents(environment)
        shown: Any = [_row(agent) for agent in known]
        text = _as_table(known)
    else:
        agent = find_agent(name, command, environment)
        environment.print_notices()
        shown = run(inspect_agent(agent, cwd, start_timeout(args, environment)))
        text = _as_text(shown)
    if args.get("json"):
        text = escape_json(msgspec.json.format(msgspec.json.encode(shown))).decode() + "\n"
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


def _as_text(looked: AgentReport) -> str:
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


_COMMANDS_SECONDS = 1.0


class AgentReport(Struct, frozen=True, kw_only=True):
    """What it said. `session_failure` tells why there was no session to look at, such as a login that it wants."""

    agent: str | None
    title: str | None
    agent_version: str | None
    protocol: int
    dialect: str
    capabilities: list[str]
    logins: list[str]
    session_failure: str | None = None
    modes: list[Mode] = []
    options: list[Option] = []
    commands: list[SlashCommand] = []


async def inspect_agent(agent: KnownAgent, cwd: Path, start_timeout: float) -> AgentReport:
    """Start it, ask, open a session and close it again; nothing is left behind where the agent can delete."""
    told = asyncio.Event()

    def update(heard: SessionUpdate) -> None:
        if isinstance(heard.update, CommandsChanged):
            told.set()

    callbacks = AgentCallbacks(on_update=update, on_progress=write_stderr_line)
    deadlines = Deadlines(handshake=start_timeout)
    async with AgentProcess(agent, agent_command(agent, cwd), callbacks, deadlines=deadlines) as process:
        session: Session | None = None
        failure: str | None = None
        try:
            session = await process.open_session(None, cwd)
        except ConsoleFailed as failed:
            failure = str(failed)
        if session is not None and not session.commands:
            with suppress(TimeoutError):  # agents tell them after the answer, or never
                async with asyncio.timeout(_COMMANDS_SECONDS):
                    await told.wait()
        looked = _looked(process, session, failure)
        if session is not None:
            with suppress(AccordError):
                await session.close()
                await process.client.delete_session(session.id)
        return looked


def _looked(process: AgentProcess, session: Session | None, failure: str | None) -> AgentReport:
    said = process.agent
    can = said.capabilities
    names = [name for name in can.__struct_fields__ if getattr(can, name) is True]
    return AgentReport(
        agent=said.info and said.info.name,
        title=said.info and said.info.title,
        agent_version=said.info and said.info.version,
        protocol=said.version,
        dialect=process.client.dialect,
        capabilities=names,
        logins=[login_method_text(method) for method in said.auth_methods],
        session_failure=failure,
        modes=session.modes.available if session and session.modes else [],
        options=session.options if session else [],
        commands=session.commands if session else [],
    )
