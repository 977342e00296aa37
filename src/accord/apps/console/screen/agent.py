"""The agent of the screen: opens and reopens sessions in tabs, and routes its updates and questions to them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Literal

from accord.apps.console.agent_process import AgentCallbacks, AgentProcess, AgentState
from accord.apps.console.error_messages import LONG_FRAME_MESSAGE
from accord.apps.console.permission_flags import ChoiceOwner, new_workspace, permission_policy, permission_summary
from accord.apps.console.screen.blocks.notices import ErrorBlock
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.errors import agent_error_block, error_block, reopen_error_block, settings_error_block
from accord.apps.console.screen.resumption import Resumption
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.screen.wire_log import WireLog
from accord.apps.console.session_choice import KnownSessions
from accord.client.client import Client
from accord.client.login import RunLogin
from accord.client.permissions.saved_answers import remember
from accord.client.permissions.writes_and_commands import allows
from accord.client.session import Session, SessionUpdate
from accord.client.workspace.terminals import TerminalEvent
from accord.client.workspace.workspace import FileWrite
from accord.errors import AccordError, ConnectionClosed, MethodNotFound
from accord.session.capabilities import AuthMethod
from accord.session.mcp_servers import McpServer
from accord.session.requests import ElicitationAnswer, ElicitationRequest, PermissionAnswer, PermissionRequest
from accord.session.updates import Update

_DELETE_TIMEOUT = 1.0
_MOST_EARLY = 1000
"""The most updates to keep of a session whose opening has not been answered yet."""


class ScreenAgent:
    """The agent of the screen. `open`, `reopen` and `fork` open a session in a tab and show errors there.

    `on_change` is called when the agent is starting, ready or gone. Questions and notes that belong to no session are shown
    in the tab on the screen.
    """

    def __init__(
        self,
        screen: ScreenContext,
        *,
        on_change: Callable[[], None],
        choose_login: Callable[[Sequence[AuthMethod]], Awaitable[str | None]],
        run_login: RunLogin,
    ) -> None:
        self.wire_log = WireLog()
        self.tabs: list[SessionTab] = []
        """The tabs that have, or had, a session of this agent."""
        options, known = screen.options, screen.options.agent
        self.on_change = on_change
        self._screen = screen
        self._choose_login = choose_login
        self._activity = ""
        """What failed because the connection was closed, if that was not a turn."""
        self._early_updates: dict[str, list[Update]] = {}
        self._has_suspended_settings = False
        self.choices = remember(self._permission)
        self.keeper: ChoiceOwner = "built-in agent" if known.is_builtin else "screen"
        # The built-in agent remembers choices itself: a revoked choice must count at once.
        ask = self._permission if known.is_builtin else self.choices
        callbacks = AgentCallbacks(
            on_permission=permission_policy(options.permissions or "ask", ask, self._permission_decided),
            on_elicitation=self._elicitation,
            choose_login=self._suspend_and_choose_login,
            run_login=run_login,
            new_workspace=lambda agent: new_workspace(
                options.permissions, agent, on_terminal=self._terminal_changed, on_write=self._file_written
            ),
            on_update=self._update,
            on_state=on_change,
            on_closed=self._connection_closed,
            on_frame=self.wire_log.frame,
            on_stderr=self.wire_log.stderr,
            on_long_frame=lambda: screen.tab.add_note(LONG_FRAME_MESSAGE),
        )
        self.process = AgentProcess(
            known,
            options.target,
            callbacks,
            servers=options.servers,
            records=options.records,
            version=options.version,
            deadlines=options.deadlines,
        )

    @property
    def client(self) -> Client:
        return self.process.client

    @property
    def state(self) -> AgentState:
        return self.process.state

    @property
    def sessions(self) -> KnownSessions:
        """All known sessions of this agent, open or not."""
        return self.process.sessions

    @property
    def start_timeout(self) -> float | None:
        """The number of seconds that the agent has to answer `initialize`."""
        return self.process.deadlines.handshake

    @property
    def display_name(self) -> str:
        """The title of the agent, or its name."""
        return self.process.known.title or self.process.known.name

    def describe_error(self, error: Exception, doing: str = "starting") -> ErrorBlock:
        """The block for an error that keeps the agent from working."""
        return agent_error_block(error, doing, self.process.known, self.process.output, self._screen.main.keys)

    # start and end

    async def start(self) -> None:
        """Start the agent; raises what went wrong. One call at a time."""
        await self.aclose()
        self._early_updates.clear()
        self._activity = ""
        await self.process.start()

    async def aclose(self) -> None:
        """End the agent with all its processes. Safe to call twice."""
        self.process.stop_watch()
        for tab in self.tabs:
            await tab.wait_saved()
        await self.process.aclose()

    async def shut_down(self) -> None:
        """As `aclose`, at the end of the screen: deletes unused sessions first."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DELETE_TIMEOUT):
                for tab in self.tabs:
                    await self._delete_unused(tab)
        await self.aclose()

    async def _delete_unused(self, tab: SessionTab) -> None:
        if not tab.is_unused or self.state != "ready" or not self.client.agent.capabilities.delete:
            return
        with contextlib.suppress(AccordError):
            await self.client.delete_session(tab.session_id or "")

    async def log_in(self) -> bool:
        """Log in with the method that the user chooses; False for none. Sessions closed by the login are reopened."""
        try:
            done = await self.client.login()
        finally:
            self.process.finish_login()
        if done:
            await self._reopen_closed()
        await self._restore_suspended_settings()
        return done

    # sessions

    async def open(self, tab: SessionTab) -> bool:
        """Open a new session; False if the agent refused, which the tab shows."""
        servers = self._servers(tab)
        tab.is_new = True
        return await self._open_in(tab, lambda: self.client.new_session(tab.cwd, servers))

    async def reopen(self, tab: SessionTab, session_id: str, *, with_history: bool = True) -> bool:
        """Reopen a saved session: with its history if the agent can replay it, else without, else a new session."""
        tab.is_new = False
        resumption = Resumption(
            tab,
            session_id,
            client=self.client,
            known=self.sessions,
            servers=self._servers(tab),
            open_in=partial(self._open_in, reopens=True),
        )
        if (is_open := await resumption.attempt(with_history=with_history)) is not None:
            return is_open
        tab.add_note("this agent cannot reopen sessions: a new session begins, which does not know the messages above")
        return await self.open(tab)

    async def fork(self, tab: SessionTab, session_id: str) -> bool:
        """Open a new session that begins with the history of another."""
        servers = self._servers(tab)
        return await self._open_in(tab, lambda: self.client.fork_session(session_id, tab.cwd, servers))

    async def reopen_all(self) -> None:
        """Reopen every session that was open before the agent was restarted."""
        for tab in list(self.tabs):
            if tab in self.tabs:
                await self._reopen(tab)

    async def _reopen(self, tab: SessionTab) -> None:
        if tab.session_id is None:
            await self.open(tab)
        else:
            needs_history = tab.session is None or tab.is_behind or not self.client.agent.capabilities.resume
            await self.reopen(tab, tab.session_id, with_history=needs_history)

    async def _reopen_closed(self) -> None:
        """Reopen the sessions that a login in the terminal has closed, and open those that waited for the login."""
        client = self.client
        for tab in list(self.tabs):
            if client is self.client and not tab.is_open:
                await self._reopen(tab)

    async def close(self, tab: SessionTab) -> None:
        """Close the session of a tab."""
        if tab in self.tabs:
            self.tabs.remove(tab)
        if tab.session is not None and not tab.session.is_closed:
            with contextlib.suppress(AccordError):
                await tab.session.close()
            await self._delete_unused(tab)

    async def _open_in(
        self, tab: SessionTab, request: Callable[[], Awaitable[Session]], *, reopens: bool = False
    ) -> bool:
        """Errors are shown in the tab, except a MethodNotFound if the request `reopens` a session."""
        if tab not in self.tabs:
            self.tabs.append(tab)
        try:
            return await self._try_open_in(tab, request, reopens)
        finally:
            await self._restore_suspended_settings()

    async def _try_open_in(self, tab: SessionTab, request: Callable[[], Awaitable[Session]], reopens: bool) -> bool:
        try:
            session = await request()
        except ConnectionClosed:
            self._activity = "opening a session"
            return False  # shown by `_connection_closed`
        except (AccordError, ValueError, OSError) as error:
            if reopens and isinstance(error, MethodNotFound):
                raise
            make_block = reopen_error_block if reopens else error_block
            tab.add_error(make_block(error, self._screen.main.keys))
            return False
        finally:
            is_new_connection = self.process.finish_login()
        tab.session_id, can = session.id, self.client.agent.capabilities
        tab.can_reopen = can.load or can.resume
        tab.recording = self.process.record(session)
        for update in self._early_updates.pop(session.id, ()):
            tab.conversation.apply(update)
        try:
            await self._apply_settings(tab, session)
        except ConnectionClosed:
            self._activity = "setting the mode and the options"
            return False
        tab.attach(session)
        if is_new_connection:
            await self._reopen_closed()
        return True

    def _servers(self, tab: SessionTab) -> list[McpServer]:
        """The MCP servers that the agent can use; the tab shows a note for each of the others."""
        for warning in self.process.server_warnings:
            tab.add_note(warning)
        return self.process.servers_for(tab.cwd)

    def kill_terminals(self, terminal_ids: Iterable[str]) -> list[Coroutine[Any, Any, None]]:
        """The coroutines that kill the commands, as far as they run in the client's workspace."""
        workspace = self.process.workspace
        terminals = {} if workspace is None else dict(workspace.terminals)
        found = [terminals[each] for each in terminal_ids if each in terminals]
        return [terminal.kill() for terminal in found if terminal.exit is None]

    # settings

    async def retry_settings(self, tab: SessionTab) -> None:
        """Apply the settings of a tab again, if the agent has rejected them before."""
        if tab.is_unsettled and tab.session is not None:
            await self._apply_settings(tab, tab.session)

    async def _apply_settings(self, tab: SessionTab, session: Session) -> None:
        try:
            await tab.settings.restore(session)
        except ConnectionClosed:
            raise
        except AccordError as error:
            tab.settings_rejected(settings_error_block(error, self._screen.main.keys))
        else:
            tab.settings_applied()

    async def _suspend_and_choose_login(self, methods: Sequence[AuthMethod]) -> str | None:
        self._has_suspended_settings = True
        for tab in self.tabs:
            tab.settings.hold()
        return await self._choose_login(methods)

    async def _restore_suspended_settings(self) -> None:
        """After a login: undo the changes that it made to the settings of open sessions."""
        is_needed, self._has_suspended_settings = self._has_suspended_settings, False
        for tab in list(self.tabs) if is_needed else ():
            if tab.session is not None and tab.is_open:
                with contextlib.suppress(ConnectionClosed):
                    await self._apply_settings(tab, tab.session)

    # callbacks of the agent process

    def _connection_closed(self, reason: ConnectionClosed) -> None:
        is_cut_off = any(tab.is_cut_off for tab in self.tabs)
        doing = "answering" if is_cut_off else self._activity or "it had nothing to do"
        for tab in self.tabs:
            tab.add_error(self.describe_error(reason, doing))
            tab.connection_closed()

    def _tab_of(self, session_id: str | None) -> SessionTab | None:
        return next((tab for tab in self.tabs if tab.session_id == session_id and session_id is not None), None)

    def _update(self, update: SessionUpdate) -> None:
        tab = self._tab_of(update.session.id)
        if tab is not None:
            tab.apply(update)
            return
        early = self._early_updates.setdefault(update.session.id, [])
        if len(early) < _MOST_EARLY:
            early.append(update.update)

    def _terminal_changed(self, event: TerminalEvent) -> None:
        tab = self._tab_of(event.terminal.session_id)
        if tab is not None and tab.session is not None:
            tab.session.show_terminal(event)

    def _file_written(self, write: FileWrite) -> None:
        tab = self._tab_of(write.session_id)
        if tab is not None:
            tab.conversation.add_written_file(write.path, write.old_text, write.content)

    async def _permission(self, request: PermissionRequest) -> PermissionAnswer:
        tab = self._tab_of(request.session_id) or self._screen.tab
        return await tab.questions.permission(request)

    def _permission_decided(
        self, request: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]
    ) -> None:
        if by == "rule":
            verdict = "allowed" if allows(request, answer) else "rejected"
            tab = self._tab_of(request.session_id) or self._screen.tab
            tab.add_note(f"{verdict} by --permissions: {permission_summary(request)}")

    async def _elicitation(self, request: ElicitationRequest) -> ElicitationAnswer:
        tab = self._tab_of(request.session_id) or self._screen.tab
        tab.conversation.is_turn_empty = False
        return await tab.questions.elicitation(request)
