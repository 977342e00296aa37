"""The methods of the protocol that concern sessions, for one connection: `session/new`, `load`, `list`, `prompt` and the rest.

A session that another connection of the agent has open is not opened again: this one subscribes to it, too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from accord.agent.connection import AgentConnection
from accord.agent.definition import AgentDefinition, call_handler
from accord.agent.options import choose, offered_options
from accord.agent.session import AgentSession
from accord.agent.session_registry import SessionRegistry
from accord.agent.session_servers import check_servers
from accord.agent.slash_commands import handle, is_command
from accord.agent.turn_queue import TurnQueue
from accord.agent.update_stream import Subscription
from accord.dialects.all_versions.options import option_to_models
from accord.errors import InvalidParams, MethodNotFound, NotFound
from accord.session.entities import SlashCommand
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
    OptionsPatch,
    StateChanged,
    StatePatch,
    ToolCallPatch,
)
from accord.session.value import UNSET, Value

if TYPE_CHECKING:
    from accord.store.store import SessionRecord

__all__ = ["SessionMethods"]

_BREATH = 64
CLAIM = "accord/claim"
"""In the `_meta` of session/load and session/resume: `take_over` takes a session away from another process, and `none`
lets a session be loaded that another process has, to be read and no more."""
Then: TypeAlias = Callable[[], None] | None


class SessionMethods:
    """Answers whatever concerns sessions; what should follow an answer comes with it."""

    def __init__(self, definition: AgentDefinition, sessions: SessionRegistry, connection: AgentConnection) -> None:
        self._definition = definition
        self._sessions = sessions
        self._connection = connection
        self._open: dict[str, TurnQueue] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def prompt(self, asked: Prompt) -> Coroutine[Any, Any, Any]:
        """Put a prompt in its place; what is returned answers it."""
        return self._find(asked.session_id).take(asked, self._connection)

    def cancel(self, session_id: str) -> None:
        """End the session's turns, whoever asked for them; nothing when there are none (FN-21)."""
        turns = self._open.get(session_id)
        if turns is not None:
            turns.cancel()

    def cancel_all(self) -> Coroutine[Any, Any, None]:
        """Cancel every turn that this connection asked for, at once; what is returned waits for their ends."""
        withdrawn = [turns.withdraw(self._connection) for turns in self._open.values()]

        async def ended() -> None:
            for prompt in withdrawn:
                if prompt is not None:
                    await prompt.over.wait()

        return ended()

    async def aclose(self) -> None:
        """End what this connection asked for and leave its sessions, in the time that a cancelled turn has."""
        for id in list(self._open):
            self._begin_to_leave(id)
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def answer(self, asked: AcpRequest, method: str) -> tuple[Value, Then]:
        match asked:
            case NewSession():
                return await self._new(asked)
            case LoadSession() | ResumeSession():
                return await self._take_up(asked)
            case ForkSession():
                return await self._fork(asked)
            case ListSessions():
                return await self._list(asked), None
            case CloseSession():
                await self._leave(asked.session_id)
                return EmptyResult(), None
            case DeleteSession():
                await self._delete(asked.session_id)
                return EmptyResult(), None
            case SetOption():
                session = self._find(asked.session_id).session
                await choose(self._definition, session, asked)
                return SessionSetup(options=session.transcript.options), None
            case SetMode():
                await choose(self._definition, self._find(asked.session_id).session, asked)
                return EmptyResult(), None
            case SetModel() if self._definition.legacy_models:
                await choose(self._definition, self._find(asked.session_id).session, asked)
                return EmptyResult(), None
            case CancelToolCall() | CancelTerminal():
                raise InvalidParams("this can't be cancelled by itself; session/cancel ends the turn")
            case _:
                raise MethodNotFound(method)

    async def _new(self, asked: NewSession) -> tuple[Value, Then]:
        check_servers(self._definition, self._connection.dialect, asked.servers)
        directories = asked.additional_directories
        summary = SessionSummary(session_id=_new_id(), cwd=asked.cwd, additional_directories=directories)
        session, store = self._made(summary), self._definition.store
        session.is_new = True
        if store is not None:
            await store.create(_kept(summary))
        try:
            await self._claim(session)
            session.send_nowait(OptionsPatch(options=offered_options(self._definition, session)), silent=True)
            session.transcript.apply(CommandsPatch(commands=self._commands()))
            await self._prepare(session)
            await session.commit()
        except BaseException:
            await session.close()
            if store is not None:
                await store.delete(session.id)
            raise
        return self._opened_anew(session, asked.servers)

    async def _fork(self, asked: ForkSession) -> tuple[Value, Then]:
        store = self._definition.store
        if store is None:
            raise MethodNotFound("session/fork")
        check_servers(self._definition, self._connection.dialect, asked.servers)
        title = None if (before := await store.find(asked.session_id)) is None else before.title
        directories = asked.additional_directories
        summary = SessionSummary(session_id=_new_id(), cwd=asked.cwd, additional_directories=directories, title=title)
        session = self._made(summary)
        session.is_new = True
        await store.fork(asked.session_id, _kept(summary))
        try:
            await self._recalled(session)
        except BaseException:
            await store.delete(session.id)
            raise
        return self._opened_anew(session, asked.servers)

    def _opened_anew(self, session: AgentSession, servers: list[McpServer]) -> tuple[Value, Then]:
        self._enter(session)
        answer = self._answer(session)
        answer.session_id = session.id
        return answer, partial(self._follow, session, servers)

    async def _take_up(self, asked: LoadSession | ResumeSession) -> tuple[Value, Then]:
        check_servers(self._definition, self._connection.dialect, asked.servers)
        whole = isinstance(asked, LoadSession)
        async with self._sessions.lock(asked.session_id):
            turns = self._sessions.find(asked.session_id)
            if turns is not None and await turns.session.journal.is_lost():
                await self._sessions.close(turns)  # what was said since is told by its new owner
                turns = None
            if turns is None and whole and _wants(asked, "none"):
                return await self._look(asked)
            servers = asked.servers if turns is None else []
            if turns is None:
                turns = self._enter(await self._kept_session(asked))
            else:
                _check_cwd(str(turns.session.cwd), asked.cwd)
                self._open[asked.session_id] = turns
            session = turns.session
            subscription = session.stream.find(self._connection) or session.stream.subscribe(self._connection)
            session.mcp_servers.skip([] if servers else asked.servers)
        await self._replay(session, subscription, whole)
        return self._answer(session), partial(self._follow, session, servers, has_commands=whole)

    async def _look(self, asked: LoadSession) -> tuple[Value, Then]:
        """Tell a session that stays closed: whoever has it goes on with it."""
        session = await self._found(asked)
        await self._recall(session)
        await self._replay(session, session.stream.subscriptions[0], whole=True)
        return self._answer(session), None

    async def _kept_session(self, asked: LoadSession | ResumeSession) -> AgentSession:
        return await self._recalled(await self._found(asked), take_over=_wants(asked, "take_over"))

    async def _found(self, asked: LoadSession | ResumeSession) -> AgentSession:
        kept = None if self._definition.store is None else await self._definition.store.find(asked.session_id)
        if kept is None:
            raise NotFound(session_id=asked.session_id)
        _check_cwd(kept.cwd, asked.cwd)
        return self._made(replace(kept, additional_directories=asked.additional_directories))

    async def _recalled(self, session: AgentSession, *, take_over: bool = False) -> AgentSession:
        """Claimed first, so that nobody adds to the history that is read."""
        await self._claim(session, take_over=take_over)
        try:
            await self._recall(session)
            await self._prepare(session)
        except BaseException:
            await session.close()
            raise
        return session

    async def _claim(self, session: AgentSession, *, take_over: bool = False) -> None:
        if self._definition.store is not None:
            await session.journal.claim(self._definition.owner, take_over=take_over)

    async def _list(self, asked: ListSessions) -> SessionPage:
        if self._definition.store is not None:
            page = await self._definition.store.list(asked.cwd, asked.cursor)
            return SessionPage(sessions=list(page.sessions), next_cursor=page.next_cursor)
        if asked.cursor is not None:
            raise InvalidParams("there is no such page", field="cursor")
        sessions = self._sessions.summaries()
        return SessionPage(sessions=[each for each in sessions if asked.cwd in (None, each.cwd)])

    async def _leave(self, session_id: str) -> None:
        leaving = self._begin_to_leave(session_id)
        if leaving is not None:
            await asyncio.shield(leaving)

    def _begin_to_leave(self, session_id: str) -> asyncio.Task[None] | None:
        turns = self._open.pop(session_id, None)
        if turns is None:
            return None
        # A task of its own: whoever gives up waiting must not leave it half closed.
        leaving = asyncio.create_task(self._sessions.leave(turns, self._connection))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return leaving

    async def _delete(self, session_id: str) -> None:
        await self._leave(session_id)
        await self._sessions.end(session_id)
        if self._definition.store is not None:
            await self._definition.store.delete(session_id)

    def _made(self, kept: SessionSummary) -> AgentSession:
        try:
            session = AgentSession(kept, self._definition.store, self._definition.policy.merge_seconds)
        except ValueError as error:  # such as a NUL in it
            raise InvalidParams(str(error), field="cwd") from None
        session.stream.subscribe(self._connection)
        return session

    def _enter(self, session: AgentSession) -> TurnQueue:
        turns = TurnQueue(
            session,
            self._definition.policy,
            partial(handle, self._definition),
            partial(is_command, self._definition, session),
        )
        self._sessions.add(turns)
        self._open[session.id] = turns
        return turns

    async def _prepare(self, session: AgentSession) -> None:
        if self._definition.session_handler is not None:
            await call_handler(self._definition.session_handler, session)

    async def _recall(self, session: AgentSession) -> None:
        """Read the history; what was under way when it broke off has ended (FN-25)."""
        assert self._definition.store is not None
        async for reports in self._definition.store.read(session.id):
            for report in reports:
                session.transcript.apply(report)
            await asyncio.sleep(0)
        for call in list(session.transcript.tool_calls.values()):
            if not call.finished:
                session.send_nowait(ToolCallPatch(id=call.id, status="failed"), silent=True)
        session.previous_options = session.options
        session.transcript.apply(OptionsPatch(options=offered_options(self._definition, session)))
        session.transcript.apply(CommandsPatch(commands=self._commands()))

    async def _replay(self, session: AgentSession, subscription: Subscription, whole: bool) -> None:
        """All of it, or only how it stands; the state comes last."""
        session.stream.flush()
        async with subscription.replaying(whole):
            if not whole:
                state = session.transcript.state
                subscription.post(StateChanged(state=state, patch=StatePatch(state=state), created=True))
                return
            self._connection.dialect.forget_session(session.id)  # it is told as to somebody who knows nothing of it
            for number, change in enumerate(replay(session.transcript)):
                if not subscription.post(change):
                    await self._connection.peer.drain()
                if number % _BREATH == 0:
                    await asyncio.sleep(0)

    def _answer(self, session: AgentSession) -> SessionSetup:
        options = session.transcript.options
        if not options:
            return SessionSetup()
        has_models = self._definition.legacy_models and self._connection.dialect.has_models
        return SessionSetup(options=options, models=option_to_models(options) if has_models else UNSET)

    def _follow(self, session: AgentSession, servers: list[McpServer], has_commands: bool = False) -> None:
        """What belongs to a session that was just opened, right after its answer (FN-01)."""
        subscription = session.stream.find(self._connection)
        commands = session.transcript.commands
        if subscription is not None:
            if commands and not has_commands:
                told = CommandsPatch(commands=commands)
                subscription.post(CommandsChanged(commands=commands, patch=told, created=True))
            if not subscription.is_ready:
                subscription.begin()
        session.mcp_servers.begin_to_connect(self._definition, servers)

    def _commands(self) -> list[SlashCommand]:
        return [offered.command for offered in self._definition.commands.values()]

    def _find(self, session_id: str) -> TurnQueue:
        turns = self._open.get(session_id)
        if turns is None or turns.session.is_closed:
            raise NotFound(session_id=session_id)
        return turns


def _kept(summary: SessionSummary) -> SessionRecord:
    from accord.store.store import SessionRecord  # noqa: PLC0415  # whoever has a store has loaded it

    return SessionRecord(
        session_id=summary.session_id,
        cwd=summary.cwd,
        additional_directories=summary.additional_directories,
        title=summary.title,
    )


def _wants(asked: LoadSession | ResumeSession, claim: str) -> bool:
    return (asked.meta or {}).get(CLAIM) == claim


def _new_id() -> str:
    return f"session-{os.urandom(12).hex()}"


def _check_cwd(kept: str, asked: str) -> None:
    if os.path.normpath(kept) != os.path.normpath(asked):
        raise InvalidParams("the session belongs to another directory", field="cwd")
