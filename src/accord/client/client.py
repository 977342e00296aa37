"""Talk to an agent: connect, open sessions, prompt."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args

import msgspec

from accord.client.agent_requests import AgentRequests, OnElicitation, OnElicitationComplete, offered_capabilities
from accord.client.callbacks import check_callback
from accord.client.capabilities import absolute_path, check_directories, check_directory, check_offered, check_servers
from accord.client.connection import ClientConnection
from accord.client.deadlines import Deadlines
from accord.client.dispatch import ExtensionMethods, Handler, MessageDispatcher
from accord.client.login import (
    ChooseLogin,
    RunLogin,
    check_variables,
    chosen_login,
    login_command,
    login_failed,
    method_of,
)
from accord.client.permissions.policies import Policy
from accord.client.session import OnUpdate, Session
from accord.client.session_registry import SessionRegistry
from accord.client.target import AnyTarget, Command, Stderr, check_stderr, target_of
from accord.client.workspace.workspace import Workspace, requests_of
from accord.dialects.negotiation import ProtocolVersion
from accord.errors import (
    AuthRequired,
    ConnectionClosed,
    FrameRejected,
    InternalError,
    MethodNotFound,
    NotFound,
    RequestFailed,
)
from accord.local.threads import in_thread
from accord.peer import FrameObserver, Limits, Peer
from accord.peer.event_loop import is_strict
from accord.peer.required_await import refuse_syntax, requires_await
from accord.session.capabilities import AuthMethod, Implementation, TerminalLogin, VariableLogin
from accord.session.mcp_servers import McpServer
from accord.session.memory_estimate import TRANSCRIPT_BYTES
from accord.session.requests import (
    Authenticate,
    DeleteSession,
    ForkSession,
    InitializeResult,
    ListSessions,
    LoadSession,
    Logout,
    NewSession,
    ResumeSession,
    SessionPage,
    SessionSummary,
)
from accord.session.type_checks import check_types
from accord.session.validation import check_extension

T = TypeVar("T")
Path = str | os.PathLike[str]
Offer = Literal["load", "resume", "fork", "list", "delete", "logout"]

INFO = Implementation(name="accord", version="0")
_FIRST_RETRY_SECONDS = 0.05


class Client:
    """A connection with one agent, as long as its `async with` block.

    What the client can do is derived from what it is given. Without `on_permission` every question is answered with
    no; without a `workspace`, which may be given as its directories, there are no files and terminals for the agent.
    `on_update` gets what changes while no prompt runs in that session; `on_elicitation_complete` a question by URL
    whose page the user has dealt with. Each session's transcript keeps `transcript_bytes` of content. `meta` goes into
    the `_meta` of the capabilities, for what is beyond the protocol. The stderr of a command is written to
    `sys.stderr`, unless `stderr` is `"capture"` or a function that gets it.
    """

    def __init__(
        self,
        target: AnyTarget,
        *,
        version: ProtocolVersion = "auto",
        stderr: Stderr = "inherit",
        on_permission: Policy | None = None,
        on_elicitation: OnElicitation | None = None,
        on_elicitation_complete: OnElicitationComplete | None = None,
        on_update: OnUpdate | None = None,
        on_login: ChooseLogin | None = None,
        run_login: RunLogin | None = None,
        workspace: Workspace | Path | Iterable[Path] | None = None,
        info: Implementation = INFO,
        meta: Mapping[str, Any] | None = None,
        strict: bool | None = None,
        deadlines: Deadlines | None = None,
        limits: Limits | None = None,
        transcript_bytes: int = TRANSCRIPT_BYTES,
        on_frame: FrameObserver | None = None,
        on_rejected_frame: Callable[[FrameRejected], None] | None = None,
    ) -> None:
        self._target = target_of(target)
        check_stderr(stderr)
        if version not in get_args(ProtocolVersion):
            raise ValueError(f"unknown protocol version {version!r}: expected 'auto', 1, 2 or '2-draft'")
        check_callback("on_permission", on_permission, "the request", ", such as permissions.allow_all")
        check_callback("on_elicitation", on_elicitation, "the request")
        check_callback("on_update", on_update, "the update")
        self._version: ProtocolVersion = version
        self._stderr: Stderr = stderr
        self._on_login = on_login
        # Only a command can be started once more, and only where somebody can talk to it.
        self._run_login = run_login if isinstance(self._target, Command) else None
        self._owns_workspace = not isinstance(workspace, Workspace)
        self._workspace = workspace if workspace is None or isinstance(workspace, Workspace) else Workspace(workspace)
        requests = None if self._workspace is None else requests_of(self._workspace)
        self._capabilities = offered_capabilities(
            None if requests is None else requests.capabilities,
            elicitation=on_elicitation is not None,
            terminal_login=self._run_login is not None,
            meta=meta,
        )
        self._agent_requests = AgentRequests(on_permission, on_elicitation, requests, on_elicitation_complete)
        self._extensions = ExtensionMethods()
        self._info = info
        for word in (info, self._capabilities):
            check_types(word)
        self._strict = is_strict() if strict is None else strict
        self._deadlines = deadlines or Deadlines()
        self._on_update = on_update
        self._limits = limits
        self._transcript_bytes = transcript_bytes
        self._on_frame = on_frame
        self._on_rejected_frame = on_rejected_frame
        self._registry: SessionRegistry | None = None

    async def open(self) -> None:
        """Connect with the agent and shake hands; as `async with` does."""
        if self._registry is not None:
            raise RuntimeError("this client was opened before: make another one")
        await self._connect()

    async def aclose(self) -> None:
        """End the connection, and the agent's process if we started it. Safe to call twice, and from any task."""
        if self._registry is not None:
            await self._registry.connection.aclose()
        if self._workspace is not None and self._owns_workspace:
            await self._workspace.aclose()

    if not TYPE_CHECKING:  # a type checker reports it without help
        __enter__ = __exit__ = refuse_syntax(
            "a client is open as long as a block: write `async with Client(...) as client:`"
        )

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    @requires_await("client.wait_closed")
    async def wait_closed(self) -> ConnectionClosed:
        """Wait until the connection has ended, by either side; tells why."""
        return await self.peer.wait_closed()

    def kill_agent(self) -> None:
        """Close the connection and end the agent's process, without waiting for either."""
        self._connection.kill()

    @property
    def peer(self) -> Peer:
        """The JSON-RPC connection itself; another one after a terminal login."""
        return self._connection.peer

    @property
    def agent(self) -> InitializeResult:
        """What the agent says about itself: `info`, `capabilities`, `auth_methods`, and the `version` it speaks.

        A capability is switched off when the agent answers its method with "method not found".
        """
        return self._connection.agent

    @property
    def dialect(self) -> str:
        """The form of the protocol that is spoken: `v1`, `v2` or `v2 draft`."""
        return self._connection.dialect.name

    @property
    def sessions(self) -> list[Session]:
        """The sessions that are open on this connection."""
        return self._sessions.handles

    @property
    def _sessions(self) -> SessionRegistry:
        if self._registry is None:
            raise RuntimeError("the client is not open: use `async with Client(...) as client`")
        return self._registry

    @property
    def _connection(self) -> ClientConnection:
        return self._sessions.connection

    @requires_await("client.new_session")
    async def new_session(
        self, cwd: Path, servers: Iterable[McpServer] = (), additional_directories: Iterable[Path] = ()
    ) -> Session:
        """Begin a conversation. If the agent wants a login first, and `on_login` chooses one, it is done.

        InvalidParams, before an agent on this machine is asked, when `cwd` is no directory.
        """
        place = self._place(cwd, servers, additional_directories)
        if getattr(self._target, "is_on_this_machine", False):
            await in_thread(partial(check_directory, place["cwd"]))
        return await self._logged_in(lambda: self._sessions.open(NewSession(**place)))

    @requires_await("client.load_session")
    async def load_session(
        self,
        session_id: str,
        cwd: Path,
        servers: Iterable[McpServer] = (),
        additional_directories: Iterable[Path] = (),
        *,
        patience: float = 1.5,
        meta: Mapping[str, Any] | None = None,
    ) -> Session:
        """Take up a session with all its history, which is in the transcript when this returns.

        Agents that cannot find what they have only just stored are asked again for `patience` seconds (FN-96). Those
        of v1 that have told no word of their own when they answer are waited for until they say no more.
        """
        check_offered(self.agent.capabilities.load, "session/load")
        place = self._place(cwd, servers, additional_directories)
        given = None if meta is None else dict(meta)

        async def load() -> Session:
            return await self._sessions.resume(LoadSession(session_id=session_id, meta=given, **place))

        return await self._served("load", lambda: self._logged_in(lambda: _insisting(load, patience)))

    @requires_await("client.resume_session")
    async def resume_session(
        self,
        session_id: str,
        cwd: Path,
        servers: Iterable[McpServer] = (),
        additional_directories: Iterable[Path] = (),
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> Session:
        """Take up a session without its history. What an agent tells of it all the same is in the transcript."""
        check_offered(self.agent.capabilities.resume, "session/resume")
        place = self._place(cwd, servers, additional_directories)
        request = ResumeSession(session_id=session_id, meta=None if meta is None else dict(meta), **place)
        return await self._served("resume", lambda: self._logged_in(lambda: self._sessions.resume(request)))

    @requires_await("client.fork_session")
    async def fork_session(
        self, session_id: str, cwd: Path, servers: Iterable[McpServer] = (), additional_directories: Iterable[Path] = ()
    ) -> Session:
        """Begin a session with the history of another one. Unstable."""
        check_offered(self.agent.capabilities.fork, "session/fork")
        request = ForkSession(session_id=session_id, **self._place(cwd, servers, additional_directories))
        return await self._served("fork", lambda: self._logged_in(lambda: self._sessions.open(request)))

    async def list_sessions(self, cwd: Path | None = None) -> AsyncIterator[SessionSummary]:
        """The sessions that the agent has kept, of one directory or of all, page after page."""
        check_offered(self.agent.capabilities.list, "session/list")
        directory, cursor = None if cwd is None else absolute_path(cwd), None
        seen: set[str | None] = {None}
        while True:
            page = await self._page(ListSessions(cwd=directory, cursor=cursor))
            for summary in page.sessions:
                yield summary
            cursor = page.next_cursor
            if cursor in seen:  # the last page, or an agent that leads us in a circle
                return
            seen.add(cursor)

    async def _page(self, request: ListSessions) -> SessionPage:
        return await self._served("list", lambda: self._logged_in(lambda: self._connection.request(request)))

    async def delete_session(self, session_id: str) -> None:
        """Take a session off the agent's list; one that is not there counts as taken off."""
        check_offered(self.agent.capabilities.delete, "session/delete")
        with suppress(NotFound):
            await self._served("delete", lambda: self._connection.request(DeleteSession(session_id=session_id)))

    async def authenticate(self, method_id: str) -> None:
        """Log in by a method that the agent carries out itself."""
        method = method_of(self.agent.auth_methods, method_id)
        if isinstance(method, TerminalLogin):
            raise ValueError(  # noqa: TRY004  # the id is wrong, not its type
                f"{method_id!r} is a terminal login, which the agent cannot carry out: use `login`"
            )
        if isinstance(method, VariableLogin) and isinstance(self._target, Command):
            check_variables(method, self._target)
        await self._connection.request(Authenticate(method_id=method_id), self._deadlines.login)

    async def login(self, method_id: str | None = None) -> bool:
        """Log in by the method given, or by the one that `on_login` chooses; False if none was chosen.

        After a terminal login the client connects again: sessions that were open are closed.
        """
        methods = self.agent.auth_methods
        return await self._login(method_id or await chosen_login(methods, self._on_login), methods)

    async def _login(self, chosen: str | None, methods: Sequence[AuthMethod]) -> bool:
        if chosen is None:
            return False
        method = method_of(methods, chosen)
        if isinstance(method, TerminalLogin):
            await self._login_in_terminal(method)
        else:
            await self.authenticate(chosen)
        return True

    async def logout(self) -> None:
        """Have the agent drop its credentials."""
        check_offered(self.agent.capabilities.logout, "logout")
        await self._served("logout", lambda: self._connection.request(Logout()))

    @requires_await("client.request")
    async def request(self, method: str, params: Any = None, *, deadline: float | None = None) -> Any:
        """Call an extension method of the agent, whose name begins with an underscore; the result, decoded."""
        seconds = self._deadlines.request if deadline is None else deadline
        result = await self.peer.request(check_extension(method), {} if params is None else params, deadline=seconds)
        return msgspec.json.decode(result)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification of an extension."""
        await self.peer.notify(check_extension(method), {} if params is None else params)

    def forget_all_writes(self) -> None:
        """Ask again before a file is written, in sessions in which the user had allowed all writes."""
        self._agent_requests.forget_all_writes()

    def method(self, name: str) -> Callable[[Handler], Handler]:
        """Decorates what answers an extension method that the agent calls. It gets the params, decoded."""
        return self._extensions.method(name)

    def notification(self, name: str) -> Callable[[Handler], Handler]:
        """Decorates what hears a notification of an extension. It gets the params, decoded."""
        return self._extensions.notification(name)

    async def _connect(self) -> None:
        target = self._target
        connection = ClientConnection(
            target.connect(self._stderr) if isinstance(target, Command) else target.connect(),
            agent_requests=self._agent_requests,
            deadlines=self._deadlines,
            limits=self._limits,
            on_frame=self._on_frame,
            on_rejected_frame=self._on_rejected_frame,
        )
        registry = self._registry = SessionRegistry(
            connection, workspace=self._workspace, on_update=self._on_update, transcript_bytes=self._transcript_bytes
        )
        connection.receive = MessageDispatcher(connection, registry, self._extensions)
        await connection.open(self._version, self._info, self._capabilities, strict=self._strict)

    async def _served(self, offer: Offer, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that the agent offers; what it then says not to have (-32601) is offered no more."""
        capabilities = self.agent.capabilities
        try:
            return await work()
        except MethodNotFound as refused:
            if refused.was_received:
                setattr(capabilities, offer, False)
            raise

    async def _logged_in(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something, and once more after a login if that is what it wants (AUTH-09)."""
        try:
            return await work()
        except AuthRequired as refused:
            methods = self._connection.add_logins(refused)
            if not await self._login(await chosen_login(methods, self._on_login), methods):
                raise
        return await work()

    async def _login_in_terminal(self, method: TerminalLogin) -> None:
        if self._run_login is None or not isinstance(self._target, Command):
            raise ValueError(f"{method.id!r} is a terminal login: it needs a command as target, and a `run_login`")
        code = await self._run_login(login_command(self._target, method))
        if code != 0:
            raise login_failed(method, code)
        await self._connection.aclose()
        await self._connect()

    def _place(self, cwd: Path, servers: Iterable[McpServer], additional_directories: Iterable[Path]) -> dict[str, Any]:
        can = self.agent.capabilities
        known: Sequence[McpServer] = list(servers)
        directories = [absolute_path(directory) for directory in additional_directories]
        check_servers(known, can)
        check_directories(directories, can)
        return {"cwd": absolute_path(cwd), "servers": known, "additional_directories": directories}


async def _insisting(work: Callable[[], Awaitable[T]], patience: float) -> T:
    """Do something that may fail for a while."""
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + patience, _FIRST_RETRY_SECONDS
    while True:
        try:
            return await work()
        except RequestFailed as error:
            passes = isinstance(error, (NotFound, InternalError)) or type(error) is RequestFailed
            if not passes or loop.time() + pause > end:
                raise
        await asyncio.sleep(pause)
        pause *= 2
