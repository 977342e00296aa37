"""`accord sessions`: the sessions that an agent has kept."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from accord.apps.console.failures import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent, agent_meant
from accord.apps.console.link import Answers, Link
from accord.apps.console.run_command import describe_agent, directory_of
from accord.apps.console.sanitising import escaped, one_line
from accord.apps.console.surroundings import SurroundingsIn
from accord.errors import MethodNotFound
from accord.peer.loop import run
from accord.session.requests import SessionSummary

__all__ = ["describe", "main"]


def describe(parser: ArgumentParser) -> None:
    parser.description = (
        "Lists the sessions that an agent has kept, the newest first; `accord run --session ID` goes on with one. With "
        "--cwd only those of that directory."
    )
    describe_agent(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def main(given: Mapping[str, Any], surroundings_in: SurroundingsIn) -> int:
    cwd = directory_of(given)
    agent = agent_meant(given.get("agent"), given.get("command"), surroundings_in(cwd))
    listed = run(_listed(agent, cwd, is_limited="cwd" in given))
    if given.get("json"):
        sys.stdout.write(escaped(msgspec.json.format(msgspec.json.encode(listed))).decode() + "\n")
    else:
        sys.stdout.write(_as_text(listed, agent))
    return 0


async def _listed(agent: KnownAgent, cwd: Path, *, is_limited: bool) -> list[SessionSummary]:
    async with Link(agent, cwd, Answers()) as link:
        try:
            return await link.sessions(link.cwd if is_limited else None)
        except MethodNotFound:
            raise ConsoleFailed(f"the agent {link.known.name!r} does not list its sessions") from None


def _as_text(listed: list[SessionSummary], agent: KnownAgent) -> str:
    if not listed:
        return f"The agent {agent.name!r} has kept no session.\n"
    rows = [(one_line(each.session_id, 80), (each.updated_at or "")[:16].replace("T", " "), each) for each in listed]
    width = max(len(row[0]) for row in rows)
    lines = [
        f"{id:<{width}}  {when:<16}  {one_line(each.title or 'without a title', 60)}  {one_line(each.cwd)}"
        for id, when, each in rows
    ]
    return "\n".join([*lines, ""])
