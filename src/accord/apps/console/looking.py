"""What an agent can do, found out by asking it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from accord.apps.console.failures import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.link import Answers, Link, told_on_stderr
from accord.apps.console.logins import described
from accord.client.delivering import Update
from accord.client.session import Session
from accord.errors import AccordError
from accord.session.entities import Command, Mode, Option
from accord.session.updates import CommandsChanged

__all__ = ["Looked", "look"]

_COMMANDS_SECONDS = 1.0


class Looked(Struct, frozen=True, kw_only=True):
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
    commands: list[Command] = []


async def look(agent: KnownAgent, cwd: Path, start_timeout: float) -> Looked:
    """Start it, ask, open a session and close it again; nothing is left behind where the agent can delete."""
    told = asyncio.Event()

    def update(heard: Update) -> None:
        if isinstance(heard.change, CommandsChanged):
            told.set()

    waiting: dict[str, Any] = {"start_timeout": start_timeout, "on_waiting": told_on_stderr}
    async with Link(agent, cwd, Answers(update=update), **waiting) as link:
        session: Session | None = None
        failure: str | None = None
        try:
            session = await link.new_session([])
        except ConsoleFailed as failed:
            failure = str(failed)
        if session is not None and not session.commands:
            with suppress(TimeoutError):  # agents tell them after the answer, or never
                async with asyncio.timeout(_COMMANDS_SECONDS):
                    await told.wait()
        looked = _looked(link, session, failure)
        if session is not None:
            with suppress(AccordError):
                await session.close()
                await link.client.delete_session(session.id)
        return looked


def _looked(link: Link, session: Session | None, failure: str | None) -> Looked:
    said = link.agent
    can = said.capabilities
    names = [name for name in can.__struct_fields__ if getattr(can, name) is True]
    return Looked(
        agent=said.info and said.info.name,
        title=said.info and said.info.title,
        agent_version=said.info and said.info.version,
        protocol=said.version,
        dialect=link.client.connection.dialect.name,
        capabilities=names,
        logins=[described(method) for method in said.auth_methods],
        session_failure=failure,
        modes=session.modes.available if session and session.modes else [],
        options=session.options if session else [],
        commands=session.commands if session else [],
    )
