"""The agent behind the screen: started, watched, started again; and the talks that go through it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Literal, Protocol

from accord import __version__
from accord.apps.console.agent_process import left_out, taken
from accord.apps.console.agent_stderr import AgentOutput
from accord.apps.console.always_choices import Keeper
from accord.apps.console.error_messages import TOO_LONG
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import Permissions, adapt, policy_of, what_is_asked, workspace_of
from accord.apps.console.screen.blocks.notices import Failure
from accord.apps.console.screen.errors import failure_of, failure_of_agent, not_restored
from accord.apps.console.screen.resumption import Resumption
from accord.apps.console.screen.session import Talk
from accord.apps.console.screen.wire_log import Traffic
from accord.apps.console.session_choice import KnownSessions
from accord.apps.console.session_records import Recording, Records
from accord.client.callbacks import SessionUpdate
from accord.client.client import Client
from accord.client.deadlines import Deadlines
from accord.client.permissions import policies
from accord.client.permissions.writes_and_commands import allows
from accord.client.session import Session
from accord.client.target import AnyTarget, Command
from accord.client.workspace.terminals import TerminalEvent
from accord.client.workspace.workspace import FileWrite, Workspace
from accord.dialects.negotiation import ProtocolVersion
from accord.errors import AccordError, ConnectionClosed, FrameRejected
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
        self.state: Literal["starting", "ready", "gone"] = "gone"
        self.traffic = Traffic()
        self.talks: list[Talk] = []
        self._target = target
        self._owner = owner
        self._known = known
        self._records = records
        self._output = AgentOutput()
        self._doing_last = ""
        self._servers = list(servers)
        self._version: ProtocolVersion = version
        self._deadlines = deadlines or Deadlines()
        self._client: Client | None = None
        self._watching: asyncio.Task[None] | None = None
        self._workspace: Workspace | None = None
        self._early: dict[str, list[Update]] = {}
        self._is_logging_in = False
        self._holds_settings = False
        self._permissions: Permissions | None = permissions
        self.choices = policies.remember(self._permission)
        self.keeper: Keeper = "built-in agent" if known.is_builtin else "screen"
        # What is revoked of the built-in agent's choices must count at once: nobody else remembers them.
        self._asks = self._permission if known.is_builtin else self.choices
        if isinstance(target, Command) and target.on_stderr is None:
            target.on_stderr = self._stderr

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    async def start(self) -> None:
        """Start the agent and shake hands; raises what went wrong. One at a time: whoever calls it sees to that."""
        await self.aclose()
        self._set("starting")
        self._early.clear()
        self._output = AgentOutput()
        self._doing_last = ""
        self._workspace = workspace_of(self._permissions, self._known, on_terminal=self._terminal, on_write=self._wrote)
        client = self._client = Client(
            self._target,
            version=self._version,
            on_permission=policy_of(self._permissions or "ask", self._asks, self._decided),
            on_elicitation=self._elicitation,
            on_update=self._update,
            on_login=self._choose_login,
            run_login=self._run_login,
            workspace=self._workspace,
            info=_INFO,
            deadlines=self._deadlines,
            on_frame=self._frame,
            on_rejected_frame=self._rejected_frame,
        )
        try:
            await client.open()
        except Exception:
            self._set("gone")
            raise
        self._known = self._known.introduced(client.agent.info)
        if adapt(self._workspace, self._known):
            await self.start()
            return
        self._watch()
        self._set("ready")

    @property
    def start_timeout(self) -> float | None:
        """How many seconds it has to answer at its start."""
        return self._deadlines.handshake

    @property
    def shown_name(self) -> str:
        """What it is called, which may be what it calls itself."""
        return self._known.title or self._known.name

    def failure(self, error: Exception, doing: str = "starting") -> Failure:
        """What keeps the agent from working, told to its user."""
        return failure_of_agent(error, doing, self._known, self._output)

    async def aclose(self) -> None:
        """End the agent and all that it started. Safe to call twice."""
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        self.state = "gone"
        for talk in self.talks:
            await talk.kept()
        # Both stay ours: whoever is cancelled in the middle of this leaves the rest to the next who calls it.
        if self._client is not None:
            await self._client.aclose()
        if self._workspace is not None:
            await self._workspace.aclose()

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
        servers = self._taken(talk)
        talk.is_new = True
        return await self._fill(talk, lambda: self.client.new_session(talk.cwd, servers))

    async def take_up(self, talk: Talk, session_id: str, *, replay: bool = True) -> bool:
        """A session that the agent has kept: with its history where it can tell it, else without, else a new one."""
        talk.is_new = False
        resumption = Resumption(
            talk, session_id, client=self.client, known=self.sessions, servers=self._taken(talk), fill=self._fill
        )
        if (done := await resumption.attempt(with_history=replay)) is not None:
            return done
        talk.say("this agent cannot take up a session: a new one was begun, which does not know what is above")
        return await self.open(talk)

    async def fork(self, talk: Talk, session_id: str) -> bool:
        """A new session that begins with the history of another."""
        servers = self._taken(talk)
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
            self._end_login()
        if done:
            await self._take_up_closed()
        await self._restore_held()
        return done

    @property
    def sessions(self) -> KnownSessions:
        """All that are known of this agent, open or not."""
        return KnownSessions(self.client, self._records, self._known.key)

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
        known = {} if self._workspace is None else dict(self._workspace.terminals)
        found = [known[each] for each in terminal_ids if each in known]
        return [terminal.kill() for terminal in found if terminal.exit is None]

    def _taken(self, talk: Talk) -> list[McpServer]:
        """The MCP servers that the agent can be told of; the talk shows which ones it can't."""
        can = self.client.agent.capabilities
        for told in left_out(self._servers, can):
            talk.say(told)
        return taken(self._servers, can, talk.cwd)

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
            is_another_connection = self._end_login()
        talk.session_id = session.id
        talk.recording = None if self._records is None else Recording(self._records, self._known.key, session)
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

    def _end_login(self) -> bool:
        """Whether the client stands on another connection than before: it was a login in the terminal."""
        was_logging_in, self._is_logging_in = self._is_logging_in, False
        is_watched = self._watching is not None and not self._watching.done()
        if not was_logging_in or is_watched or self.state != "ready":
            return False
        self._watch()
        return True

    async def _take_up_closed(self) -> None:
        """The sessions that a login in the terminal has closed, and those that have waited for it."""
        client = self.client
        for talk in list(self.talks):
            if client is self._client and not talk.is_open:
                await self._open_again(talk)

    def _watch(self) -> None:
        self._watching = asyncio.create_task(self._watch_connection(self.client), name="accord agent side")

    async def _watch_connection(self, client: Client) -> None:
        reason = await client.wait_closed()
        if self._is_logging_in or client is not self._client:
            return
        self._set("gone")
        is_cut_off = any(talk.is_cut_off for talk in self.talks)
        doing = "answering" if is_cut_off else self._doing_last or "it had nothing to do"
        for talk in self.talks:
            talk.fail(self.failure(reason, doing))
            talk.closed()

    def _set(self, state: Literal["starting", "ready", "gone"]) -> None:
        self.state = state
        self._owner.agent_changed()

    def _frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        self.traffic.frame(direction, frame)
        self._output.add_frame(direction, frame)

    def _stderr(self, piece: bytes) -> None:
        self.traffic.stderr(piece)
        self._output.add_stderr(piece)

    def _rejected_frame(self, error: FrameRejected) -> None:
        talk = self._owner.current_talk()
        if error.is_too_long and talk is not None:
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

    async def _run_login(self, command: Command) -> int:
        self._is_logging_in = True
        return await self._owner.run_login(command)
