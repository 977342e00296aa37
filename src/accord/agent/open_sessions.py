"""The sessions that are open on one connection: opened, listed, changed and closed, with a store behind them or not."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accord.agent.connected_client import ConnectedClient
from accord.agent.engine import Engine
from accord.agent.handling import handle
from accord.agent.registered import called
from accord.agent.sessions import Session
from accord.errors import InvalidParams, MethodNotFound, NotFound
from accord.session.entities import Command, Notice, Option
from accord.session.replay import replay
from accord.session.requests import (
    Asked,
    CancelTerminal,
    CancelToolCall,
    CloseSession,
    DeleteSession,
    Done,
    ForkSession,
    ListSessions,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
    SessionOpened,
    SessionPage,
    SessionSummary,
    SetMode,
    SetOption,
)
from accord.session.servers import McpServer
from accord.session.updates import CommandsReport, NoticeReport, OptionsReport, StateChanged, ToolCallPatch
from accord.session.word import Word

if TYPE_CHECKING:
    from accord.agent.app import Agent
    from accord.agent.mcp import ServerFate
    from accord.store.kept import Kept

__all__ = ["OpenSessions"]

log = logging.getLogger("accord.agent")

_BREATH = 64
Then = Callable[[], None] | None


class OpenSessions:
    """Answers whatever concerns sessions; what should follow an answer comes with it."""

    def __init__(self, agent: Agent, client: ConnectedClient) -> None:
        self._agent = agent
        self._client = client
        self._sessions: dict[str, Session] = {}
        self._engines: dict[str, Engine] = {}
        self._opening = asyncio.Lock()

    def take(self, asked: Prompt) -> Coroutine[Any, Any, Any]:
        """Put a prompt in its place; what is returned answers it."""
        return self._engine(asked.session_id).take(asked)

    def cancel(self, session_id: str) -> None:
        """End the session's turns; nothing when there are none (FN-21)."""
        engine = self._engines.get(session_id)
        if engine is not None:
            engine.cancel()

    async def aclose(self) -> None:
        """End every turn and free every session, in the time that a cancelled turn has."""
        await asyncio.gather(*(self._close(id) for id in list(self._sessions)), return_exceptions=True)

    async def answer(self, asked: Asked) -> tuple[Word, Then]:
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
                await self._close(asked.session_id)
                return Done(), None
            case DeleteSession():
                await self._close(asked.session_id)
                if self._agent.store is not None:
                    await self._agent.store.delete(asked.session_id)
                return Done(), None
            case SetOption():
                session = self._session(asked.session_id)
                await self._choose(session, asked.option_id, asked.value, "configId")
                return SessionOpened(options=session.transcript.options), None
            case SetMode():
                session = self._session(asked.session_id)
                await self._choose(session, _mode_option(session), asked.mode_id, "modeId")
                return Done(), None
            case CancelToolCall() | CancelTerminal():
                raise InvalidParams("this can't be cancelled by itself; session/cancel ends the turn")
            case _:
                raise MethodNotFound(type(asked).__name__)

    async def _new(self, asked: NewSession) -> tuple[Word, Then]:
        self._check_servers(asked.servers)
        summary = SessionSummary(
            session_id=_new_id(), cwd=asked.cwd, additional_directories=asked.additional_directories
        )
        session = self._made(summary)
        await self._prepare(session)
        if self._agent.store is not None:
            await self._agent.store.create(_kept(summary))
        session.report(OptionsReport(options=self._options(session)), told=False)
        await session.commit()
        return self._open(session, asked.servers, session.id)

    async def _fork(self, asked: ForkSession) -> tuple[Word, Then]:
        store = self._agent.store
        if store is None:
            raise MethodNotFound("session/fork")
        self._check_servers(asked.servers)
        title = None if (before := await store.find(asked.session_id)) is None else before.title
        directories = asked.additional_directories
        summary = SessionSummary(session_id=_new_id(), cwd=asked.cwd, additional_directories=directories, title=title)
        await store.fork(asked.session_id, _kept(summary))
        session = self._made(summary)
        await self._recall(session)
        await self._prepare(session)
        return self._open(session, asked.servers, session.id)

    async def _take_up(self, asked: LoadSession | ResumeSession) -> tuple[Word, Then]:
        self._check_servers(asked.servers)
        async with self._opening:  # one after the other, or two requests for one session would open it twice
            return await self._taken_up(asked)

    async def _taken_up(self, asked: LoadSession | ResumeSession) -> tuple[Word, Then]:
        session = self._sessions.get(asked.session_id)
        if session is None:
            kept = None if self._agent.store is None else await self._agent.store.find(asked.session_id)
            if kept is None:
                raise NotFound(session_id=asked.session_id)
            _check_cwd(kept.cwd, asked.cwd)
            session = self._made(replace(kept, additional_directories=asked.additional_directories))
            await self._recall(session)
            await self._prepare(session)
        else:
            _check_cwd(str(session.cwd), asked.cwd)
        await self._retell(session, whole=isinstance(asked, LoadSession))
        if asked.session_id in self._sessions:
            return self._opened(session), None
        return self._open(session, asked.servers, was_told=isinstance(asked, LoadSession))

    async def _list(self, asked: ListSessions) -> SessionPage:
        if self._agent.store is not None:
            page = await self._agent.store.list(asked.cwd, asked.cursor)
            return SessionPage(sessions=list(page.sessions), next_cursor=page.next_cursor)
        if asked.cursor is not None:
            raise InvalidParams("there is no such page", field="cursor")
        sessions = [session.summary() for session in self._sessions.values()]
        return SessionPage(sessions=[each for each in sessions if asked.cwd in (None, each.cwd)])

    async def _close(self, session_id: str) -> None:
        engine = self._engines.pop(session_id, None)
        session = self._sessions.pop(session_id, None)
        if engine is not None:
            await engine.stop()
        if session is not None:
            await session.release()
            self._client.dialect.forget_session(session_id)

    async def _choose(self, session: Session, option_id: str | None, value: str | bool, field: str) -> None:
        option = None if option_id is None else session.option(option_id)
        if option is None:
            raise InvalidParams("there is no such option", field=field)
        fits = isinstance(value, bool) if option.kind == "boolean" else value in [each.value for each in option.choices]
        if not fits:
            raise InvalidParams("the option does not have this value", field="value" if field == "configId" else field)
        offered = self._agent.options.get(option.id)
        if offered is not None and offered.handler is not None:
            await called(offered.handler, session, value)
        current = session.transcript.options
        await session.set_options([replace(each, value=value) if each.id == option.id else each for each in current])
        await session.commit()

    def _made(self, kept: SessionSummary) -> Session:
        return Session(kept, self._client, self._agent.store, self._agent.policy.merge_seconds)

    async def _prepare(self, session: Session) -> None:
        if self._agent.session_handler is not None:
            await called(self._agent.session_handler, session)

    async def _recall(self, session: Session) -> None:
        """Read the history; what was under way when it broke off has ended (FN-25)."""
        assert self._agent.store is not None
        async for reports in self._agent.store.read(session.id):
            for report in reports:
                session.transcript.apply(report)
            await asyncio.sleep(0)
        for call in list(session.transcript.tool_calls.values()):
            if not call.finished:
                session.report(ToolCallPatch(id=call.id, status="failed"), told=False)
        session.transcript.apply(OptionsReport(options=self._options(session)))
        session.transcript.apply(CommandsReport(commands=self._commands()))

    async def _retell(self, session: Session, whole: bool) -> None:
        """All of it, or only how it stands; the state comes last."""
        for number, change in enumerate(replay(session.transcript)):
            if whole or isinstance(change, StateChanged):
                session.send(change)
                await self._client.peer.drain()
            if number % _BREATH == 0:
                await asyncio.sleep(0)
        session.flush()

    def _open(
        self, session: Session, servers: list[McpServer], session_id: str | None = None, was_told: bool = False
    ) -> tuple[Word, Then]:
        self._sessions[session.id] = session
        self._engines[session.id] = Engine(session, self._agent.policy, partial(handle, self._agent))
        opened = self._opened(session)
        if session_id is not None:
            opened.session_id = session_id
        return opened, partial(self._follow, session, servers, was_told)

    def _opened(self, session: Session) -> SessionOpened:
        return SessionOpened(options=session.transcript.options) if session.transcript.options else SessionOpened()

    def _follow(self, session: Session, servers: list[McpServer], was_told: bool) -> None:
        """What belongs to a session that was just opened, right after its answer (FN-01)."""
        if self._agent.commands and not was_told:
            session.report(CommandsReport(commands=self._commands()))
        if servers:
            session.connecting = asyncio.create_task(self._connect(session, servers))

    def _options(self, session: Session) -> list[Option]:
        """The options there are, with the values that were chosen before and still exist."""
        chosen = session.options
        return [
            replace(option, value=chosen[option.id]) if _has(option, chosen.get(option.id)) else option
            for option in (offered.option for offered in self._agent.options.values())
        ]

    def _commands(self) -> list[Command]:
        return [offered.command for offered in self._agent.commands.values()]

    def _check_servers(self, servers: list[McpServer]) -> None:
        if servers and not self._client.dialect.odd_ids_allowed:
            from accord.agent.mcp import not_offered  # noqa: PLC0415  # most sessions name no server

            refusal = not_offered(servers, self._kinds())
            if refusal is not None:
                raise refusal

    def _kinds(self) -> Any:
        offered = self._agent.capabilities()
        kinds = [("stdio", offered.mcp_stdio), ("http", offered.mcp_http), ("sse", offered.mcp_sse)]
        return [kind for kind, is_offered in kinds if is_offered]

    async def _connect(self, session: Session, servers: list[McpServer]) -> None:
        from accord.agent.mcp import ServerConnections  # noqa: PLC0415

        session.servers = ServerConnections(
            session.cwd,
            kinds=self._kinds(),
            client_name=self._agent.info.name,
            client_version=self._agent.info.version,
            on_change=partial(_tell_fate, session),
        )
        try:
            await session.servers.connect(servers)
        except Exception:
            log.exception("the MCP servers of %s could not be connected", session.id)

    def _session(self, session_id: str) -> Session:
        if session_id not in self._sessions:
            raise NotFound(session_id=session_id)
        return self._sessions[session_id]

    def _engine(self, session_id: str) -> Engine:
        if session_id not in self._engines:
            raise NotFound(session_id=session_id)
        return self._engines[session_id]


def _tell_fate(session: Session, fate: ServerFate) -> None:
    """Every server's fate is in the log; one that can't be used is shown to the user as well (FN-54, FN-77)."""
    log.info("%s", fate)
    if fate.state in ("failed", "skipped", "lost"):
        notice = Notice(severity="warning", title=f"MCP server {fate.name!r}: {fate.state}", description=str(fate))
        session.report(NoticeReport(notice=notice))


def _kept(summary: SessionSummary) -> Kept:
    from accord.store.kept import Kept  # noqa: PLC0415  # whoever has a store has loaded it

    return Kept(
        session_id=summary.session_id,
        cwd=summary.cwd,
        additional_directories=summary.additional_directories,
        title=summary.title,
    )


def _new_id() -> str:
    return f"session-{os.urandom(12).hex()}"


def _mode_option(session: Session) -> str | None:
    return next((option.id for option in session.transcript.options if option.category == "mode"), None)


def _has(option: Option, value: Any) -> bool:
    if option.kind == "boolean":
        return isinstance(value, bool)
    return value in [choice.value for choice in option.choices]


def _check_cwd(kept: str, asked: str) -> None:
    if os.path.normpath(kept) != os.path.normpath(asked):
        raise InvalidParams("the session belongs to another directory", field="cwd")
