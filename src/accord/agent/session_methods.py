"""The session methods of the protocol, for one connection: `session/new`, `load`, `list`, `prompt` and the rest.

A session that another connection of the agent has open is not opened again: this connection subscribes to it, too. To a
user, the sessions of other users do not exist; a local program, which is no user, sees all.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accord.agent.audit import record
from accord.agent.connection import AfterResponse, AgentEndpoint
from accord.agent.definition import AgentDefinition, call_handler
from accord.agent.options import initial_options, set_option
from accord.agent.session import AgentSession, Publisher
from accord.agent.session_registry import SessionRegistry
from accord.agent.session_servers import SessionServers, check_servers
from accord.agent.slash_commands import handle, is_command
from accord.agent.turn_queue import TurnQueue
from accord.agent.update_stream import Subscription
from accord.dialects.all_versions.options import option_to_models
from accord.errors import InvalidParams, MethodNotFound, NotFound
from accord.session.entities import Notice
from accord.session.mcp_servers import McpServer
from accord.session.replay import replay
from accord.session.requests import (
    AcpRequest,
    CancelTerminal,
    CancelToolCall,
    CloseSession,
    DeleteSession,
    EmptyResult,
    ForkSession,
    ListSessions,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
    SessionPage,
    SessionSetup,
    SessionSummary,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.updates import (
    CommandsChanged,
    CommandsPatch,
    NoticePatch,
    OptionsPatch,
    StateChanged,
    StatePatch,
    ToolCallPatch,
)
from accord.session.value import UNSET, Value

if TYPE_CHECKING:
    from accord.store.store import SessionRecord

_YIELD_INTERVAL = 64
CLAIM = "accord/claim"
"""In the `_meta` of session/load and session/resume: `take_over` takes a session away from another process; `none` loads a
session of another process for reading only."""


class SessionMethods:
    """Handles every request of one connection that is about sessions."""

    def __init__(self, definition: AgentDefinition, sessions: SessionRegistry, endpoint: AgentEndpoint) -> None:
        self._definition = definition
        self._store = definition.store
        self._sessions = sessions
        self._endpoint = endpoint
        self._open: dict[str, TurnQueue] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def prompt(self, request: Prompt) -> Coroutine[Any, Any, Any]:
        """Queue a prompt at once; the coroutine returns its response."""
        response = self._find(request.session_id).put(request, self._endpoint)
        record("prompted", self._endpoint, request.session_id)
        return response

    def cancel(self, session_id: str) -> None:
        """Cancel the session's turns, whichever connection prompted; nothing when there are none (FN-21)."""
        turns = self._open.get(session_id)
        if turns is not None:
            record("cancelled", self._endpoint, session_id)
            turns.cancel()

    def cancel_all(self) -> Coroutine[Any, Any, None]:
        running = [turns.withdraw(self._endpoint) for turns in self._open.values()]

        async def wait() -> None:
            for prompt in running:
                if prompt is not None:
                    await prompt.over.wait()

        return wait()

    async def aclose(self) -> None:
        """Cancel this connection's prompts and leave its sessions, within the time that a cancelled turn has."""
        for id in list(self._open):
            self._start_leaving(id, is_gone=True)
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def handle(self, request: AcpRequest, method: str) -> tuple[Value, AfterResponse]:
        match request:
            case NewSession():
                return await self._new(request)
            case LoadSession() | ResumeSession():
                return await self._load(request)
            case ForkSession():
                return await self._fork(request)
            case ListSessions():
                return await self._list(request), None
            case CloseSession():
                await self._leave(request.session_id)
                return EmptyResult(), None
            case DeleteSession():
                await self._delete(request.session_id)
                return EmptyResult(), None
            case SetOption() | SetMode():
                session = await self._set_option(request)
                options = session.transcript.options
                return SessionSetup(options=options) if isinstance(request, SetOption) else EmptyResult(), None
            case SetModel() if self._definition.legacy_models:
                await self._set_option(request)
                return EmptyResult(), None
            case CancelToolCall() | CancelTerminal():
                raise InvalidParams("this can't be cancelled by itself; session/cancel ends the turn")
            case _:
                raise MethodNotFound(method)

    async def _set_option(self, request: SetOption | SetMode | SetModel) -> AgentSession:
        turns = self._find(request.session_id)
        await set_option(self._definition, turns.session, request)
        await turns.publisher.commit()
        return turns.session

    async def _new(self, request: NewSession) -> tuple[Value, AfterResponse]:
        check_servers(self._definition, self._endpoint.dialect, request.servers)
        directories = request.additional_directories
        summary = SessionSummary(session_id=_new_id(), cwd=request.cwd, additional_directories=directories)
        turns = self._make(summary)
        turns.session.is_new = True
        if self._store is not None:
            await self._store.create(_record(summary, self._user))
        try:
            await self._claim(turns)
            options = initial_options(self._definition, turns.session)
            turns.publisher.send_nowait(OptionsPatch(options=options), silent=True)
            turns.publisher.transcript.apply(self._commands())
            await self._prepare(turns.session)
            await turns.publisher.commit()
        except BaseException:
            await self._discard(turns)
            raise
        return self._open_new(turns, request.servers)

    async def _fork(self, request: ForkSession) -> tuple[Value, AfterResponse]:
        if self._store is None:
            raise MethodNotFound("session/fork")
        check_servers(self._definition, self._endpoint.dialect, request.servers)
        before = await self._store.find(request.session_id)
        if before is not None:
            self._check_user(before.user, request.session_id)
        title = None if before is None else before.title
        directories = request.additional_directories
        summary = SessionSummary(session_id=_new_id(), cwd=request.cwd, additional_directories=directories, title=title)
        turns = self._make(summary)
        turns.session.is_new = True
        await self._store.fork(request.session_id, _record(summary, self._user))
        try:
            await self._restore(turns)
        except BaseException:
            await self._discard(turns)
            raise
        return self._open_new(turns, request.servers)

    async def _discard(self, turns: TurnQueue) -> None:
        await turns.close()
        if self._store is not None:
            await self._store.delete(turns.session.id)

    def _open_new(self, turns: TurnQueue, servers: list[McpServer]) -> tuple[Value, AfterResponse]:
        self._add(turns)
        result = self._setup(turns.session)
        result.session_id = turns.session.id
        return result, partial(self._after_open, turns, servers)

    async def _load(self, request: LoadSession | ResumeSession) -> tuple[Value, AfterResponse]:
        check_servers(self._definition, self._endpoint.dialect, request.servers)
        is_load = isinstance(request, LoadSession)
        async with self._sessions.lock(request.session_id):
            turns = self._sessions.find(request.session_id)
            if turns is not None:
                self._check_user(turns.publisher.user, request.session_id)
            if turns is not None and await turns.publisher.journal.is_lost():
                await self._sessions.close(turns)  # its new owner has the rest of the history
                turns = None
            if turns is None and is_load and _claim_mode(request) == "none":
                return await self._read_only(request)
            servers = request.servers if turns is None else []
            if turns is None:
                turns = await self._find_stored(request)
                await self._restore(turns, take_over=_claim_mode(request) == "take_over")
                self._add(turns)
            else:
                _check_cwd(str(turns.session.cwd), request.cwd)
                self._open[request.session_id] = turns
            stream = turns.publisher.stream
            subscription = stream.find(self._endpoint) or stream.subscribe(self._endpoint)
            turns.servers.skip([] if servers else request.servers)
        await self._replay(turns, subscription, whole=is_load)
        return self._setup(turns.session), partial(self._after_open, turns, servers, has_commands=is_load)

    async def _read_only(self, request: LoadSession) -> tuple[Value, AfterResponse]:
        """Send the history of a session without opening it: another process may have it open."""
        turns = await self._find_stored(request)
        await self._read_history(turns)
        await self._replay(turns, turns.publisher.stream.subscriptions[0], whole=True)
        return self._setup(turns.session), None

    async def _find_stored(self, request: LoadSession | ResumeSession) -> TurnQueue:
        stored = None if self._store is None else await self._store.find(request.session_id)
        if stored is None:
            raise NotFound(session_id=request.session_id)
        self._check_user(stored.user, request.session_id)
        _check_cwd(stored.cwd, request.cwd)
        turns = self._make(replace(stored, additional_directories=request.additional_directories))
        turns.publisher.user = stored.user
        return turns

    async def _restore(self, turns: TurnQueue, *, take_over: bool = False) -> None:
        """Claimed first, so that no other process adds to the history that is read."""
        try:
            await self._claim(turns, take_over=take_over)
            await self._read_history(turns)
            await self._prepare(turns.session)
        except BaseException:
            await turns.close()
            raise

    async def _claim(self, turns: TurnQueue, *, take_over: bool = False) -> None:
        if self._store is not None:
            await turns.publisher.journal.claim(self._definition.owner, take_over=take_over)

    async def _list(self, request: ListSessions) -> SessionPage:
        if self._store is not None:
            page = await self._store.list(request.cwd, request.cursor, user=self._user)
            return SessionPage(sessions=list(page.sessions), next_cursor=page.next_cursor)
        if request.cursor is not None:
            raise InvalidParams("unknown page", field="cursor")
        sessions = self._sessions.summaries(self._user)
        return SessionPage(sessions=[each for each in sessions if request.cwd in (None, each.cwd)])

    async def _leave(self, session_id: str) -> None:
        leaving = self._start_leaving(session_id)
        if leaving is not None:
            await asyncio.shield(leaving)

    def _start_leaving(self, session_id: str, *, is_gone: bool = False) -> asyncio.Task[None] | None:
        turns = self._open.pop(session_id, None)
        if turns is None:
            return None
        # A task of its own: a caller that stops waiting must not leave it half closed.
        leaving = asyncio.create_task(self._sessions.leave(turns, self._endpoint, is_gone=is_gone))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return leaving

    async def _delete(self, session_id: str) -> None:
        await self._check_deletable(session_id)
        await self._leave(session_id)
        await self._sessions.end(session_id)
        if self._store is not None:
            await self._store.delete(session_id)

    async def _check_deletable(self, session_id: str) -> None:
        turns = self._sessions.find(session_id)
        if turns is not None:
            self._check_user(turns.publisher.user, session_id)
        elif self._store is not None and self._user is not None:
            stored = await self._store.find(session_id)
            if stored is not None:
                self._check_user(stored.user, session_id)

    @property
    def _user(self) -> str | None:
        return None if self._endpoint.identity is None else self._endpoint.identity.user

    def _check_user(self, owner: str | None, session_id: str) -> None:
        """NotFound for a session of somebody else."""
        if self._user is not None and self._user != owner:
            raise NotFound(session_id=session_id)

    def _make(self, summary: SessionSummary) -> TurnQueue:
        """A session with this connection as its subscriber, not open yet."""
        id, cwd, definition = summary.session_id, Path(summary.cwd), self._definition
        publisher = Publisher(id, cwd, self._store, definition.policy.merge_seconds)
        try:
            session = AgentSession(summary, publisher)
        except ValueError as error:  # such as a NUL in the path
            raise InvalidParams(str(error), field="cwd") from None
        publisher.user = self._user
        publisher.stream.subscribe(self._endpoint)

        def notify(notice: Notice) -> None:
            publisher.send_nowait(NoticePatch(notice=notice))

        return TurnQueue(
            session,
            publisher,
            SessionServers(id, cwd, notify),
            policy=definition.policy,
            handle=partial(handle, definition),
            is_command=partial(is_command, definition),
        )

    def _add(self, turns: TurnQueue) -> None:
        self._sessions.add(turns)
        self._open[turns.session.id] = turns

    async def _prepare(self, session: AgentSession) -> None:
        if self._definition.session_handler is not None:
            await call_handler(self._definition.session_handler, session)

    async def _read_history(self, turns: TurnQueue) -> None:
        """Read the journal; tool calls that were open when it broke off have failed (FN-25)."""
        assert self._store is not None
        publisher, session = turns.publisher, turns.session
        transcript = publisher.transcript
        async for patches in self._store.read(session.id):
            for patch in patches:
                transcript.apply(patch)
            await asyncio.sleep(0)
        for call in transcript.open_calls:
            publisher.send_nowait(ToolCallPatch(id=call.id, status="failed"), silent=True)
        session.previous_options = session.options
        transcript.apply(OptionsPatch(options=initial_options(self._definition, session)))
        transcript.apply(self._commands())

    async def _replay(self, turns: TurnQueue, subscription: Subscription, *, whole: bool) -> None:
        """Send the whole history, or only the current state, which comes last in both."""
        session_id, transcript = turns.session.id, turns.publisher.transcript
        turns.publisher.stream.flush()
        async with subscription.replaying(whole):
            if not whole:
                state = transcript.state
                subscription.post(StateChanged(state=state, patch=StatePatch(state=state), created=True))
                return
            self._endpoint.dialect.forget_session(session_id)  # the client may know nothing of it
            for number, update in enumerate(replay(transcript)):
                if not subscription.post(update):
                    await self._endpoint.peer.drain()
                if number % _YIELD_INTERVAL == 0:
                    await asyncio.sleep(0)

    def _setup(self, session: AgentSession) -> SessionSetup:
        options = session.transcript.options
        if not options:
            return SessionSetup()
        has_models = self._definition.legacy_models and self._endpoint.dialect.has_models
        return SessionSetup(options=options, models=option_to_models(options) if has_models else UNSET)

    def _after_open(self, turns: TurnQueue, servers: list[McpServer], has_commands: bool = False) -> None:
        """What follows the response that opens a session (FN-01)."""
        record("opened", self._endpoint, turns.session.id)
        subscription = turns.publisher.stream.find(self._endpoint)
        commands = turns.session.transcript.commands
        if subscription is not None:
            if commands and not has_commands:
                patch = CommandsPatch(commands=commands)
                subscription.post(CommandsChanged(commands=commands, patch=patch, created=True))
            if not subscription.is_ready:
                subscription.begin()
            turns.publisher.questions.join(self._endpoint)
        turns.servers.connect(self._definition, [*turns.session.own_servers, *servers])

    def _commands(self) -> CommandsPatch:
        return CommandsPatch(commands=[each.command for each in self._definition.commands.values()])

    def _find(self, session_id: str) -> TurnQueue:
        turns = self._open.get(session_id)
        if turns is None or turns.session.is_closed:
            raise NotFound(session_id=session_id)
        return turns


def _record(summary: SessionSummary, user: str | None) -> SessionRecord:
    from accord.store.store import SessionRecord  # noqa: PLC0415  # loaded already by whoever has a store

    return SessionRecord(
        session_id=summary.session_id,
        cwd=summary.cwd,
        additional_directories=summary.additional_directories,
        title=summary.title,
        user=user,
    )


def _claim_mode(request: LoadSession | ResumeSession) -> Any:
    return (request.meta or {}).get(CLAIM)


def _new_id() -> str:
    return f"session-{os.urandom(12).hex()}"


def _check_cwd(stored: str, requested: str) -> None:
    if os.path.normpath(stored) != os.path.normpath(requested):
        raise InvalidParams("the session belongs to another directory", field="cwd")
