"""A client made of a peer, a dialect and a transcript for each session, which writes down what it sees in the order it comes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import ProtocolVersion, accepted, offer
from accord.errors import InvalidParams, MethodNotFound, NotFound
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import Peer
from accord.session import StateChanged, Transcript, Update
from accord.session.capabilities import ClientCapabilities, Implementation
from accord.session.content import Content, Text
from accord.session.entities import USER, Exit
from accord.session.requests import (
    AcpNotification,
    AcpRequest,
    Cancel,
    CreateTerminal,
    CreateTerminalResult,
    ElicitationAnswer,
    ElicitationRequest,
    EmptyResult,
    FileContent,
    InitializeResult,
    KillTerminal,
    NewSession,
    PermissionAnswer,
    PermissionRequest,
    Prompt,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    SessionSetup,
    TerminalSnapshot,
    ToolCallSubject,
    WaitForExit,
    WriteFile,
)
from accord.session.updates import CommandsPatch, MessagePatch, ModesPatch, OptionsPatch, Patch
from accord.session.value import UNSET, Value
from accord.transports.transport import Transport
from tests.conversations.seen import described
from tests.conversations.story import STORY

__all__ = ["ClientSide"]

T = TypeVar("T")

INFO = Implementation(name="accord-tests", version="1.0", title="Tests of größe")
EVERYTHING = ClientCapabilities(
    read_files=True,
    write_files=True,
    terminals=True,
    form_elicitation=True,
    boolean_options=True,
    notices=True,
    compaction=True,
)
PATIENCE = 120.0


class ClientSide:
    """`chooses` is the id of the permission option it picks, None to leave the question open until it is cancelled."""

    def __init__(
        self,
        transport: Transport,
        *,
        version: ProtocolVersion = "auto",
        chooses: str | None = "yes",
        capabilities: ClientCapabilities = EVERYTHING,
    ) -> None:
        self.peer = Peer(transport, self.receive, on_frame=self.observe)
        self.version: ProtocolVersion = version
        self.chooses = chooses
        self.capabilities = capabilities
        self.dialect: Dialect | None = None
        self.agent: InitializeResult | None = None
        self.transcripts: defaultdict[str, Transcript] = defaultdict(Transcript)
        self.files: dict[str, str] = {STORY["file"]["path"]: STORY["file"]["before"]}
        self.terminals: dict[str, CreateTerminal] = {}
        self.seen: list[str] = []
        self.changes: list[Update] = []
        self.frames: list[tuple[str, bytes]] = []
        self.cancelled = asyncio.Event()
        self.waiting: dict[str, asyncio.Future[None]] = {}
        self.idle: dict[str, asyncio.Future[str]] = {}
        self.tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        await self.peer.open()
        try:
            await self.initialize()
        except BaseException:
            await self.peer.aclose()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        for task in self.tasks:
            task.cancel()
        await self.peer.aclose()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something beside the test; it is ended with the client."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        return task

    def observe(self, direction: str, frame: bytes) -> None:
        self.frames.append((direction, frame))

    async def initialize(self) -> InitializeResult:
        params = offer(self.version, INFO, self.capabilities)
        result = await self.peer.request("initialize", params, deadline=PATIENCE)
        self.dialect, self.agent = accepted(result, self.version, self.capabilities, strict=True)
        self.peer.set_version_rules(
            odd_ids_allowed=self.dialect.odd_ids_allowed, batches_allowed=self.dialect.batches_allowed
        )
        return self.agent

    async def ask(self, asked: AcpRequest) -> Any:
        """The answer to any request, in words."""
        assert self.dialect is not None
        method, params = self.dialect.request_to_wire(asked)
        return self.dialect.result_from_wire(asked, await self.peer.request(method, params, deadline=PATIENCE))

    async def tell(self, told: AcpNotification) -> None:
        assert self.dialect is not None
        await self.peer.notify(*self.dialect.notification_to_wire(told))

    async def new_session(self, cwd: str = STORY["cwd"]) -> str:
        opened: SessionSetup = await self.ask(NewSession(cwd=cwd))
        assert isinstance(opened.session_id, str)
        self.take_in(opened.session_id, opened)
        return opened.session_id

    def take_in(self, session_id: str, opened: SessionSetup) -> None:
        """What a session starts with, unless an update was faster."""
        transcript = self.transcripts[session_id]
        if opened.modes is not None:
            transcript.apply(ModesPatch(modes=opened.modes))
        if opened.options is not UNSET and not transcript.options:
            transcript.apply(OptionsPatch(options=opened.options))
        if opened.commands is not UNSET and not transcript.commands:
            transcript.apply(CommandsPatch(commands=opened.commands))

    async def prompt(self, session_id: str, *texts: str) -> str:
        """Prompt, and wait for the end of the turn, wherever this version tells it; the stop reason."""
        assert self.dialect is not None
        content: list[Content] = [Text(text) for text in texts]
        transcript = self.transcripts[session_id]
        transcript.begin_turn()
        self.idle[session_id] = asyncio.get_running_loop().create_future()
        if not self.dialect.echoes_prompt:
            transcript.apply(MessagePatch(role=USER, id=None, content=content))
            transcript.begin_turn()
        answer = await self.ask(Prompt(session_id=session_id, content=content))
        if answer.stop_reason is not None:
            return answer.stop_reason
        assert answer.message_id is not None
        async with asyncio.timeout(PATIENCE):
            return await self.idle[session_id]

    async def cancel(self, session_id: str) -> None:
        self.cancelled.set()
        await self.tell(Cancel(session_id=session_id))

    async def until(self, what: str) -> None:
        """Wait until something was seen."""
        if what not in self.seen:
            self.waiting[what] = asyncio.get_running_loop().create_future()
            async with asyncio.timeout(PATIENCE):
                await self.waiting[what]

    def receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        dialect = self.dialect
        assert dialect is not None, "nothing may come before the handshake is done"
        if isinstance(event, RequestReceived):
            asked = dialect.request_from_wire(event.request.method, event.request.params, "agent")
            self.note(f"asked {event.request.method}")
            if isinstance(asked, PermissionRequest) and isinstance(asked.subject, ToolCallSubject):
                self.apply(asked.session_id, asked.subject.call)
            return self.answer(asked)
        if event.method == "session/update":
            session_id, reports = dialect.update_from_wire(event.params)
            for report in reports:
                self.apply(session_id, report)
        elif dialect.notification_from_wire(event.method, event.params, "agent") is not None:
            self.note(f"told {event.method}")
        return None

    def apply(self, session_id: str, report: Patch) -> None:
        change = self.transcripts[session_id].apply(report)
        self.changes.append(change)
        self.note(described(change))
        if isinstance(change, StateChanged) and change.state.state == "idle":
            idle = self.idle.get(session_id)
            if idle is not None and not idle.done() and change.state.stop_reason is not None:
                idle.set_result(change.state.stop_reason)

    def note(self, what: str) -> None:
        self.seen.append(what)
        if what in self.waiting and not self.waiting[what].done():
            self.waiting[what].set_result(None)

    async def answer(self, asked: AcpRequest) -> Any:
        assert self.dialect is not None
        return self.dialect.result_to_wire(asked, await self.answer_in_words(asked))

    async def answer_in_words(self, asked: AcpRequest) -> Value:
        match asked:
            case PermissionRequest():
                return await self.permission(asked)
            case ElicitationRequest(mode="form"):
                question = STORY["question"]
                return ElicitationAnswer(action="accept", content={question["field"]: question["answer"]})
            case ReadFile(path=path):
                if path not in self.files:
                    raise NotFound(uri=path)
                lines = self.files[path].splitlines(keepends=True)
                first = (asked.line or 1) - 1
                return FileContent(content="".join(lines[first : first + asked.limit if asked.limit else None]))
            case WriteFile(path=path, content=content):
                self.files[path] = content
                return EmptyResult()
            case CreateTerminal():
                terminal_id = f"terminal-{len(self.terminals)}"
                self.terminals[terminal_id] = asked
                return CreateTerminalResult(terminal_id=terminal_id)
            case WaitForExit(terminal_id=terminal_id) | ReadTerminal(terminal_id=terminal_id):
                return self.terminal(terminal_id, asked)
            case KillTerminal() | ReleaseTerminal():
                return EmptyResult()
            case _:
                raise MethodNotFound(type(asked).__name__)

    def terminal(self, terminal_id: str, asked: AcpRequest) -> Value:
        if terminal_id not in self.terminals:
            raise InvalidParams("there is no such terminal", field="terminalId")
        command = STORY["command"]
        ended = Exit(code=command["code"])
        if isinstance(asked, WaitForExit):
            return ended
        return TerminalSnapshot(output=command["output"], truncated=False, exit=ended)

    async def permission(self, asked: PermissionRequest) -> PermissionAnswer:
        if self.chooses is None:
            await self.cancelled.wait()
            return PermissionAnswer(outcome="cancelled")
        assert self.chooses in [option.id for option in asked.options]
        return PermissionAnswer(outcome="selected", option_id=self.chooses)
