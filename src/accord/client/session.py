"""A session as a client's user holds it: send prompts, choose modes and options, read the transcript."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from accord.client.capabilities import blocks_of, check_choice, check_content
from accord.client.open_session import OpenSession
from accord.client.reply import Reply
from accord.client.workspace.terminals import TerminalEvent
from accord.dialects.all_versions.options import MODEL
from accord.errors import InvalidParams, MethodNotFound, NotFound
from accord.session import Transcript
from accord.session.content import Content
from accord.session.entities import Modes, Option, SlashCommand
from accord.session.requests import (
    CancelTerminal,
    CancelToolCall,
    CloseSession,
    SessionSetup,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.updates import ModePatch, OptionsPatch, Update
from accord.session.value import UNSET


class SessionUpdate(msgspec.Struct, frozen=True):
    """An update of a session in which no prompt of ours runs. `replayed`: it is history of a session that is loaded."""

    session: Session
    update: Update
    replayed: bool = False


OnUpdate: TypeAlias = Callable[[SessionUpdate], Awaitable[None] | None]


class Session:
    """One conversation. Its `transcript` is current: it has every update before a reply or a callback gets it.

    `on_update` gets the updates while no prompt runs, in place of the client's `on_update`.
    """

    def __init__(self, opened: OpenSession, on_update: OnUpdate | None, forget: Callable[[], Awaitable[None]]) -> None:
        self.on_update: OnUpdate | None = None
        self._open = opened
        self._client_on_update = on_update
        self._forget = forget
        self._wrap = partial(SessionUpdate, self)
        self._wrap_replayed = partial(SessionUpdate, self, replayed=True)
        opened.on_update = self._put_update

    @property
    def id(self) -> str:
        """The agent's id of the session, by which it can be loaded or resumed."""
        return self._open.id

    @property
    def cwd(self) -> str:
        """The session's directory, absolute."""
        return self._open.cwd

    @property
    def additional_directories(self) -> list[str]:
        """Further directories of the session, absolute."""
        return self._open.additional_directories

    @property
    def transcript(self) -> Transcript:
        """Everything that happened in the session."""
        return self._open.transcript

    @property
    def options(self) -> list[Option]:
        """The session's settings, with their values."""
        return self.transcript.options

    @property
    def modes(self) -> Modes | None:
        """The available modes and the current one; None when the agent has none, or only an option for them."""
        return self.transcript.modes

    @property
    def commands(self) -> list[SlashCommand]:
        """The slash commands that a prompt may begin with."""
        return self.transcript.commands

    @property
    def dialect(self) -> str:
        """As `Client.dialect`."""
        return self._open.connection.dialect.name

    @property
    def is_busy(self) -> bool:
        """Whether a prompt of ours runs."""
        return self._open.is_busy

    @property
    def is_closed(self) -> bool:
        """Whether the session was closed here, or its connection was closed."""
        return self._open.is_closed

    @property
    def is_resumed(self) -> bool:
        """Whether the session existed before: it was loaded or resumed."""
        return self._open.is_resumed

    def prompt(self, content: str | Content | Iterable[str | Content]) -> Reply:
        """Send a prompt, or queue it while another one runs in this session. The reply need not be read.

        InvalidParams for content that the agent does not accept (PROMPT-05), ValueError for a malformed block or an
        empty prompt, TypeError for something that is not content.
        """
        connection = self._open.connection
        connection.check_open()
        if self.is_closed:
            raise NotFound(session_id=self.id)
        blocks = blocks_of(content)
        check_content(blocks, connection.agent.capabilities)
        return Reply(self._open.prompt(blocks), self._open.cancel_turn)

    async def cancel(self) -> None:
        """Cancel the running turn and all queued prompts. Returns when the agent has been told, not when it is done.

        Its open requests for permission are answered with `cancelled` (CANCEL-04), its open tool calls are marked as
        cancelled until it says otherwise (CANCEL-03). If the turn does not end within `Deadlines.cancel_grace`, the
        connection is closed.
        """
        await self._open.cancel()

    def kill_agent(self) -> None:
        """As `Client.kill_agent`, for an agent that does not react to a cancel; its other sessions are closed, too."""
        self._open.connection.kill()

    async def close(self) -> None:
        """Close the session here, and at the agent if it supports that. Safe to call twice."""
        if self.is_closed:
            return
        self._open.cancel_questions()
        self._open.drop_queued()
        try:
            if not await self._close_at_agent():
                await self._open.end_running()
        except NotFound:
            pass  # it is gone, as we want it
        finally:
            await self._forget()

    async def _close_at_agent(self) -> bool:
        """Whether the agent has closed it; False also for one that advertises the method and does not have it."""
        connection = self._open.connection
        capabilities = connection.agent.capabilities
        if capabilities.close:
            try:
                await connection.request(CloseSession(session_id=self.id))
            except MethodNotFound:
                capabilities.close = False
        return capabilities.close

    async def set_mode(self, mode_id: str) -> None:
        """Switch to one of the modes; where the mode is an option (v2), sets that option."""
        connection, modes = self._open.connection, self.modes
        if modes is None or not connection.dialect.has_modes:
            option = next((option for option in self.options if option.category == "mode"), None)
            if option is None:
                raise MethodNotFound("session/set_mode")
            await self.set_option(option.id, mode_id)
            return
        if mode_id not in [mode.id for mode in modes.available]:
            raise InvalidParams(f"the session has no mode {mode_id!r}", field="modeId")
        await connection.request(SetMode(session_id=self.id, mode_id=mode_id))
        if self.modes is modes:  # the agent need not report the mode; if it reports another one, that is in force
            self._open.take(ModePatch(mode_id=mode_id), 0)

    async def set_option(self, option_id: str, value: str | bool) -> None:
        """Set an option; the agent may change others with it. InvalidParams for an option or value that is not listed.

        If the agent does not respond with all options, this one is taken to be set, unless it reports another value.
        """
        check_choice(self.options, option_id, value)
        if self._open.lists_models and option_id == MODEL:
            await self._set_model(str(value))
            return
        before = next((option for option in self.options if option.id == option_id), None)
        request = SetOption(session_id=self.id, option_id=option_id, value=value)
        setup: SessionSetup = await self._open.connection.request(request)
        options = setup.options
        if options is UNSET:  # FN-103: if no update has changed the option meanwhile, it is still the same object
            options = [replace(option, value=value) if option is before else option for option in self.options]
        if options != self.options:
            self._open.take(OptionsPatch(options=options), 0)

    async def _set_model(self, model_id: str) -> None:
        await self._open.connection.request(SetModel(session_id=self.id, model_id=model_id))
        options = [replace(option, value=model_id) if option.id == MODEL else option for option in self.options]
        self._open.take(OptionsPatch(options=options), 0)

    async def cancel_tool_call(self, tool_call_id: str) -> None:
        """Cancel one tool call that is `cancellable`; v2 only."""
        await self._open.connection.request(CancelToolCall(session_id=self.id, tool_call_id=tool_call_id))

    async def cancel_terminal(self, terminal_id: str) -> None:
        """Stop the process in one of the agent's terminals that is `cancellable`; v2 only."""
        await self._open.connection.request(CancelTerminal(session_id=self.id, terminal_id=terminal_id))

    def show_terminal(self, event: TerminalEvent) -> None:
        """Apply an event of the workspace's `on_terminal`, so that the transcript has the terminal as in v2."""
        if event.patch is not None:
            self._open.take(event.patch, 0)

    async def wait_delivered(self) -> None:
        """Wait until `on_update` has been called with everything that has arrived. Deadlocks inside `on_update`."""
        await self._open.connection.callbacks.join()

    def _put_update(self, update: Update, is_replayed: bool, size: int) -> None:
        callback = self.on_update or self._client_on_update
        if callback is not None:
            wrap = self._wrap_replayed if is_replayed else self._wrap
            self._open.connection.callbacks.put_update(callback, update, size, wrap)
