"""Reopens a saved session in a tab: loaded with its history, or resumed without; and the command that does so later."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.sanitizer import exact_line, one_line
from accord.apps.console.screen.conversation import Conversation
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.session_choice import KnownSessions
from accord.client.client import Client
from accord.client.session import Session
from accord.errors import MethodNotFound
from accord.session.mcp_servers import McpServer
from accord.session.replay import replay
from accord.transports.installation import program_command

OpenIn: TypeAlias = Callable[[SessionTab, Callable[[], Awaitable[Session]]], Awaitable[bool]]
"""Opens a session in a tab with a request; returns whether it is open. Errors are shown there, except MethodNotFound."""


class Resumption:
    """Reopens one session in one tab."""

    def __init__(
        self,
        tab: SessionTab,
        session_id: str,
        *,
        client: Client,
        known: KnownSessions,
        servers: list[McpServer],
        open_in: OpenIn,
    ) -> None:
        self._tab = tab
        self._session_id = session_id
        self._client = client
        self._known = known
        self._servers = servers
        self._open_in = open_in

    async def attempt(self, *, with_history: bool) -> bool | None:
        """Whether the session is open; None if the agent cannot reopen sessions: the saved conversation is shown then.

        If the agent lacks a method that it offers (-32601), the other one is tried.
        """
        can, is_shown = self._client.agent.capabilities, False
        for loads in (True, False) if with_history else (False, True):
            if not (can.load if loads else can.resume):
                continue
            if not loads:
                await self._show_known()
                is_shown = True
            with suppress(MethodNotFound):
                return await (self._load() if loads else self._resume())
        if not is_shown:
            await self._show_known()
        return None

    async def _load(self) -> bool:
        tab = self._tab
        blocks, is_new_here = list(tab.conversation.blocks), tab.session is None
        tab.conversation.clear()
        tab.session_id = self._session_id
        tab.begin_reopen(with_history=True)
        is_open = is_replayed = False
        try:
            is_open = await self._request(self._client.load_session)
            is_replayed = is_open and tab.session is not None and bool(tab.session.transcript.timeline)
        finally:
            if not is_replayed:
                tab.conversation.begin_with(blocks)  # the agent has replayed nothing
        if is_open and not is_replayed and is_new_here:
            await self._show_saved()
        return is_open

    async def _resume(self) -> bool:
        self._tab.session_id = self._session_id
        self._tab.begin_reopen(with_history=False)
        return await self._request(self._client.resume_session)

    async def _request(self, reopen: Callable[..., Awaitable[Session]]) -> bool:
        tab = self._tab
        return await self._open_in(tab, lambda: reopen(self._session_id, tab.cwd, self._servers))

    async def _show_known(self) -> None:
        """Show the earlier conversation; later updates have ids of their own."""
        if self._tab.session is None:
            await self._show_saved()
        self._tab.conversation.begin_part()

    async def _show_saved(self) -> None:
        """Show the conversation that accord has saved, because the agent does not replay it."""
        tab = self._tab
        for part in await self._known.transcripts(self._session_id):
            conversation = Conversation(tab.cwd, lambda _: None, tab.conversation.fold_pastes)
            for update in replay(part):
                conversation.apply(update)
            for block in conversation.blocks:
                tab.conversation.add(block)


def resume_command(agent: KnownAgent, session_id: str, cwd: str) -> str:
    """The command that continues a session, as a user types it; without secrets of the agent's command."""
    words = [] if agent.source in ("built-in", "command") else [agent.name]
    words += [f"--resume={session_id}"] if session_id.startswith("-") else ["--resume", session_id]
    if os.path.normpath(cwd) != os.path.normpath(os.getcwd()):  # noqa: PTH109  # as the shell shows it
        words += ["--cwd", cwd]
    words += ["--", *agent.shown_command] if agent.source == "command" else []
    rest = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
    return f"{program_command()} {rest}"


def farewell(agent: KnownAgent, tabs: Iterable[SessionTab]) -> str:
    """What to print at the end: how to continue each session that the agent can reopen; nothing if there is none."""
    used = [tab for tab in tabs if tab.session_id is not None and tab.can_reopen and tab.is_used]
    commands = {resume_command(agent, tab.session_id or "", tab.cwd): one_line(tab.title, 60) for tab in used}
    exact = [(each, title) for each, title in commands.items() if exact_line(each) == each]
    if len(exact) < 2:
        return "".join(f"To continue this session: {each}\n" for each, _ in exact)
    return "".join(["To continue these sessions:\n", *(f"  {each}  # {title}\n" for each, title in exact)])
