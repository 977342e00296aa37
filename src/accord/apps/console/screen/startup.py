"""The start and restart of the screen's agent.

Law: one start at a time. A later start cancels the one before, and begins when that has been cleaned up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.screen.tabs import Tabs
from accord.apps.console.session_choice import NO_EARLIER_SESSION
from accord.errors import AccordError


class AgentStarter:
    """Starts the agent and opens its sessions. Errors are shown in the conversation."""

    def __init__(self, screen: ScreenContext, agent: ScreenAgent, tabs: Tabs) -> None:
        self._options = screen.options
        self._agent = agent
        self._tabs = tabs
        self._tasks = screen.tasks
        self._last: asyncio.Task[Any] | None = None
        self._lock = asyncio.Lock()
        self._has_started = False
        """The agent has been running once: the session to begin with has been opened."""

    def start(self) -> None:
        """Start the agent, with the session that the options name."""
        self._begin(self._start)

    def restart(self) -> None:
        """F5: start the agent with the open sessions. Also ends a start that never finishes."""
        self._begin(self._restart)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._last is not None:
            self._last.cancel()
        self._last = self._tasks.start(self._run_alone(work))

    async def _run_alone(self, work: Callable[[], Awaitable[None]]) -> None:
        async with self._lock:  # held until the cancelled start has been cleaned up
            await work()

    async def _start(self) -> None:
        agent, tabs, session_id = self._agent, self._tabs, self._options.resume
        if not await self._start_agent():
            return
        tab, *others = tabs  # a tab that is added from now on opens its session itself: the agent is ready
        self._has_started = True
        if session_id is None and self._options.continues:
            session_id = await self._last_session(tab)
        elif session_id is not None and (cwd := await agent.sessions.directory_of(session_id)):
            tabs.move(tab, cwd)
        if await (agent.open(tab) if session_id is None else agent.reopen(tab, session_id)):
            tabs.note_directory(tab)
        for other in others:
            if other in tabs:
                await agent.open(other)

    async def _start_agent(self) -> bool:
        try:
            await self._agent.start()
        except (AccordError, OSError, ValueError) as error:
            self._tabs.current.add_error(self._agent.describe_error(error))
            return False
        return True

    async def _last_session(self, tab: SessionTab) -> str | None:
        last = None
        try:
            last = await self._agent.sessions.last(self._options.state, self._options.cwd)
        except AccordError as error:
            tab.add_error(self._agent.describe_error(error, "listing the sessions"))
        if last is None:
            tab.add_note(NO_EARLIER_SESSION)
        return last

    async def _restart(self) -> None:
        agent = self._agent
        for tab in self._tabs:
            tab.add_note("restarting the agent")
        if not self._has_started:
            await self._start()
        elif await self._start_agent():
            agent.tabs += [tab for tab in self._tabs if tab not in agent.tabs]
            await agent.reopen_all()
