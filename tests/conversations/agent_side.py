"""An agent made of a peer, a dialect and a transcript for each session. The first block of a prompt says what it should do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Self

import msgspec

from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import VERSIONS, negotiate
from accord.errors import AuthRequired, InvalidParams, InvalidRequest, MethodNotFound, NotFound
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import HandlerResult, Peer
from accord.session import Transcript
from accord.session.capabilities import AgentCapabilities, AgentLogin, Implementation
from accord.session.entities import USER, Mode, Modes, Option, OptionChoice, SlashCommand, State
from accord.session.replay import replay
from accord.session.requests import (
    AcpRequest,
    Authenticate,
    Cancel,
    CloseSession,
    EmptyResult,
    Initialize,
    InitializeResult,
    ListSessions,
    LoadSession,
    NewSession,
    Prompt,
    PromptResult,
    ResumeSession,
    SessionPage,
    SessionSetup,
    SessionSummary,
    SetMode,
    SetOption,
)
from accord.session.updates import (
    CommandsPatch,
    MessagePatch,
    ModePatch,
    ModesPatch,
    OptionsPatch,
    Patch,
    StatePatch,
    ToolCallPatch,
    Update,
)
from accord.session.value import Value
from accord.transports.transport import Transport
from tests.conversations.seen import told
from tests.conversations.story import STORY

__all__ = ["AgentSide", "Session", "TakeTurn"]

PATIENCE = 120.0
COMMANDS = [SlashCommand(name="review", description="Look again", hint="what")]
MODES = [Mode(id="quick", name="Quick"), Mode(id=STORY["mode"]["id"], name=STORY["mode"]["name"])]
CAPABILITIES = AgentCapabilities(load=True, resume=True, list=True, close=True, embedded_context=True)


class Session:
    def __init__(self, id: str, cwd: str) -> None:
        self.id = id
        self.cwd = cwd
        self.transcript = Transcript()
        self.turn: asyncio.Task[str] | None = None
        choices = [OptionChoice(value=mode.id, name=mode.name) for mode in MODES]
        mode = Option(id="mode", name="Mode", category="mode", value="quick", choices=choices)
        self.transcript.apply(OptionsPatch(options=[mode, Option(id="web", name="Web", kind="boolean", value=False)]))
        self.transcript.apply(ModesPatch(modes=Modes(current="quick", available=MODES)))


TakeTurn = Callable[["AgentSide", Session, Prompt], Coroutine[Any, Any, str]]
"""What the agent does with a prompt; the stop reason."""


class AgentSide:
    """Besides the protocol's methods it answers `_accord/told`, with its own account of a session."""

    def __init__(self, transport: Transport, take_turn: TakeTurn, versions: Sequence[int] = VERSIONS) -> None:
        self.peer = Peer(transport, self.receive)
        self.take_turn = take_turn
        self.versions = versions
        self.dialect: Dialect | None = None
        self.sessions: dict[str, Session] = {}
        self.logged_in = False

    async def __aenter__(self) -> Self:
        await self.peer.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        for session in self.sessions.values():
            if session.turn is not None:
                session.turn.cancel()
        await self.peer.aclose()

    async def ask(self, asked: AcpRequest) -> Any:
        """The client's answer, in words."""
        assert self.dialect is not None
        method, params = self.dialect.request_to_wire(asked)
        return self.dialect.result_from_wire(asked, await self.peer.request(method, params, deadline=PATIENCE))

    async def tell(self, session: Session, report: Patch) -> None:
        """Apply a report to our own transcript, and tell the client what came of it."""
        await self.tell_change(session, session.transcript.apply(report))

    async def tell_change(self, session: Session, change: Update) -> None:
        assert self.dialect is not None
        for params in self.dialect.update_to_wire(session.id, change):
            await self.peer.notify("session/update", params)

    def receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if isinstance(event, NotificationReceived):
            if self.dialect is not None:
                heard = self.dialect.notification_from_wire(event.method, event.params, "client")
                if isinstance(heard, Cancel):
                    self.cancel(heard.session_id)
            return None
        incoming = event.request
        if incoming.method == "initialize":
            self.dialect, asked = negotiate(incoming.params, self.versions, strict=True)
        elif self.dialect is None:
            raise InvalidRequest("initialize comes first")
        elif incoming.method == "_accord/told":
            return self.account(msgspec.json.decode(incoming.params)["sessionId"])
        else:
            asked = self.dialect.request_from_wire(incoming.method, incoming.params, "client")
        return self.answer(asked)

    async def account(self, session_id: str) -> Any:
        return told(self.session(session_id).transcript)

    def cancel(self, session_id: str) -> None:
        session = self.sessions.get(session_id)
        if session is not None and session.turn is not None:
            session.turn.cancel()

    async def answer(self, asked: AcpRequest) -> Any:
        assert self.dialect is not None
        if isinstance(asked, Prompt):
            return await self.prompt(asked, self.dialect)
        answer = await self.answer_in_words(asked)
        result = self.dialect.result_to_wire(asked, answer)
        if isinstance(asked, Initialize):
            agree = partial(
                self.peer.set_version_rules,
                odd_ids_allowed=self.dialect.odd_ids_allowed,
                batches_allowed=self.dialect.batches_allowed,
            )
            return HandlerResult(result, agree)
        if isinstance(asked, NewSession) and isinstance(answer, SessionSetup):
            return HandlerResult(result, partial(self.announce, self.sessions[str(answer.session_id)]))
        return result

    def announce(self, session: Session) -> None:
        assert self.dialect is not None
        change = session.transcript.apply(CommandsPatch(commands=COMMANDS))
        for params in self.dialect.update_to_wire(session.id, change):
            self.peer.post("session/update", params)

    async def answer_in_words(self, asked: AcpRequest) -> Value:
        assert self.dialect is not None
        match asked:
            case Initialize():
                info = Implementation(name="accord-story", version="1.0", title="Erzähler")
                login = AgentLogin(id="key", name="With a key")
                version = self.dialect.version
                return InitializeResult(version=version, info=info, capabilities=CAPABILITIES, auth_methods=[login])
            case Authenticate(method_id=method_id):
                if method_id != "key":
                    raise InvalidParams("there is no such method", field="methodId")
                self.logged_in = True
                return EmptyResult()
            case NewSession(cwd=cwd):
                if cwd == STORY["locked"] and not self.logged_in:
                    raise AuthRequired([{"id": "key", "name": "With a key"}])
                session = Session(f"session-{len(self.sessions)}", cwd)
                self.sessions[session.id] = session
                return self.opened(session, SessionSetup(session_id=session.id))
            case ListSessions():
                return SessionPage(
                    sessions=[
                        SessionSummary(session_id=each.id, cwd=each.cwd, title=each.transcript.info.title)
                        for each in self.sessions.values()
                    ]
                )
            case CloseSession(session_id=session_id):
                self.cancel(session_id)
                return EmptyResult()
            case _:
                return await self.answer_in_session(asked, self.session(getattr(asked, "session_id", "")))

    async def answer_in_session(self, asked: AcpRequest, session: Session) -> Value:
        match asked:
            case LoadSession():
                for change in replay(session.transcript):
                    await self.tell_change(session, change)
                return self.opened(session, SessionSetup())
            case ResumeSession():
                await self.tell(session, StatePatch(state=session.transcript.state))
                return self.opened(session, SessionSetup())
            case SetMode(mode_id=mode_id):
                await self.tell(session, ModePatch(mode_id=mode_id))
                return EmptyResult()
            case SetOption(option_id=option_id, value=value):
                options = [
                    Option(id=each.id, name=each.name, kind=each.kind, category=each.category, choices=each.choices,
                           value=value if each.id == option_id else each.value)
                    for each in session.transcript.options
                ]  # fmt: skip
                await self.tell(session, OptionsPatch(options=options))
                return SessionSetup(options=options)
            case _:
                raise MethodNotFound(type(asked).__name__)

    def opened(self, session: Session, answer: SessionSetup) -> SessionSetup:
        answer.modes = session.transcript.modes
        answer.options = session.transcript.options
        return answer

    def session(self, session_id: str) -> Session:
        if session_id not in self.sessions:
            raise NotFound(session_id=session_id)
        return self.sessions[session_id]

    async def prompt(self, asked: Prompt, dialect: Dialect) -> Any:
        session = self.session(asked.session_id)
        said = f"user-{len(session.transcript.messages)}"
        session.transcript.begin_turn()
        change = session.transcript.apply(MessagePatch(role=USER, id=said, content=asked.content))
        session.transcript.begin_turn()
        if dialect.result_ends_turn:
            self.begin(session, asked, change)
            assert session.turn is not None
            return dialect.result_to_wire(asked, PromptResult(stop_reason=await session.turn, message_id=said))
        answer = dialect.result_to_wire(asked, PromptResult(message_id=said))
        return HandlerResult(answer, partial(self.begin, session, asked, change))

    def begin(self, session: Session, asked: Prompt, change: Update) -> None:
        session.turn = asyncio.create_task(self.run_turn(session, asked, change))

    async def run_turn(self, session: Session, asked: Prompt, change: Update) -> str:
        assert self.dialect is not None
        if self.dialect.echoes_prompt:
            await self.tell_change(session, change)
        await self.tell(session, StatePatch(state=State(state="running")))
        error = None
        try:
            stop_reason = await self.take_turn(self, session, asked)
        except asyncio.CancelledError:
            stop_reason = await self.clean_up(session)
        except Exception as failure:
            if self.dialect.result_ends_turn:
                raise
            stop_reason, error = "error", {"code": -32603, "message": str(failure)}
        state = State(state="idle", stop_reason=stop_reason, error=error)
        await self.tell(session, StatePatch(state=state))
        return stop_reason

    async def clean_up(self, session: Session) -> str:
        for call in list(session.transcript.tool_calls.values()):
            if not call.finished:
                await self.tell(session, ToolCallPatch(id=call.id, status="cancelled"))
        return "cancelled"
