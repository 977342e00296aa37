"""The agent behind the screen, and the talks that go through it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Literal, Protocol

from accord import __version__
from accord.apps.console.agent_process import AgentCallbacks, AgentProcess, AgentState
from accord.apps.console.always_choices import Keeper
from accord.apps.console.error_messages import TOO_LONG
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import Permissions, policy_of, what_is_asked, workspace_of
from accord.apps.console.screen.blocks.notices import Failure
from accord.apps.console.screen.errors import failure_of, failure_of_agent, not_restored
from accord.apps.console.screen.resumption import Resumption
from accord.apps.console.screen.session import Talk
from accord.apps.console.screen.wire_log import Traffic
from accord.apps.console.session_choice import KnownSessions
from accord.apps.console.session_records import Records
from accord.client.callbacks import SessionUpdate
from accord.client.client import Client
from accord.client.deadlines import Deadlines
from accord.client.permissions import policies
from accord.client.permissions.writes_and_commands import allows
from accord.client.session import Session
from accord.client.target import AnyTarget, Command
from accord.client.workspace.terminals import TerminalEvent
from accord.client.workspace.workspace import FileWrite
from accord.dialects.negotiation import ProtocolVersion
from accord.errors import AccordError, ConnectionClosed
from accord.session.capabilities import AuthMethod, Implementation
from accord.session.mcp_servers import McpServer
from accord.session.requests import ElicitationAnswer, ElicitationRequest, PermissionAnswer, PermissionRequest
from accord.session.updates import Update

__all__ = ["AgentSide", "Owner"]

_FORGET_SECONDS = 1.0
_MOST_EARLY = 1000
_INFO = Implementation(name="accord", title="accord", version=__version__)


class Owner(Protocol):
    """Whoever shows the agent, and is told and asked on its behalf."""

    def agent_changed(self) -> None:
        """It is starting, ready or gone."""
        ...

    def current_talk(self) -> Talk | None:
        """Where to ask what concerns no session."""
        ...

    async def choose_login(self, methods: Sequence[AuthMethod]) -> str | None:
        """Which way to log in; None for not now."""
        ...

    async def run_login(self, command: Command) -> int:
        """Run a command where the user can talk to it."""
        ...


class AgentSide:
    """One agent. `open`, `take_up` and `fork` fill a talk with a session; what fails is shown in it."""

    def __init__(
        self,
        target: AnyTarget,
        owner: Owner,
        *,
        known: KnownAgent,
        records: Records | None = None,
        permissions: Permissions | None = None,
        servers: Iterable[McpServer] = (),
        version: ProtocolVersion = "auto",
        deadlines: Deadlines | None = None,
    ) -> None:
        self.traffic = Traffic()
        self.talks: list[Talk] = []
        self._owner = owner
        self._doing_last = ""
        self._early: dict[str, list[Update]] = {}
        self._holds_settings = False
        self.choices = policies.remember(self._permission)
        self.keeper: Keeper = "built-in agent" if known.is_builtin else "screen"
        # What is revoked of the built-in agent's choices must count at once: nobody else remembers them.
        asks = self._permission if known.is_builtin else self.choices
        callbacks = AgentCallbacks(
            on_permission=policy_of(permissions or "ask", asks, self._decided),
            on_elicitation=self._elicitation,
            choose_login=self._choose_login,
            run_login=owner.run_login,
            new_workspace=lambda agent: workspace_of(
                permissions, agent, on_terminal=self._terminal, on_write=self._wrote
            ),
            on_update=self._update,
            on_state=owner.agent_changed,
            on_closed=self._closed,
            on_frame=self.traffic.frame,
            on_stderr=self.traffic.stderr,
            on_long_frame=self._long_frame,
        )
        self.process = AgentProcess(
            known, target, callbacks, servers=servers, records=records, version=version, deadlines=deadlines
        )

    @property
    def client(self) -> Client:
        return self.process.client

    @property
    def state(self) -> AgentState:
        return self.process.state

    async def start(self) -> None:
        """Start the agent and shake hands; raises what went wrong. One at a time: whoever calls it sees to that."""
        await self.aclose()
        self._early.clear()
        self._doing_last = ""
        await self.process.start()

    @property
    def start_timeout(self) -> float | None:
        """How many seconds it has to answer at its start."""
        return self.process.deadlines.handshake

    @property
    def shown_name(self) -> str:
        """What it is called, which may be what it calls itself."""
        return self.process.known.title or self.process.known.name

    def failure(self, error: Exception, doing: str = "starting") -> Failure:
        """What keeps the agent from working, told to its user."""
        return failure_of_agent(error, doing, self.process.known, self.process.output)

    async def aclose(self) -> None:
        """End the agent and all that it started. Safe to call twice."""
        self.process.stop_watch()
        for talk in self.talks:
            await talk.kept()
        await self.process.aclose()

    async def end(self) -> None:
        """As `aclose`, for good: sessions in which nothing was said are not left in the agent's list."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FORGET_SECONDS):
                for talk in self.talks:
                    await self._forget_unused(talk)
        await self.aclose()

    async def _forget_unused(self, talk: Talk) -> None:
        if not talk.is_unused or self.state != "ready" or not self.client.agent.capabilities.delete:
            return
        with contextlib.suppress(AccordError):
            await self.client.delete_session(talk.session_id or "")

    async def open(self, talk: Talk) -> bool:
        """A new session; False when it was refused, which the talk shows."""
        servers = self._servers(talk)
        talk.is_new = True
        return await self._fill(talk, lambda: self.client.new_session(talk.cwd, servers))

    async def take_up(self, talk: Talk, session_id: str, *, replay: bool = True) -> bool:
        """A session that the agent has kept: with its history where it can tell it, else without, else a new one."""
        talk.is_new = False
        resumption = Resumption(
            talk, session_id, client=self.client, known=self.sessions, servers=self._servers(talk), fill=self._fill
        )
        if (done := await resumption.attempt(with_history=replay)) is not None:
            return done
        talk.say("this agent cannot take up a session: a new one was begun, which does not know what is above")
        return await self.open(talk)

    async def fork(self, talk: Talk, session_id: str) -> bool:
        """A new session that begins with the history of another."""
        servers = self._servers(talk)
        return await self._fill(talk, lambda: self.client.fork_session(session_id, talk.cwd, servers))

    async def open_again(self) -> None:
        """Take up every session that was open before the agent was started."""
        for talk in list(self.talks):
            if talk in self.talks:
                await self._open_again(talk)

    async def _open_again(self, talk: Talk) -> None:
        """The session that it has, or that was refused to it; its history is told if it has not been told here."""
        if talk.session_id is None:
            await self.open(talk)
        else:
            tells = talk.session is None or talk.is_behind or not self.client.agent.capabilities.resume
            await self.take_up(talk, talk.session_id, replay=tells)

    async def login(self) -> bool:
        """Log in by what the user chooses; False for none. Sessions that are closed for it are taken up again."""
        try:
            done = await self.client.login()
        finally:
            self.process.finish_login()
        if done:
            await self._take_up_closed()
        await self._restore_held()
        return done

    @property
    def sessions(self) -> KnownSessions:
        """All that are known of this agent, open or not."""
        return self.process.sessions

    async def leave(self, talk: Talk) -> None:
        """Close its session and forget it."""
        if talk in self.talks:
            self.talks.remove(talk)
        if talk.session is not None and not talk.session.is_closed:
            with contextlib.suppress(AccordError):
                await talk.session.close()
            await self._forget_unused(talk)

    def kill_terminals(self, terminal_ids: Iterable[str]) -> list[Coroutine[Any, Any, None]]:
        """What ends the commands among these that run in our workspace."""
        workspace = self.process.workspace
        known = {} if workspace is None else dict(workspace.terminals)
        found = [known[each] for each in terminal_ids if each in known]
        return [terminal.kill() for terminal in found if terminal.exit is None]

    def _servers(self, talk: Talk) -> list[McpServer]:
        """The MCP servers that the agent can be told of; the talk shows which ones it can't."""
        for warning in self.process.server_warnings:
            talk.say(warning)
        return self.process.servers_for(talk.cwd)

    async def _fill(
        self,
        talk: Talk,
        work: Callable[[], Awaitable[Session]],
        failed: Callable[[Exception], Failure] = failure_of,
        letting: type[Exception] | tuple[type[Exception], ...] = (),
    ) -> bool:
        try:
            return await self._filled(talk, work, failed, letting)
        finally:
            await self._restore_held()

    async def _filled(
        self,
        talk: Talk,
        work: Callable[[], Awaitable[Session]],
        failed: Callable[[Exception], Failure],
        letting: type[Exception] | tuple[type[Exception], ...],
    ) -> bool:
        if talk not in self.talks:
            self.talks.append(talk)
        try:
            session = await work()
        except ConnectionClosed:
            self._doing_last = "opening a session"
            return False  # told by whoever watches
        except (AccordError, ValueError, OSError) as error:
            if isinstance(error, letting):
                raise
            talk.fail(failed(error))
            return False
        finally:
            is_another_connection = self.process.finish_login()
        talk.session_id = session.id
        talk.recording = self.process.record(session)
        for change in self._early.pop(session.id, ()):
            talk.story.tell(change)
        try:
            await self._restore(talk, session)
        except ConnectionClosed:
            self._doing_last = "choosing the mode and the options"
            return False
        talk.opened(session)
        if is_another_connection:
            await self._take_up_closed()
        return True

    async def settle(self, talk: Talk) -> None:
        """Try once more to put in force what was chosen for a talk."""
        if talk.is_unsettled and talk.session is not None:
            await self._restore(talk, talk.session)

    async def _restore(self, talk: Talk, session: Session) -> None:
        try:
            await talk.settings.restore(session)
        except ConnectionClosed:
            raise
        except AccordError as error:
            talk.unsettled(not_restored(error))
        else:
            talk.settled()

    async def _restore_held(self) -> None:
        """After a login: what it changed in sessions that stayed open was chosen by nobody."""
        holds, self._holds_settings = self._holds_settings, False
        for talk in list(self.talks) if holds else ():
            if talk.session is not None and talk.is_open:
                with contextlib.suppress(ConnectionClosed):
                    await self._restore(talk, talk.session)

    async def _take_up_closed(self) -> None:
        """The sessions that a login in the terminal has closed, and those that have waited for it."""
        client = self.client
        for talk in list(self.talks):
            if client is self.client and not talk.is_open:
                await self._open_again(talk)

    def _closed(self, reason: ConnectionClosed) -> None:
        is_cut_off = any(talk.is_cut_off for talk in self.talks)
        doing = "answering" if is_cut_off else self._doing_last or "it had nothing to do"
        for talk in self.talks:
            talk.fail(self.failure(reason, doing))
            talk.closed()

    def _long_frame(self) -> None:
        talk = self._owner.current_talk()
        if talk is not None:
            talk.say(TOO_LONG)

    def _talk(self, session_id: str | None) -> Talk | None:
        return next((talk for talk in self.talks if talk.session_id == session_id and session_id is not None), None)

    def _update(self, update: SessionUpdate) -> None:
        talk = self._talk(update.session.id)
        if talk is None:
            early = self._early.setdefault(update.session.id, [])
            if len(early) < _MOST_EARLY:
                early.append(update.update)
            return
        talk.heard(update)

    def _terminal(self, event: TerminalEvent) -> None:
        talk, report = self._talk(event.terminal.session_id), event.report
        if talk is not None and talk.session is not None and report is not None:
            talk.session.take(report, 0)

    def _wrote(self, written: FileWrite) -> None:
        talk = self._talk(written.session_id)
        if talk is not None:
            talk.story.wrote(written.path, written.old_text, written.content)

    async def _permission(self, asked: PermissionRequest) -> PermissionAnswer:
        talk = self._talk(asked.session_id) or self._owner.current_talk()
        return policies.cancelled() if talk is None else await talk.asking.permission(asked)

    def _decided(self, asked: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        talk = self._talk(asked.session_id) or self._owner.current_talk()
        if by == "rule" and talk is not None:
            verdict = "allowed" if allows(asked, answer) else "rejected"
            talk.say(f"{verdict} by --permissions: {what_is_asked(asked)}")

    async def _elicitation(self, asked: ElicitationRequest) -> ElicitationAnswer:
        talk = self._talk(asked.session_id) or self._owner.current_talk()
        if talk is None:
            return ElicitationAnswer(action="cancel")
        talk.story.is_turn_empty = False
        return await talk.asking.elicitation(asked)

    async def _choose_login(self, methods: Sequence[AuthMethod]) -> str | None:
        self._holds_settings = True
        for talk in self.talks:
            talk.settings.hold()
        return await self._owner.choose_login(methods)
