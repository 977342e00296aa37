"""One connection of an agent: the handshake, who answers which request, and what is asked too early or not offered."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from accord.agent.connected_client import ConnectedClient, trace_of
from accord.agent.open_sessions import OpenSessions
from accord.agent.registered import Handler, LoginMethod, called
from accord.agent.slow_loop import SlowLoopWatch
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import negotiate
from accord.errors import AuthRequired, InvalidParams, InvalidRequest, MethodNotFound
from accord.jsonrpc.codec import encode
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.jsonrpc.messages import Success
from accord.peer import Answer, Peer
from accord.session.capabilities import AgentCapabilities, TerminalLogin
from accord.session.content import Audio, Content, Image, Resource
from accord.session.requests import (
    Asked,
    Authenticate,
    Cancel,
    CloseSession,
    DeleteSession,
    Done,
    ForkSession,
    Initialized,
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
from accord.session.word import Word
from accord.transports.transport import Transport

if TYPE_CHECKING:
    from accord.agent.app import Agent

__all__ = ["Serving"]

_OFFERS: dict[type[Asked], str] = {
    LoadSession: "load",
    ResumeSession: "resume",
    ListSessions: "list",
    CloseSession: "close",
    DeleteSession: "delete",
    ForkSession: "fork",
    Logout: "logout",
}
_GATED = (NewSession, LoadSession, ResumeSession, ForkSession, ListSessions, Prompt, SetMode, SetModel, SetOption)


class Serving:
    """Serves an agent to one client, until either hangs up."""

    def __init__(self, agent: Agent, transport: Transport) -> None:
        self._agent = agent
        self._peer = Peer(transport, self._receive, limits=agent.limits, on_frame=agent.on_frame, finish=self._finish)
        self._dialect: Dialect | None = None
        self._client: ConnectedClient | None = None
        self._offered = AgentCapabilities()
        self._sessions: OpenSessions | None = None
        self._is_settled = False
        self._is_logged_in = False

    async def run(self) -> None:
        async with SlowLoopWatch(self._agent.policy.slow_loop_seconds):
            try:
                async with self._peer:
                    await self._peer.wait_closed()
            finally:
                if self._sessions is not None:
                    await self._sessions.aclose()  # FN-37

    def _finish(self) -> Coroutine[Any, Any, None]:
        """At the end of input every turn is cancelled, at once; their ends and all answers are still sent (FN-37)."""
        turns = [] if self._sessions is None else self._sessions.cancel_all()

        async def ended() -> None:
            for turn in turns:
                await turn.over.wait()

        return ended()

    def _receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if isinstance(event, NotificationReceived):
            return self._heard(event)
        incoming = event.incoming
        method = incoming.method
        if method == "initialize":
            return self._initialize(incoming.params)
        if self._dialect is None or self._client is None or self._sessions is None:
            raise InvalidRequest("initialize comes first")
        self._is_settled = True
        if method in self._agent.methods:
            return self._extension(self._agent.methods[method], msgspec.json.decode(incoming.params), self._client)
        asked = self._dialect.request_from_wire(method, incoming.params, "client")
        incoming.release()
        self._check(asked, method)
        if isinstance(asked, Prompt):
            self._check_content(asked)
            return self._sessions.take(asked)
        return self._answer(asked, method, self._sessions)

    def _heard(self, event: NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if self._dialect is None or self._client is None or self._sessions is None:
            return None
        handler = self._agent.notifications.get(event.method)
        if handler is not None:
            params = msgspec.json.decode(event.params)
            return called(handler, params, _traced(self._client, params))
        told = self._dialect.notification_from_wire(event.method, event.params, "client")
        if isinstance(told, Cancel):
            self._sessions.cancel(told.session_id)
        return None

    def _initialize(self, params: msgspec.Raw) -> Coroutine[Any, Any, Any]:
        before = self._dialect
        if before is not None and (self._is_settled or not before.initialize_may_repeat):
            raise InvalidRequest("This connection is initialized already")
        dialect, asked = negotiate(params, strict=self._agent.strict)
        if before is not None and dialect.version < before.version:
            raise InvalidRequest("A connection can't go back to an older version")
        self._dialect = dialect
        self._client = ConnectedClient(self._peer, dialect, asked.info, asked.capabilities)
        offered = self._agent.capabilities()
        answer = Initialized(
            version=dialect.version,
            info=self._agent.info,
            capabilities=offered,
            auth_methods=[login.shown for login in self._agent.logins.values()],
        )
        result = dialect.answer_to_wire(asked, answer)
        # As the client reads it: a version may bring more with it than was said (v2's list, resume and close).
        said = msgspec.Raw(encode(Success(id=0, result=result)))
        said = msgspec.json.decode(said, type=_Result).result
        self._offered = dialect.answer_from_wire(asked, said).capabilities
        self._client.named_logins = msgspec.json.decode(said, type=_Named).auth_methods
        self._sessions = OpenSessions(self._agent, self._client)
        return self._initialized(result, dialect)

    async def _initialized(self, result: Any, dialect: Dialect) -> Answer:
        agree = partial(
            self._peer.agree,
            odd_ids_allowed=dialect.odd_ids_allowed,
            batches_allowed=dialect.batches_allowed,
        )
        return Answer(result, agree)

    def _check(self, asked: Asked, method: str) -> None:
        capability = _OFFERS.get(type(asked))
        if capability is not None and not getattr(self._offered, capability):
            raise MethodNotFound(method)
        if isinstance(asked, Authenticate) and not self._agent.logins:
            raise MethodNotFound(method)  # AMB-10
        if isinstance(asked, _GATED) and not self._may_enter():
            raise AuthRequired(self._named_logins())

    def _named_logins(self) -> list[Any]:
        return [] if self._client is None else self._client.named_logins

    def _may_enter(self) -> bool:
        if self._is_logged_in or not self._agent.logins:
            return True
        logged_in = self._agent.logged_in
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
        agent = self._agent
        match block:
            case Image() if not agent.image:
                return "images", "image"
            case Audio() if not agent.audio:
                return "audio", "audio"
            case Resource(text=str()) if not agent.strict:
                return None  # FN-111: some send one with every prompt; it is text, which every agent takes
            case Resource() if not agent.embedded_context:
                return "embedded resources", "embedded_context"
            case _:
                return None

    async def _extension(self, handler: Handler, params: Any, client: ConnectedClient) -> Any:
        with self._naming_logins():
            return await called(handler, params, _traced(client, params))

    @contextmanager
    def _naming_logins(self) -> Generator[None]:
        """An author's `AuthRequired()` names the logins of the handshake, in the client's version (RPC-31)."""
        try:
            yield
        except AuthRequired as required:
            required.complete(self._named_logins())
            raise

    async def _answer(self, asked: Asked, method: str, sessions: OpenSessions) -> Any:
        assert self._dialect is not None
        answer: Word
        then = None
        with self._naming_logins():
            match asked:
                case Authenticate():
                    answer = await self._log_in(asked)
                case Logout():
                    answer = await self._log_out()
                case _:
                    answer, then = await sessions.answer(asked, method)
        result = self._dialect.answer_to_wire(asked, answer)
        return result if then is None else Answer(result, then)

    async def _log_in(self, asked: Authenticate) -> Done:
        login: LoginMethod | None = self._agent.logins.get(asked.method_id)
        if login is None or isinstance(login.method, TerminalLogin) or login.handler is None:
            raise InvalidParams("this agent has no such login", field="methodId")
        # FN-76: again and again is harmless. An agent that looks for itself is told each time: it may look anew.
        if not self._is_logged_in or callable(self._agent.logged_in):
            await called(login.handler, self._client)
            self._is_logged_in = True
        return Done()

    async def _log_out(self) -> Done:
        if self._agent.logout_handler is not None:
            await called(self._agent.logout_handler, self._client)
        self._is_logged_in = False
        return Done()


def _traced(client: ConnectedClient, params: Any) -> ConnectedClient:
    given: dict[str, Any] = {**params} if isinstance(params, dict) else {}
    return client.traced(trace_of(given.get("_meta")))


class _Result(msgspec.Struct):
    result: msgspec.Raw


class _Named(msgspec.Struct, rename="camel"):
    auth_methods: list[Any] = []
