"""A started agent: its process, the client that talks to it, its workspace, its output and its sessions.

`accord run`, the line mode, `accord agents`, `accord sessions` and the screen all talk to agents through it.

Law: inside `explaining`, whatever goes wrong between here and the agent becomes one ConsoleFailed that says what
happened, what to do, with which status to exit, and the end of the agent's stderr.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord import __version__
from accord.apps.console.conversation_records import ConversationRecorder, ConversationRecords
from accord.apps.console.error_messages import AgentOutput, error_text, explain_error
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import adapt_workspace
from accord.apps.console.sanitizer import one_line
from accord.apps.console.session_choice import KnownSessions, list_sessions, newest_first
from accord.client.agent_requests import OnElicitation
from accord.client.capabilities import server_type, takes_server
from accord.client.client import Client
from accord.client.deadlines import Deadlines
from accord.client.login import ChooseLogin, RunLogin
from accord.client.permissions.policies import Policy
from accord.client.session import OnUpdate, Session
from accord.client.target import AnyTarget, Command, target_of
from accord.client.workspace.workspace import Workspace
from accord.dialects.negotiation import ProtocolVersion
from accord.errors import (
    AccordError,
    AuthRequired,
    ConnectionClosed,
    FrameRejected,
    InternalError,
    InvalidParams,
    MethodNotFound,
    NotFound,
)
from accord.peer import FrameObserver, Limits
from accord.session.capabilities import Implementation
from accord.session.mcp_servers import McpServer, StdioServer
from accord.session.memory_estimate import TRANSCRIPT_BYTES
from accord.session.paths import is_relative
from accord.session.requests import InitializeResult, SessionSummary

NEW_INSTEAD = "a new session begins, which does not know what was said before"

AgentState: TypeAlias = Literal["starting", "ready", "gone"]
Note: TypeAlias = Callable[[str, str], None]
"""Shows the user a text, with its severity."""


class ReopenUnsupported(ConsoleFailed):
    """The agent offers to load or resume sessions, and has no method for it (-32601)."""


class AgentCallbacks(Struct, frozen=True, kw_only=True):
    """What an agent process calls. What an agent could ask for and has no callback is not offered to it.

    `new_workspace` is called at each start. `on_closed` is called when the connection ends by itself, `on_long_frame`
    when a message exceeded the limit and was skipped.
    """

    on_permission: Policy | None = None
    on_elicitation: OnElicitation | None = None
    choose_login: ChooseLogin | None = None
    run_login: RunLogin | None = None
    new_workspace: Callable[[KnownAgent], Workspace] | None = None
    on_update: OnUpdate | None = None
    on_progress: Callable[[str], None] | None = None
    on_state: Callable[[], None] = lambda: None
    on_closed: Callable[[ConnectionClosed], None] | None = None
    on_frame: FrameObserver = lambda direction, frame: None
    on_stderr: Callable[[bytes], None] = lambda data: None
    on_long_frame: Callable[[], None] = lambda: None


def agent_command(agent: KnownAgent, cwd: Path, args: Iterable[str] = ()) -> Command:
    """The command that starts an agent which is to work in `cwd`."""
    return Command(
        [*agent.command, *args],
        env=agent.env,
        # A command was typed where we are; an agent with a name belongs where the work is.
        cwd=None if agent.source == "command" else cwd,
        close_grace=1.0,
        terminate_grace=1.0,
    )


class AgentProcess:
    """One agent. `async with` starts and ends it; `start` starts it again.

    `known` is how it was named, and after its `initialize` how it names itself.
    """

    def __init__(
        self,
        agent: KnownAgent,
        target: AnyTarget,
        callbacks: AgentCallbacks | None = None,
        *,
        servers: Iterable[McpServer] = (),
        records: ConversationRecords | None = None,
        version: ProtocolVersion = "auto",
        deadlines: Deadlines | None = None,
        is_start_announced: bool = False,
        transcript_bytes: int = TRANSCRIPT_BYTES,
    ) -> None:
        self.known = agent
        self.state: AgentState = "starting"
        self.output = AgentOutput()
        self.deadlines = deadlines or Deadlines()
        self.workspace: Workspace | None = None
        self._target = target_of(target)
        self._callbacks = callbacks or AgentCallbacks()
        self._servers = list(servers)
        self._records = records
        self._version: ProtocolVersion = version
        self._is_start_announced = is_start_announced
        self._transcript_bytes = transcript_bytes
        self._client: Client | None = None
        self._watch: asyncio.Task[None] | None = None
        self._is_logging_in = False

    @property
    def client(self) -> Client:
        """The one of the last start."""
        assert self._client is not None
        return self._client

    @property
    def agent(self) -> InitializeResult:
        """What the agent said of itself in its `initialize`."""
        return self.client.agent

    @property
    def sessions(self) -> KnownSessions:
        """The sessions of this agent, its own and those recorded here."""
        return KnownSessions(self.client, self._records, self.known.key)

    def record(self, session: Session) -> ConversationRecorder | None:
        """What keeps a record of the session here; None if conversations are not kept."""
        return None if self._records is None else ConversationRecorder(self._records, self.known.key, session)

    async def __aenter__(self) -> Self:
        self.known.check()
        with self.explaining("starting"):
            await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def start(self) -> None:
        """Start the agent and initialize the connection; an agent that runs is ended first. One call at a time.

        An agent that is recognised only by its `initialize`, and has to be offered more than it was, is started twice.
        """
        await self.aclose()
        self._set_state("starting")
        self.output = AgentOutput()
        callbacks = self._callbacks
        self.workspace = None if callbacks.new_workspace is None else callbacks.new_workspace(self.known)
        client = self._client = self._new_client()
        progress = StartProgress(
            self.known.name, self.deadlines.handshake, callbacks.on_progress, is_announced=self._is_start_announced
        )
        try:
            with progress:
                await client.open()
        except Exception:
            self._set_state("gone")
            raise
        self.known = self.known.introduced(client.agent.info)
        if self.workspace is not None and adapt_workspace(self.workspace, self.known):
            await self.start()
            return
        self._watch_connection()
        self._set_state("ready")

    def _new_client(self) -> Client:
        callbacks = self._callbacks
        return Client(
            self._target,
            version=self._version,
            stderr=self._stderr,
            on_permission=callbacks.on_permission,
            on_elicitation=callbacks.on_elicitation,
            on_login=callbacks.choose_login,
            run_login=None if callbacks.run_login is None else self._run_login,
            on_update=callbacks.on_update,
            workspace=self.workspace,
            info=Implementation(name="accord", version=__version__, title="accord"),
            deadlines=self.deadlines,
            limits=Limits(close_grace_seconds=1.0),
            transcript_bytes=self._transcript_bytes,
            on_frame=self._frame,
            on_rejected_frame=self._rejected_frame,
        )

    async def aclose(self) -> None:
        """End the agent and all that it started. Safe to call twice; a call that was cancelled is completed by the next."""
        self.stop_watch()
        if self._client is not None:
            await self._client.aclose()
        if self.workspace is not None:
            await self.workspace.aclose()

    def stop_watch(self) -> None:
        """What ends the agent from now on is ourselves: `on_closed` is not called for it."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self.state = "gone"

    async def new_session(self, cwd: Path) -> Session:
        return await self.client.new_session(cwd, self.servers_for(cwd))

    async def open_session(
        self, session_id: str | None, cwd: Path, note: Note | None = None, *, with_history: bool = False
    ) -> Session:
        """The session of that id, or a new one; also a new one, of which `note` is told, if none can be reopened."""
        if session_id is not None:
            try:
                return await self.reopen_session(session_id, cwd, with_history=with_history)
            except ReopenUnsupported as error:
                if note is not None:
                    note(f"{error.reason}: {NEW_INSTEAD}", "warning")
        with self.explaining("opening a session"):
            return await self.new_session(cwd)

    async def reopen_session(
        self, session_id: str, cwd: Path, *, with_history: bool = False, claim: str | None = None
    ) -> Session:
        """A stored session; resumed if the agent can, loaded otherwise, or if the history is wanted.

        If the agent lacks the method, although it offers it, the other one is tried; ReopenUnsupported without one.
        `claim` is for agents made with accord: `take_over` takes it away from another process, `none` only reads it.
        """
        can = self.agent.capabilities
        advice = "Leave --session and --continue out" if claim is None else ""
        if not can.load and not can.resume:
            raise ConsoleFailed(f"the agent {self.known.name!r} can't take up a session again", advice)
        meta = None if claim is None else {"accord/claim": claim}
        offers = [(can.load, self.client.load_session), (can.resume, self.client.resume_session)]
        for is_offered, reopen in offers if with_history else reversed(offers):
            with self.explaining("taking up the session"), suppress(MethodNotFound):
                if not is_offered:
                    continue
                try:
                    return await reopen(session_id, cwd, self.servers_for(cwd), meta=meta)
                except (NotFound, InvalidParams, InternalError) as error:
                    raise ConsoleFailed(
                        f"the agent {self.known.name!r} can't take up the session {session_id!r}: {error_text(error)} "
                        f"(error {error.code})",
                        "`accord sessions` lists those that it has kept",
                    ) from error
        raise ReopenUnsupported(
            f"the agent {self.known.name!r} can't take up a session, although it offers that (error -32601)",
            advice,
        )

    async def list_sessions(self, cwd: Path | None) -> list[SessionSummary]:
        """Those that the agent has kept, the newest first, a bounded number; MethodNotFound if it can't list them."""
        with self.explaining("listing the sessions", but=MethodNotFound):
            return newest_first(await list_sessions(self.client, cwd))

    async def log_in(self, refused: AuthRequired, session: Session) -> Session:
        """Log in after a prompt was refused, and return the session to go on with; raises `refused` without a login.

        It is another session if a terminal login has closed this one and the agent can't reopen it.
        """
        if not await self.client.login():
            raise refused
        if not session.is_closed:
            return session
        can = self.agent.capabilities
        return await self.open_session(session.id if can.load or can.resume else None, Path(session.cwd))

    async def _run_login(self, command: Command) -> int:
        assert self._callbacks.run_login is not None
        self._is_logging_in = True
        return await self._callbacks.run_login(command)

    def finish_login(self) -> bool:
        """To be called after whatever may have logged in; whether a terminal login has replaced the connection."""
        was_logging_in, self._is_logging_in = self._is_logging_in, False
        is_watched = self._watch is not None and not self._watch.done()
        if not was_logging_in or is_watched or self.state != "ready":
            return False
        self._watch_connection()
        return True

    def servers_for(self, cwd: str | Path) -> list[McpServer]:
        """The MCP servers that the agent can connect to. A relative path of a command is one in `cwd`."""
        can = self.agent.capabilities
        return [_resolve_command(server, cwd) for server in self._servers if takes_server(server, can)]

    @property
    def server_names(self) -> list[str]:
        """The names of the MCP servers that the agent can connect to."""
        return [_name(server) for server in self._servers if takes_server(server, self.agent.capabilities)]

    @property
    def server_warnings(self) -> list[str]:
        """A sentence for each MCP server that the agent can't connect to."""
        return [
            f"MCP server {_name(server)!r} is left out: the agent takes none of type {server_type(server)}"
            for server in self._servers
            if not takes_server(server, self.agent.capabilities)
        ]

    @contextmanager
    def explaining(self, doing: str, but: type[AccordError] | None = None) -> Generator[None]:
        """Whatever is raised inside becomes a ConsoleFailed, except for `but`."""
        try:
            yield
        except ConsoleFailed:
            raise
        except (AccordError, OSError, ValueError) as error:
            if but is not None and isinstance(error, but):
                raise
            raise self.explain(error, doing) from error

    def explain(self, error: Exception, doing: str) -> ConsoleFailed:
        """What the error means for the user; `doing` is what was being done."""
        try:
            methods = list(self.agent.auth_methods)
        except (AssertionError, AttributeError, RuntimeError):  # before its `initialize`
            methods = []
        return explain_error(error, doing, self.known, self.output, methods)

    def _watch_connection(self) -> None:
        if self._callbacks.on_closed is not None:
            self._watch = asyncio.create_task(self._await_end(self.client), name="accord agent watch")

    async def _await_end(self, client: Client) -> None:
        reason = await client.wait_closed()
        if self._is_logging_in or client is not self._client:
            return
        self._set_state("gone")
        if self._callbacks.on_closed is not None:
            self._callbacks.on_closed(reason)

    def _set_state(self, state: AgentState) -> None:
        self.state = state
        self._callbacks.on_state()

    def _frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        self.output.add_frame(direction, frame)
        self._callbacks.on_frame(direction, frame)

    def _rejected_frame(self, error: FrameRejected) -> None:
        if error.is_too_long:
            self._callbacks.on_long_frame()

    def _stderr(self, data: bytes) -> None:
        self.output.add_stderr(data)
        self._callbacks.on_stderr(data)


def _resolve_command(server: McpServer, cwd: str | Path) -> McpServer:
    if isinstance(server, StdioServer) and is_relative(server.command):
        return replace(server, command=str(Path(cwd).absolute() / server.command))
    return server


def _name(server: McpServer) -> str:
    return one_line(getattr(server, "name", "?"), 80)


_FIRST_SECONDS = 1.5
_NEXT_SECONDS = 10.0


class StartProgress:
    """Reports a slow start, so that it does not look like a hang: once after a moment, and then every ten seconds.

    `is_announced` says that the user was already told of the start itself.
    """

    def __init__(
        self, name: str, limit: float | None, report: Callable[[str], None] | None, *, is_announced: bool = False
    ) -> None:
        self._name = name
        self._limit = limit
        self._report = report
        self._is_announced = is_announced
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        if self._report is not None:
            self._began = asyncio.get_running_loop().time()
            self._wake_at(_NEXT_SECONDS if self._is_announced else _FIRST_SECONDS)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _wake_at(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(self._began + seconds, self._wake, seconds)

    def _wake(self, seconds: float) -> None:
        assert self._report is not None
        if seconds < _NEXT_SECONDS:
            self._report(f"starting {self._name!r}…")
            self._wake_at(_NEXT_SECONDS)
            return
        until = "" if self._limit is None else f", of {self._limit:g} s that --start-timeout gives it"
        self._report(f"starting {self._name!r}: no answer yet after {seconds:g} s{until}")
        self._wake_at(seconds + _NEXT_SECONDS)
