"""One connection of an agent to a client: the handshake, who answers which request, and what the client is asked.

Requests that concern sessions are answered by the `SessionMethods` that the connection is given. Whatever comes before
`initialize`, was not offered or needs a login first is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from accord.agent.blocked_loop import BlockedLoopWatch
from accord.agent.definition import AgentDefinition, Handler, call_handler
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import negotiate
from accord.errors import AuthRequired, InvalidParams, InvalidRequest, Malformed, MethodNotFound
from accord.jsonrpc.codec import encode
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.jsonrpc.messages import ResultResponse
from accord.peer import HandlerResult, Peer
from accord.session.capabilities import AgentCapabilities, ClientCapabilities, Implementation, TerminalLogin
from accord.session.content import Audio, Content, Image, Resource
from accord.session.requests import (
    AcpNotification,
    AcpRequest,
    Authenticate,
    Cancel,
    CloseSession,
    DeleteSession,
    EmptyResult,
    ForkSession,
    InitializeResult,
    ListSessions,
    LoadSession,
    Logout,
    NewSession,
    Prompt,
    ResumeSession,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.type_checks import check_types
from accord.session.validation import Validator, check_extension
from accord.session.value import Value
from accord.transports.transport import Transport

__all__ = ["AgentConnection", "RequestHandler", "trace_context"]

T = TypeVar("T", bound=AcpRequest | AcpNotification)

_TRACE = ("traceparent", "tracestate", "baggage")
_OFFERS: dict[type[AcpRequest], str] = {
    LoadSession: "load",
    ResumeSession: "resume",
    ListSessions: "list",
    CloseSession: "close",
    DeleteSession: "delete",
    ForkSession: "fork",
    Logout: "logout",
}
_GATED = (NewSession, LoadSession, ResumeSession, ForkSession, ListSessions, Prompt, SetMode, SetModel, SetOption)


class RequestHandler(Protocol):
    """What answers the requests of a connection that concern sessions."""

    def prompt(self, asked: Prompt) -> Coroutine[Any, Any, Any]: ...

    def cancel(self, session_id: str) -> None: ...

    def cancel_all(self) -> Coroutine[Any, Any, None]:
        """Cancel every turn that the connection asked for, at once; what is returned waits for their ends."""
        ...

    async def answer(self, asked: AcpRequest, method: str) -> tuple[Value, Callable[[], None] | None]:
        """The answer, and what follows when it has left."""
        ...

    async def aclose(self) -> None: ...


RequestHandlerFactory: TypeAlias = Callable[["AgentConnection"], RequestHandler]


def trace_context(meta: Any) -> dict[str, Any]:
    """The trace context in the `_meta` that a request came with, to be carried on."""
    if not isinstance(meta, dict):
        return {}
    given: dict[str, Any] = {**meta}
    return {key: given[key] for key in _TRACE if key in given}


class AgentConnection:
    """Serves an agent to one client until either hangs up, and asks the client whatever there is to ask.

    `info` and `capabilities` are the client's. Nothing may be decided by its name.
    """

    dialect: Dialect
    """The version that was agreed on; from the handshake on."""
    capabilities: ClientCapabilities
    """`meta` and `group_meta` hold what the client advertises beyond the protocol."""

    def __init__(self, definition: AgentDefinition, transport: Transport, make_handler: RequestHandlerFactory) -> None:
        self.info: Implementation | None = None
        self.logins: list[Any] = []
        """The agent's logins as the handshake has told them to this client, for an `auth_required`."""
        self.peer = Peer(
            transport, self._receive, limits=definition.limits, on_frame=definition.on_frame, on_input_end=self._finish
        )
        self._definition = definition
        self._make_handler = make_handler
        self._handler: RequestHandler | None = None
        self._offered = AgentCapabilities()
        self._is_settled = False
        self._is_logged_in = False
        self._trace: dict[str, Any] = {}
        self._validator = Validator(_refuse, _take_any)

    async def run(self) -> None:
        """Serve until the connection ends, from either side; all turns have ended then."""
        async with BlockedLoopWatch(self._definition.policy.slow_loop_seconds):
            try:
                async with self.peer:
                    await self.peer.wait_closed()
            finally:
                if self._handler is not None:
                    await self._handler.aclose()  # FN-37

    def traced(self, trace: dict[str, Any], validator: Validator | None = None) -> AgentConnection:
        """The same connection; requests made through this one carry the trace context, and are checked by this."""
        traced = copy(self)
        traced._trace = trace  # noqa: SLF001  # a copy of ours
        if validator is not None:
            traced._validator = validator  # noqa: SLF001
        return traced

    # To the client

    @property
    def has_terminals(self) -> bool:
        """Whether commands can be run in the client's terminals (TERM-02)."""
        return self.capabilities.terminals and self.dialect.has_client_resources

    async def ask(self, asked: AcpRequest, *, deadline: float | None = None) -> Any:
        """Ask in words and get the answer in words; MethodNotFound when the version agreed on can't ask that.

        ValueError for what must not be asked, such as a permission without options.
        """
        asked = self._with_trace(self._validator.request(asked))
        method, params = self._to_wire(asked)
        return self.dialect.result_from_wire(asked, await self.peer.request(method, params, deadline=deadline))

    def check(self, asked: AcpRequest) -> None:
        """ValueError for what must not be asked, before anybody learns that something is."""
        self._to_wire(self._validator.request(asked))

    def _to_wire(self, asked: AcpRequest) -> tuple[str, Any]:
        try:
            return self.dialect.request_to_wire(asked)
        except Malformed as error:
            raise ValueError(f"this can't be sent: {error.path}: {error.reason}") from error

    async def tell(self, told: AcpNotification) -> None:
        """Tell in words; ValueError for what must not be told."""
        check_types(told)
        await self.peer.notify(*self.dialect.notification_to_wire(self._with_trace(told)))

    def _with_trace(self, word: T) -> T:
        return replace(word, meta={**self._trace, **(word.meta or {})}) if self._trace else word

    async def request(self, method: str, params: Any = None, *, deadline: float | None = None) -> Any:
        """Call a method of the client's own, such as `_acme/pick`; its result as plain values."""
        result = await self.peer.request(check_extension(method), self._traced_params(params), deadline=deadline)
        return msgspec.json.decode(result)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification of the client's own kind, such as `_acme/highlight`."""
        await self.peer.notify(check_extension(method), self._traced_params(params))

    def _traced_params(self, params: Any) -> Any:
        params = {} if params is None else params
        if self._trace and isinstance(params, dict):
            given: dict[str, Any] = {**params}
            given["_meta"] = {**self._trace, **given.get("_meta", {})}
            return given
        return params

    # From the client

    def _finish(self) -> Coroutine[Any, Any, None]:
        """At the end of input every turn is cancelled, at once; their ends and all answers are still sent (FN-37)."""
        return _nothing() if self._handler is None else self._handler.cancel_all()

    def _receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if isinstance(event, NotificationReceived):
            return None if self._handler is None else self._notified(event, self._handler)
        incoming = event.request
        method = incoming.method
        if method == "initialize":
            return self._initialize(incoming.params)
        if self._handler is None:
            raise InvalidRequest("initialize comes first")
        self._is_settled = True
        if method in self._definition.methods:
            return self._extension(self._definition.methods[method], msgspec.json.decode(incoming.params))
        asked = self.dialect.request_from_wire(method, incoming.params, "client")
        incoming.release()
        self._check(asked, method)
        if isinstance(asked, Prompt):
            self._check_content(asked)
            return self._handler.prompt(asked)
        return self._answer(asked, method, self._handler)

    def _notified(self, event: NotificationReceived, sessions: RequestHandler) -> Coroutine[Any, Any, Any] | None:
        handler = self._definition.notifications.get(event.method)
        if handler is not None:
            params = msgspec.json.decode(event.params)
            return call_handler(handler, params, self._traced_by(params))
        told = self.dialect.notification_from_wire(event.method, event.params, "client")
        if isinstance(told, Cancel):
            sessions.cancel(told.session_id)
        return None

    def _initialize(self, params: msgspec.Raw) -> Coroutine[Any, Any, Any]:
        before = None if self._handler is None else self.dialect
        if before is not None and (self._is_settled or not before.initialize_may_repeat):
            raise InvalidRequest("This connection is initialized already")
        dialect, asked = negotiate(params, strict=self._definition.strict, before=before)
        self.dialect, self.info, self.capabilities = dialect, asked.info, asked.capabilities
        answer = InitializeResult(
            version=dialect.version,
            info=self._definition.info,
            capabilities=self._definition.capabilities(),
            auth_methods=[login.method for login in self._definition.logins.values()],
        )
        result = dialect.result_to_wire(asked, answer)
        # As the client reads it: a version may bring more with it than was said (v2's list, resume and close).
        said = msgspec.Raw(encode(ResultResponse(id=0, result=result)))
        said = msgspec.json.decode(said, type=_Result).result
        self._offered = dialect.result_from_wire(asked, said).capabilities
        self.logins = msgspec.json.decode(said, type=_Logins).auth_methods
        self._handler = self._make_handler(self)
        return self._initialized(result, dialect)

    async def _initialized(self, result: Any, dialect: Dialect) -> HandlerResult:
        agree = partial(
            self.peer.set_version_rules,
            odd_ids_allowed=dialect.odd_ids_allowed,
            batches_allowed=dialect.batches_allowed,
        )
        return HandlerResult(result, agree)

    def _check(self, asked: AcpRequest, method: str) -> None:
        capability = _OFFERS.get(type(asked))
        if capability is not None and not getattr(self._offered, capability):
            raise MethodNotFound(method)
        if isinstance(asked, Authenticate) and not self._definition.logins:
            raise MethodNotFound(method)  # AMB-10
        if isinstance(asked, _GATED) and not self._may_enter():
            raise AuthRequired(self.logins)

    def _may_enter(self) -> bool:
        if self._is_logged_in or not self._definition.logins:
            return True
        logged_in = self._definition.logged_in
        return logged_in() if callable(logged_in) else logged_in

    def _check_content(self, asked: Prompt) -> None:
        for index, block in enumerate(asked.content):
            refusal = self._refusal(block)
            if refusal is not None:
                what, option = refusal
                reason = f"this agent takes no {what}: Agent(..., {option}=True) offers that"
                raise InvalidParams(reason, field=f"prompt[{index}].type")

    def _refusal(self, block: Content) -> tuple[str, str] | None:
        """What of a block was not offered, and the option that offers it; None for what can be taken."""
        offered = self._definition
        match block:
            case Image() if not offered.image:
                return "images", "image"
            case Audio() if not offered.audio:
                return "audio", "audio"
            case Resource(text=str()) if not offered.strict:
                return None  # FN-111: some send one with every prompt; it is text, which every agent takes
            case Resource() if not offered.embedded_context:
                return "embedded resources", "embedded_context"
            case _:
                return None

    async def _extension(self, handler: Handler, params: Any) -> Any:
        with self._naming_logins():
            return await call_handler(handler, params, self._traced_by(params))

    def _traced_by(self, params: Any) -> AgentConnection:
        given: dict[str, Any] = {**params} if isinstance(params, dict) else {}
        return self.traced(trace_context(given.get("_meta")))

    @contextmanager
    def _naming_logins(self) -> Generator[None]:
        """An author's `AuthRequired()` names the logins of the handshake, in the client's version (RPC-31)."""
        try:
            yield
        except AuthRequired as required:
            required.complete(self.logins)
            raise

    async def _answer(self, asked: AcpRequest, method: str, sessions: RequestHandler) -> Any:
        answer: Value
        then = None
        with self._naming_logins():
            match asked:
                case Authenticate():
                    answer = await self._log_in(asked)
                case Logout():
                    answer = await self._log_out()
                case _:
                    answer, then = await sessions.answer(asked, method)
        result = self.dialect.result_to_wire(asked, answer)
        return result if then is None else HandlerResult(result, then)

    async def _log_in(self, asked: Authenticate) -> EmptyResult:
        login = self._definition.logins.get(asked.method_id)
        if login is None or isinstance(login.method, TerminalLogin) or login.handler is None:
            raise InvalidParams("this agent has no such login", field="methodId")
        # FN-76: again and again is harmless. An agent that looks for itself is told each time: it may look anew.
        if not self._is_logged_in or callable(self._definition.logged_in):
            await call_handler(login.handler, self)
            self._is_logged_in = True
        return EmptyResult()

    async def _log_out(self) -> EmptyResult:
        if self._definition.logout_handler is not None:
            await call_handler(self._definition.logout_handler, self)
        self._is_logged_in = False
        return EmptyResult()


async def _nothing() -> None: ...


def _refuse(path: str) -> str:
    raise ValueError(f"the path {path!r} is not absolute, and there is no session to complete it")


def _take_any(terminal_id: str) -> None: ...


class _Result(msgspec.Struct):
    result: msgspec.Raw


class _Logins(msgspec.Struct, rename="camel"):
    auth_methods: list[Any] = []
