"""The agent behind the screen: started, watched, started again; and the talks that go through it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Literal, Protocol

from accord import __version__
from accord.apps.console.screen.failing import failure_of
from accord.apps.console.screen.talk import Talk
from accord.apps.console.screen.traffic import Traffic
from accord.client import permissions
from accord.client.checks import check_servers
from accord.client.client import Client
from accord.client.commands import AnyTarget, Command
from accord.client.deadlines import Deadlines
from accord.client.delivering import Update
from accord.client.session import Session
from accord.client.terminal import TerminalEvent
from accord.client.workspace import Workspace
from accord.dialects.negotiation import Offered
from accord.errors import AccordError, ConnectionClosed, InvalidParams
from accord.session.capabilities import AuthMethod, Implementation
from accord.session.requests import Elicit, ElicitationAnswer, PermissionAnswer, RequestPermission, SessionSummary
from accord.session.servers import McpServer
from accord.session.updates import Change

__all__ = ["AgentSide", "Owner"]

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
        servers: Iterable[McpServer] = (),
        version: Offered = "auto",
        deadlines: Deadlines | None = None,
    ) -> None:
        self.state: Literal["starting", "ready", "gone"] = "gone"
        self.traffic = Traffic()
        self.talks: list[Talk] = []
        self._target = target
        self._owner = owner
        self._servers = list(servers)
        self._version: Offered = version
        self._deadlines = deadlines
        self._client: Client | None = None
        self._watching: asyncio.Task[None] | None = None
        self._workspace: Workspace | None = None
        self._early: dict[str, list[Change]] = {}
        self._loading: dict[str, Session] = {}
        self._is_logging_in = False
        self.choices = permissions.remember(self._permission)
        if isinstance(target, Command) and target.on_stderr is None:
            target.on_stderr = self.traffic.stderr

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    async def start(self) -> None:
        """Start the agent and shake hands; raises what went wrong."""
        await self.aclose()
        self._set("starting")
        self._early.clear()
        self._workspace = Workspace(on_terminal=self._terminal)
        client = self._client = Client(
            self._target,
            version=self._version,
            on_permission=self.choices,
            on_elicitation=self._elicitation,
            on_update=self._update,
            on_login=self._owner.choose_login,
            run_login=self._run_login,
            workspace=self._workspace,
            info=_INFO,
            deadlines=self._deadlines,
            on_frame=self.traffic.frame,
        )
        try:
            await client.open()
        except BaseException:
            self._client = None
            self._set("gone")
            raise
        self._watch()
        self._set("ready")

    async def aclose(self) -> None:
        """End the agent and all that it started. Safe to call twice."""
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        client, workspace = self._client, self._workspace
        self._client = self._workspace = None
        self.state = "gone"
        if client is not None:
            await client.aclose()
        if workspace is not None:
            await workspace.aclose()

    async def open(self, talk: Talk) -> bool:
        """A new session; False when it was refused, which the talk shows."""
        servers = self._taken(talk)
        return await self._fill(talk, lambda: self.client.new_session(talk.cwd, servers))

    async def take_up(self, talk: Talk, session_id: str, *, replay: bool = True) -> bool:
        """A session that the agent has kept: with its history where it can tell it, else without, else a new one."""
        can, servers = self.client.agent.capabilities, self._taken(talk)
        if replay and can.load:
            talk.story.clear()
            talk.session_id = session_id
            return await self._fill(talk, lambda: self.client.load_session(session_id, talk.cwd, servers))
        if can.resume:
            talk.session_id = session_id
            return await self._fill(talk, lambda: self.client.resume_session(session_id, talk.cwd, servers))
        talk.say("this agent cannot take up a session: a new one was begun, which does not know what is above")
        return await self.open(talk)

    async def fork(self, talk: Talk, session_id: str) -> bool:
        """A new session that begins with the history of another."""
        servers = self._taken(talk)
        return await self._fill(talk, lambda: self.client.fork_session(session_id, talk.cwd, servers))

    async def restart(self, *, replay: bool = False) -> None:
        """Start the agent again and take up every session that was open."""
        await self.start()
        for talk in list(self.talks):
            if talk.session_id is None:
                await self.open(talk)
            else:
                await self.take_up(talk, talk.session_id, replay=replay or not self.client.agent.capabilities.resume)

    async def sessions(self, most: int = 1000) -> list[SessionSummary]:
        """Those that the agent has kept, of all directories, as many as anybody would look through."""
        found: list[SessionSummary] = []
        async for summary in self.client.list_sessions():
            found.append(summary)
            if len(found) >= most:
                break
        return found

    async def leave(self, talk: Talk) -> None:
        """Close its session and forget it."""
        if talk in self.talks:
            self.talks.remove(talk)
        if talk.session is not None and not talk.session.is_closed:
            with contextlib.suppress(AccordError):
                await talk.session.close()

    def kill_terminals(self, terminal_ids: Iterable[str]) -> list[Coroutine[Any, Any, None]]:
        """What ends the commands among these that run in our workspace."""
        known = {} if self._workspace is None else dict(self._workspace.terminals)
        found = [known[each] for each in terminal_ids if each in known]
        return [terminal.kill() for terminal in found if terminal.exit is None]

    def _taken(self, talk: Talk) -> list[McpServer]:
        """The MCP servers that the agent can be told of; the talk shows which ones it can't."""
        taken: list[McpServer] = []
        for server in self._servers:
            try:
                check_servers([server], self.client.agent.capabilities)
            except InvalidParams:
                talk.say(
                    f"the MCP server {getattr(server, 'name', '?')!r} is left out: the agent takes none of its kind"
                )
            else:
                taken.append(server)
        return taken

    async def _fill(self, talk: Talk, work: Callable[[], Awaitable[Session]]) -> bool:
        if talk not in self.talks:
            self.talks.append(talk)
        try:
            session = await work()
        except ConnectionClosed:
            return False  # told by whoever watches
        except (AccordError, ValueError, OSError) as error:
            talk.fail(failure_of(error))
            return False
        finally:
            self._is_logging_in = False
            if self._client is not None and (self._watching is None or self._watching.done()):
                self._watch()
        talk.session_id = session.id
        for change in self._early.pop(session.id, ()):
            talk.story.tell(change)
        talk.opened(session)
        return True

    def _watch(self) -> None:
        self._watching = asyncio.create_task(self._watch_connection(self.client), name="accord agent side")

    async def _watch_connection(self, client: Client) -> None:
        reason = await client.wait_closed()
        if self._is_logging_in or client is not self._client:
            return
        self._set("gone")
        for talk in self.talks:
            talk.fail(failure_of(reason))
            talk.closed()

    def _set(self, state: Literal["starting", "ready", "gone"]) -> None:
        self.state = state
        self._owner.agent_changed()

    def _talk(self, session_id: str | None) -> Talk | None:
        return next((talk for talk in self.talks if talk.session_id == session_id and session_id is not None), None)

    def _update(self, update: Update) -> None:
        talk = self._talk(update.session.id)
        if talk is None:
            self._early.setdefault(update.session.id, []).append(update.change)
            return
        if update.replayed and self._loading.get(update.session.id) is not update.session:
            if update.session.id in self._loading:
                talk.story.clear()  # FN-96: it is told from the beginning once more
            self._loading[update.session.id] = update.session
        talk.story.tell(update.change)

    def _terminal(self, event: TerminalEvent) -> None:
        talk, report = self._talk(event.terminal.session_id), event.report
        if talk is not None and talk.session is not None and report is not None:
            talk.session.take(report, 0)

    async def _permission(self, asked: RequestPermission) -> PermissionAnswer:
        talk = self._talk(asked.session_id) or self._owner.current_talk()
        return permissions.cancelled() if talk is None else await talk.asking.permission(asked)

    async def _elicitation(self, asked: Elicit) -> ElicitationAnswer:
        talk = self._talk(asked.session_id) or self._owner.current_talk()
        return ElicitationAnswer(action="cancel") if talk is None else await talk.asking.elicitation(asked)

    async def _run_login(self, command: Command) -> int:
        self._is_logging_in = True
        return await self._owner.run_login(command)
