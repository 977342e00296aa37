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


def _as_text(report: AgentReport) -> str:
    info = " ".join(filter(None, (report.title or report.agent, report.agent_version)))
    lines = [f"{one_line(info) or 'It does not say what it is'}, protocol version {report.protocol} ({report.dialect})"]
    lines.append(f"can: {', '.join(report.capabilities) or 'nothing beyond text'}")
    lines += [f"login: {one_line(each)}" for each in report.logins]
    if report.session_failure:
        lines.append(f"no session: {one_line(report.session_failure, 1000)}")
    for mode in report.modes:
        lines.append(f"mode {one_line(mode.id, 40)}: {one_line(mode.name, 80)}")
    for option in report.options:
        choices = ", ".join(one_line(choice.value, 40) for choice in option.choices[:20])
        more = f" of {choices}" if choices else ""
        lines.append(f"option {one_line(option.id, 40)} = {one_line(str(option.value), 80)}{more}")
    for command in report.commands:
        lines.append(f"/{one_line(command.name, 40)}: {one_line(command.description)}")
    return "\n".join([*lines, ""])


_COMMANDS_SECONDS = 1.0


class AgentReport(Struct, frozen=True, kw_only=True):
    """The answers of the agent. `session_failure` is the reason why no session was opened, such as a required login."""

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
    """Start the agent, open a session and close it again; the session is deleted if the agent can do that."""
    has_commands = asyncio.Event()

    def update(event: SessionUpdate) -> None:
        if isinstance(event.update, CommandsChanged):
            has_commands.set()

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
            with suppress(TimeoutError):  # agents send them after the response, or never
                async with asyncio.timeout(_COMMANDS_SECONDS):
                    await has_commands.wait()
        report = _report(process, session, failure)
        if session is not None:
            with suppress(AccordError):
                await session.close()
                await process.client.delete_session(session.id)
        return report


def _report(process: AgentProcess, session: Session | None, failure: str | None) -> AgentReport:
    agent = process.agent
    can = agent.capabilities
    names = [name for name in can.__struct_fields__ if getattr(can, name) is True]
    return AgentReport(
        agent=agent.info and agent.info.name,
        title=agent.info and agent.info.title,
        agent_version=agent.info and agent.info.version,
        protocol=agent.version,
        dialect=process.client.dialect,
        capabilities=names,
        logins=[login_method_text(method) for method in agent.auth_methods],
        session_failure=failure,
        modes=session.modes.available if session and session.modes else [],
        options=session.options if session else [],
        commands=session.commands if session else [],
    )
