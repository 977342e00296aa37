"""A started agent: connected, logged in, with a session open. The screen and `accord run` are built on it.

Law: whatever goes wrong between here and the agent becomes one ConsoleFailed that says what happened, what to do, with
which status to end, and the agent's last words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from accord import __version__
from accord.apps.console.agent_stderr import AgentOutput
from accord.apps.console.error_messages import explained, words_of
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import adapt
from accord.apps.console.sanitizer import one_line, visible
from accord.apps.console.session_choice import listed, newest
from accord.apps.console.start_watch import StartWatch
from accord.client.agent_requests import OnElicitation
from accord.client.callbacks import OnUpdate
from accord.client.capabilities import server_type, takes_server
from accord.client.client import Client
from accord.client.deadlines import Deadlines
from accord.client.login import ChooseLogin, RunLogin
from accord.client.permissions.policies import Policy
from accord.client.session import Session
from accord.client.target import Command
from accord.client.workspace.workspace import Workspace
from accord.errors import (
    AccordError,
    AuthRequired,
    FrameRejected,
    InternalError,
    InvalidParams,
    MethodNotFound,
    NotFound,
)
from accord.peer import Limits
from accord.session.capabilities import AgentCapabilities, Implementation
from accord.session.mcp_servers import McpServer, StdioServer
from accord.session.memory_estimate import TRANSCRIPT_BYTES
from accord.session.requests import InitializeResult, SessionSummary
from accord.session.validation import is_relative

__all__ = ["NEW_INSTEAD", "Answers", "Link", "NotTakenUp", "left_out", "named", "taken", "told_on_stderr"]

NEW_INSTEAD = "a new session begins, which does not know what was said before"


class NotTakenUp(ConsoleFailed):
    """The agent offers to take up sessions, and has no method for it (-32601)."""


def told_on_stderr(text: str) -> None:
    """What goes on, for commands that hold no conversation."""
    sys.stderr.write(f"{visible(text)}\n")


class Answers(Struct, frozen=True, kw_only=True):
    """Who answers what the agent asks; left out, it is not offered."""

    permission: Policy | None = None
    elicitation: OnElicitation | None = None
    choose_login: ChooseLogin | None = None
    run_login: RunLogin | None = None
    workspace: Workspace | None = None
    update: OnUpdate | None = None


class Link:
    """One agent and the connection with it, as long as its `async with` block; its process ends with it."""

    def __init__(
        self,
        agent: KnownAgent,
        cwd: Path,
        answers: Answers,
        *,
        start_timeout: float | None = None,
        on_waiting: Callable[[str], None] | None = None,
        is_start_told: bool = False,
        on_received: Callable[[bytes], None] | None = None,
        on_too_long: Callable[[], None] | None = None,
        extra: list[str] | None = None,
        transcript_bytes: int = TRANSCRIPT_BYTES,
    ) -> None:
        self.known = agent
        self.cwd = cwd
        self.output = AgentOutput()
        self._on_received = on_received
        self._on_too_long = on_too_long
        self.deadlines = Deadlines(handshake=start_timeout or Deadlines().handshake, cancel_grace=10.0)
        self._on_waiting = on_waiting
        self._is_start_told = is_start_told
        self._answers = answers
        self._command = Command(
            [*agent.command, *(extra or [])],
            env=agent.env,
            # A command was typed where we are; an agent with a name belongs where the work is.
            cwd=None if agent.source == "command" else cwd,
            on_stderr=self.output.add_stderr,
            close_grace=1.0,
            terminate_grace=1.0,
        )
        self._transcript_bytes = transcript_bytes
        self.client = self._new_client()

    def _new_client(self) -> Client:
        answers = self._answers
        return Client(
            self._command,
            on_permission=answers.permission,
            on_elicitation=answers.elicitation,
            on_login=answers.choose_login,
            run_login=answers.run_login,
            on_update=answers.update,
            workspace=answers.workspace,
            info=Implementation(name="accord", version=__version__, title="accord"),
            deadlines=self.deadlines,
            limits=Limits(close_grace_seconds=1.0),
            transcript_bytes=self._transcript_bytes,
            on_frame=self._frame,
            on_rejected_frame=self._rejected_frame,
        )

    async def __aenter__(self) -> Self:
        self.known.check()
        await self._open()
        self.known = self.known.introduced(self.agent.info)
        if self._answers.workspace is not None and adapt(self._answers.workspace, self.known):
            await self._start_again()
        return self

    async def _start_again(self) -> None:
        """Offer it what it was not offered before it had said who it is."""
        await self.client.aclose()
        self.client = self._new_client()
        await self._open()

    async def _open(self) -> None:
        watch = StartWatch(self.known.name, self.deadlines.handshake, self._on_waiting, is_told=self._is_start_told)
        with self.explaining("starting"), watch:
            await self.client.open()

    async def __aexit__(self, *exception: object) -> None:
        await self.client.aclose()
        if self._answers.workspace is not None:
            await self._answers.workspace.aclose()

    def _frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        self.output.add_frame(direction, frame)
        if direction == "received" and self._on_received is not None:
            self._on_received(frame)

    def _rejected_frame(self, error: FrameRejected) -> None:
        if error.is_too_long and self._on_too_long is not None:
            self._on_too_long()

    @property
    def agent(self) -> InitializeResult:
        """What the agent said of itself."""
        return self.client.agent

    async def new_session(self, servers: list[McpServer]) -> Session:
        with self.explaining("opening a session"):
            return await self.client.new_session(self.cwd, taken(servers, self.agent.capabilities, self.cwd))

    async def take_up(
        self, session_id: str, servers: list[McpServer], *, with_history: bool = False, claim: str | None = None
    ) -> Session:
        """A stored session; resumed where the agent can, loaded otherwise, or when the history is wanted.

        If the agent has no such method, although it offers it, the other way is tried; NotTakenUp if there is none left.
        `claim` is for agents made with accord: `take_over` takes it away from another process, `none` only reads it.
        """
        can = self.agent.capabilities
        advice = "Leave --session and --continue out" if claim is None else ""
        if not can.load and not can.resume:
            raise ConsoleFailed(f"the agent {self.known.name!r} can't take up a session again", advice)
        ways = [("load", can.load), ("resume", can.resume)]
        for way, is_offered in ways if with_history else reversed(ways):
            with self.explaining("taking up the session"), suppress(MethodNotFound):
                if is_offered:
                    return await self._taken_up(session_id, servers, claim, loads=way == "load")
        raise NotTakenUp(
            f"the agent {self.known.name!r} can't take up a session, although it offers that (error -32601)",
            advice,
        )

    async def _taken_up(self, session_id: str, servers: list[McpServer], claim: str | None, *, loads: bool) -> Session:
        take_up = self.client.load_session if loads else self.client.resume_session
        try:
            meta = None if claim is None else {"accord/claim": claim}
            return await take_up(session_id, self.cwd, taken(servers, self.agent.capabilities, self.cwd), meta=meta)
        except (NotFound, InvalidParams, InternalError) as error:
            said = f"{words_of(error)} (error {error.code})"
            raise ConsoleFailed(
                f"the agent {self.known.name!r} can't take up the session {session_id!r}: {said}",
                "`accord sessions` lists those that it has kept",
            ) from error

    async def logged_in(self, refused: AuthRequired, session: Session, servers: list[McpServer]) -> Session:
        """The session after a login, or another one where it can't be taken up again; `refused` if there is no login."""
        self.client.connection.logins(refused)
        if not await self.client.login():
            raise refused
        if not session.is_closed:
            return session
        can = self.agent.capabilities
        if can.load or can.resume:
            with suppress(NotTakenUp):
                return await self.take_up(session.id, servers)
        return await self.new_session(servers)

    async def sessions(self, cwd: Path | None) -> list[SessionSummary]:
        """Those that the agent has kept, the newest first, a bounded number; MethodNotFound when it tells none."""
        with self.explaining("listing the sessions", letting=MethodNotFound):
            return newest(await listed(self.client, cwd))

    @contextmanager
    def explaining(self, doing: str, letting: type[AccordError] | None = None) -> Generator[None]:
        """Whatever is raised inside becomes a ConsoleFailed, but for `letting`."""
        try:
            yield
        except ConsoleFailed:
            raise
        except (AccordError, OSError, ValueError) as error:
            if letting is not None and isinstance(error, letting):
                raise
            raise explained(error, doing, self.known, self.output, self._methods()) from error

    def _methods(self) -> list[object]:
        try:
            return [*self.client.agent.auth_methods]
        except (AttributeError, RuntimeError):  # it never came so far
            return []


def taken(servers: Sequence[McpServer], can: AgentCapabilities, cwd: str | Path) -> list[McpServer]:
    """Those that the agent can connect to. A command with a directory in it is looked for from `cwd`."""
    return [_placed(server, cwd) for server in servers if takes_server(server, can)]


def _placed(server: McpServer, cwd: str | Path) -> McpServer:
    if isinstance(server, StdioServer) and is_relative(server.command):
        return replace(server, command=str(Path(cwd).absolute() / server.command))
    return server


def left_out(servers: Sequence[McpServer], can: AgentCapabilities) -> list[str]:
    """For each of the others, what to tell the user."""
    return [
        f"MCP server {named(server)!r} is left out: the agent takes none of type {server_type(server)}"
        for server in servers
        if not takes_server(server, can)
    ]


def named(server: McpServer) -> str:
    return one_line(getattr(server, "name", "?"), 80)
