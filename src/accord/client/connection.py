"""One connection with an agent: its peer, the dialect that was negotiated, what the agent offers, and the deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Raw

from accord.client.agent_requests import AgentRequests
from accord.client.callbacks import CallbackQueue
from accord.client.deadlines import Deadlines
from accord.dialects.all_versions.lifecycle import read_auth_methods
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import ProtocolVersion, accepted, offer
from accord.errors import AccordError, AuthRequired, ConnectionClosed, FrameRejected, InternalError
from accord.peer import FrameObserver, Limits, OnMessage, Peer
from accord.session.capabilities import AuthMethod, ClientCapabilities, Implementation
from accord.session.requests import AcpRequest, InitializeResult
from accord.session.type_checks import check_types
from accord.transports.process_transport import ProcessTransport
from accord.transports.transport import Transport


class ClientConnection:
    """From the handshake to the end; a client that has to connect again gets another one.

    Whoever uses it sets `receive` and `on_closed` before it is opened.
    """

    dialect: Dialect
    agent: InitializeResult
    receive: OnMessage
    on_closed: Callable[[ConnectionClosed], None]

    def __init__(
        self,
        transport: Transport,
        *,
        agent_requests: AgentRequests,
        deadlines: Deadlines,
        limits: Limits | None,
        on_frame: FrameObserver | None,
        on_rejected_frame: Callable[[FrameRejected], None] | None,
    ) -> None:
        self.agent_requests = agent_requests
        self.deadlines = deadlines
        self.is_negotiated = False
        self.is_closed_here = False
        """Whether this side has closed it, and not because an agent did not react."""
        self.peer = Peer(
            transport,
            lambda event: self.receive(event),  # noqa: PLW0108  # it is set later
            limits=limits,
            on_frame=on_frame,
            on_rejected_frame=on_rejected_frame,
            on_closed=self._closed,
            on_input_end=agent_requests.cancel_all,
        )
        self._process = transport if isinstance(transport, ProcessTransport) else None
        self.callbacks = CallbackQueue(self.peer)
        self._kill_task: asyncio.Task[None] | None = None
        self._reason: ConnectionClosed | None = None

    async def open(
        self, version: ProtocolVersion, info: Implementation, capabilities: ClientCapabilities, *, strict: bool
    ) -> None:
        """Connect and negotiate. If that fails, nothing is left behind."""
        try:
            await self.peer.open()
            await self._initialize(version, info, capabilities, strict=strict)
        except BaseException:
            await self.aclose()
            raise

    async def _initialize(
        self, version: ProtocolVersion, info: Implementation, capabilities: ClientCapabilities, *, strict: bool
    ) -> None:
        def agree(result: Raw) -> None:
            self.dialect, self.agent = accepted(result, version, capabilities, strict)
            self.is_negotiated = True

        params = offer(version, info, capabilities)
        try:
            await self.peer.request("initialize", params, deadline=self.deadlines.handshake, on_result=agree)
        except InternalError as error:
            self.add_stderr(error)
            raise
        except ConnectionClosed as closed:
            if closed.exit_code != 0:
                raise
            reason = f"{closed.reason} before it answered: an agent's program serves until its input ends, as with agent.run()"
            raise ConnectionClosed(reason, 0, closed.stderr_tail, kind=closed.kind) from closed.__cause__
        self.peer.set_version_rules(
            odd_ids_allowed=self.dialect.odd_ids_allowed, batches_allowed=self.dialect.batches_allowed
        )

    def check_open(self) -> None:
        """Raises ConnectionClosed when nothing can be sent any more."""
        if self._reason is not None or not self.peer.is_open:
            raise (self._reason or ConnectionClosed("closed by this side", kind="closed_here")).again()

    def add_logins(self, error: AuthRequired) -> list[AuthMethod]:
        """The methods that the error names, else all that are known; new ones are added to `agent.auth_methods`."""
        named = read_auth_methods(error.auth_methods, self.agent.auth_methods)
        self.agent.auth_methods += [method for method in named if method not in self.agent.auth_methods]
        return named or self.agent.auth_methods

    async def request(
        self, request: AcpRequest, deadline: float | None = None, apply: Callable[[Any], Any] | None = None
    ) -> Any:
        """The typed result, or what `apply` makes of it before anything that arrives later is handled.

        ValueError for a malformed request.
        """
        check_types(request)
        method, params = self.dialect.request_to_wire(request)
        seconds = self.deadlines.request if deadline is None else deadline

        def read(raw: Raw) -> Any:
            result = self.dialect.result_from_wire(request, raw)
            return result if apply is None else apply(result)

        try:
            return await self.peer.request(method, params, deadline=seconds, on_result=read)
        except AuthRequired as error:
            self.add_logins(error)
            raise
        except InternalError as error:
            self.add_stderr(error)
            raise

    def add_stderr(self, error: AccordError) -> None:
        """Give an internal error of the agent the end of its stderr, where its author finds the traceback.

        Call it after the loop has run once more: stderr and stdout are read separately.
        """
        if self._process is not None and isinstance(error, InternalError) and not error.stderr_tail:
            error.add_stderr(self._process.stderr_tail)

    def kill(self) -> None:
        """Close the connection and end the process behind it, without waiting for that (FN-17, FN-100)."""
        if self._kill_task is None:
            self._kill_task = asyncio.create_task(self.peer.aclose(), name="accord kill")

    async def aclose(self) -> None:
        """Safe to call twice, and from any task."""
        self.is_closed_here = self._kill_task is None
        await self.peer.aclose()
        if self._kill_task is not None:
            await asyncio.wait((self._kill_task,))
        await self.callbacks.aclose(self.peer.limits.close_grace_seconds)

    def _closed(self, reason: ConnectionClosed) -> None:
        self._reason = reason
        self.on_closed(reason)
