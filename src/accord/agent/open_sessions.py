"""The sessions that one connection has open: opened, listed, changed and closed, with a store behind them or not.

A session that another connection of the agent has open is not opened again: this one listens, too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accord.agent.connected_client import ConnectedClient
from accord.agent.engine import Engine
from accord.agent.handling import handle, is_command
from accord.agent.listeners import Listener
from accord.agent.live import Live
from accord.agent.registered import called
from accord.agent.session_servers import begin_to_connect, check_servers, skip_servers
from accord.agent.sessions import Session
from accord.agent.waiting import WaitingPrompt
from accord.dialects.models import model_option, models_of
from accord.errors import InvalidParams, MethodNotFound, NotFound
from accord.session.entities import Command, Option
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
    SetModel,
    SetOption,
)
from accord.session.servers import McpServer
from accord.session.updates import (
    CommandsChanged,
    CommandsReport,
    OptionsReport,
    StateChanged,
    StateReport,
    ToolCallPatch,
)
from accord.session.word import UNSET, Word

if TYPE_CHECKING:
    from accord.agent.app import Agent
    from accord.store.kept import Kept

__all__ = ["OpenSessions"]

_BREATH = 64
CLAIM = "accord/claim"
"""In the `_meta` of session/load and session/resume: `take_over` takes a session away from another process, and `none`
lets a session be loaded that another process has, to be read and no more."""
Then = Callable[[], None] | None


class OpenSessions:
    """Answers whatever concerns sessions; what should follow an answer comes with it."""

    def __init__(self, agent: Agent, client: ConnectedClient) -> None:
        self._agent = agent
        self._client = client
        self._open: dict[str, Live] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def take(self, asked: Prompt) -> Coroutine[Any, Any, Any]:
        """Put a prompt in its place; what is returned answers it."""
        return self._find(asked.session_id).engine.take(asked, self._client)

    def cancel(self, session_id: str) -> None:
        """End the session's turns, whoever asked for them; nothing when there are none (FN-21)."""
        live = self._open.get(session_id)
        if live is not None:
            live.engine.cancel()

    def cancel_all(self) -> list[WaitingPrompt]:
        """Cancel every turn that this connection asked for; those that are left to end."""
        withdrawn = [live.engine.withdraw(self._client) for live in self._open.values()]
        return [waiting for waiting in withdrawn if waiting is not None]

    async def aclose(self) -> None:
        """End what this connection asked for and leave its sessions, in the time that a cancelled turn has."""
        for id in list(self._open):
            self._begin_to_leave(id)
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def answer(self, asked: Asked, method: str) -> tuple[Word, Then]:
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
                return Done(), None
            case DeleteSession():
                await self._delete(asked.session_id)
                return Done(), None
            case SetOption():
                session = self._find(asked.session_id).session
                await self._choose(session, asked.option_id, asked.value, "configId")
                return SessionOpened(options=session.transcript.options), None
            case SetMode():
                session = self._find(asked.session_id).session
                await self._choose(session, _mode_option(session), asked.mode_id, "modeId")
                return Done(), None
            case SetModel() if self._agent.legacy_models:
                session = self._find(asked.session_id).session
                option = model_option(session.transcript.options)
                if option is None:
                    raise MethodNotFound(method)
                await self._choose(session, option.id, asked.model_id, "modelId")
                return Done(), None
            case CancelToolCall() | CancelTerminal():
                raise InvalidParams("this can't be cancelled by itself; session/cancel ends the turn")
            case _:
                raise MethodNotFound(method)

    async def _new(self, asked: NewSession) -> tuple[Word, Then]:
        check_servers(self._agent, self._client, asked.servers)
        directories = asked.additional_directories
        summary = SessionSummary(session_id=_new_id(), cwd=asked.cwd, additional_directories=directories)
        session, store = self._made(summary), self._agent.store
        session.is_new = True
        if store is not None:
            await store.create(_kept(summary))
        try:
            await self._claim(session)
            session.report(OptionsReport(options=self._options(session)), told=False)
            session.transcript.apply(CommandsReport(commands=self._commands()))
            await self._prepare(session)
            await session.commit()
        except BaseException:
            await session.release()
            if store is not None:
                await store.delete(session.id)
            raise
        return self._opened_anew(session, asked.servers)

    async def _fork(self, asked: ForkSession) -> tuple[Word, Then]:
        store = self._agent.store
        if store is None:
            raise MethodNotFound("session/fork")
        check_servers(self._agent, self._client, asked.servers)
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

    def _opened_anew(self, session: Session, servers: list[McpServer]) -> tuple[Word, Then]:
        self._enter(session)
        answer = self._answer(session)
        answer.session_id = session.id
        return answer, partial(self._follow, session, servers)

    async def _take_up(self, asked: LoadSession | ResumeSession) -> tuple[Word, Then]:
        check_servers(self._agent, self._client, asked.servers)
        whole = isinstance(asked, LoadSession)
        async with self._agent.live.turnstile(asked.session_id):
            live = self._agent.live.find(asked.session_id)
            if live is not None and await live.session.is_lost():
                await self._agent.live.close(live)  # what was said since is told by its new owner
                live = None
            if live is None and whole and _wants(asked, "none"):
                return await self._look(asked)
            servers = asked.servers if live is None else []
            if live is None:
                live = self._enter(await self._kept_session(asked))
            else:
                _check_cwd(str(live.session.cwd), asked.cwd)
                self._open[asked.session_id] = live
            session = live.session
            listener = session.listener(self._client) or session.attach(self._client)
            skip_servers(session, [] if servers else asked.servers)
        await self._retell(session, listener, whole)
        return self._answer(session), partial(self._follow, session, servers, has_commands=whole)

    async def _look(self, asked: LoadSession) -> tuple[Word, Then]:
        """Tell a session that stays closed: whoever has it goes on with it."""
        session = await self._found(asked)
        await self._recall(session)
        await self._retell(session, session.listeners[0], whole=True)
        return self._answer(session), None

    async def _kept_session(self, asked: LoadSession | ResumeSession) -> Session:
        return await self._recalled(await self._found(asked), take_over=_wants(asked, "take_over"))

    async def _found(self, asked: LoadSession | ResumeSession) -> Session:
        kept = None if self._agent.store is None else await self._agent.store.find(asked.session_id)
        if kept is None:
            raise NotFound(session_id=asked.session_id)
        _check_cwd(kept.cwd, asked.cwd)
        return self._made(replace(kept, additional_directories=asked.additional_directories))

    async def _recalled(self, session: Session, *, take_over: bool = False) -> Session:
        """Claimed first, so that nobody adds to the history that is read."""
        await self._claim(session, take_over=take_over)
        try:
            await self._recall(session)
            await self._prepare(session)
        except BaseException:
            await session.release()
            raise
        return session

    async def _claim(self, session: Session, *, take_over: bool = False) -> None:
        if self._agent.store is not None:
            session.claim = await self._agent.store.claim(session.id, self._agent.owner, take_over)

    async def _list(self, asked: ListSessions) -> SessionPage:
        if self._agent.store is not None:
            page = await self._agent.store.list(asked.cwd, asked.cursor)
            return SessionPage(sessions=list(page.sessions), next_cursor=page.next_cursor)
        if asked.cursor is not None:
            raise InvalidParams("there is no such page", field="cursor")
        sessions = self._agent.live.summaries()
        return SessionPage(sessions=[each for each in sessions if asked.cwd in (None, each.cwd)])

    async def _leave(self, session_id: str) -> None:
        leaving = self._begin_to_leave(session_id)
        if leaving is not None:
            await asyncio.shield(leaving)

    def _begin_to_leave(self, session_id: str) -> asyncio.Task[None] | None:
        live = self._open.pop(session_id, None)
        if live is None:
            return None
        # A task of its own: whoever gives up waiting must not leave it half closed.
        leaving = asyncio.create_task(self._agent.live.leave(live, self._client))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return leaving

    async def _delete(self, session_id: str) -> None:
        await self._leave(session_id)
        await self._agent.live.end(session_id)
        if self._agent.store is not None:
            await self._agent.store.delete(session_id)

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
        try:
            session = Session(kept, self._agent.store, self._agent.policy.merge_seconds)
        except ValueError as error:  # such as a NUL in it
            raise InvalidParams(str(error), field="cwd") from None
        session.attach(self._client)
        return session

    def _enter(self, session: Session) -> Live:
        engine = Engine(
            session, self._agent.policy, partial(handle, self._agent), partial(is_command, self._agent, session)
        )
        live = Live(session, engine)
        self._agent.live.add(live)
        self._open[session.id] = live
        return live

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
        session.chosen = session.options
        session.transcript.apply(OptionsReport(options=self._options(session)))
        session.transcript.apply(CommandsReport(commands=self._commands()))

    async def _retell(self, session: Session, listener: Listener, whole: bool) -> None:
        """All of it, or only how it stands; the state comes last."""
        session.flush()
        async with listener.retelling(whole):
            if not whole:
                state = session.transcript.state
                listener.post(StateChanged(state=state, patch=StateReport(state=state), created=True))
                return
            self._client.dialect.forget_session(session.id)  # it is told as to somebody who knows nothing of it
            for number, change in enumerate(replay(session.transcript)):
                if not listener.post(change):
                    await self._client.peer.drain()
                if number % _BREATH == 0:
                    await asyncio.sleep(0)

    def _answer(self, session: Session) -> SessionOpened:
        options = session.transcript.options
        if not options:
            return SessionOpened()
        has_models = self._agent.legacy_models and self._client.dialect.has_models
        return SessionOpened(options=options, models=models_of(options) if has_models else UNSET)

    def _follow(self, session: Session, servers: list[McpServer], has_commands: bool = False) -> None:
        """What belongs to a session that was just opened, right after its answer (FN-01)."""
        listener = session.listener(self._client)
        commands = session.transcript.commands
        if listener is not None:
            if commands and not has_commands:
                told = CommandsReport(commands=commands)
                listener.post(CommandsChanged(commands=commands, patch=told, created=True))
            if not listener.is_ready:
                listener.begin()
        all_servers = [*session.own_servers, *servers]
        if all_servers and session.connecting is None:
            begin_to_connect(self._agent, session, all_servers)

    def _options(self, session: Session) -> list[Option]:
        """The options there are, with the values that were chosen before and still exist."""
        chosen = session.options
        return [
            replace(option, value=chosen[option.id]) if _has(option, chosen.get(option.id)) else option
            for option in (offered.option for offered in self._agent.options.values())
        ]

    def _commands(self) -> list[Command]:
        return [offered.command for offered in self._agent.commands.values()]

    def _find(self, session_id: str) -> Live:
        live = self._open.get(session_id)
        if live is None or live.is_over:
            raise NotFound(session_id=session_id)
        return live


def _kept(summary: SessionSummary) -> Kept:
    from accord.store.kept import Kept  # noqa: PLC0415  # whoever has a store has loaded it

    return Kept(
        session_id=summary.session_id,
        cwd=summary.cwd,
        additional_directories=summary.additional_directories,
        title=summary.title,
    )


def _wants(asked: LoadSession | ResumeSession, claim: str) -> bool:
    return (asked.meta or {}).get(CLAIM) == claim


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
