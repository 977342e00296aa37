"""A session as a client has it: what was told, what runs, and what can be asked for."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from accord.client.callbacks import OnUpdate, SessionUpdate
from accord.client.capabilities import blocks_of, check_choice, check_content
from accord.client.foreground import Foreground
from accord.client.prompts import SentPrompt
from accord.client.reply import PromptedTurn, Reply
from accord.dialects.all_versions.options import MODEL, models_to_option
from accord.errors import AccordError, DeadlineExceeded, InvalidParams, MethodNotFound, NotFound
from accord.session import Transcript
from accord.session.content import Content
from accord.session.entities import USER, Modes, Option, SlashCommand, State
from accord.session.open_enums import FINAL_STATUSES
from accord.session.requests import (
    Cancel,
    CancelTerminal,
    CancelToolCall,
    CloseSession,
    SessionSetup,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.updates import (
    CommandsPatch,
    MessageAppend,
    MessagePatch,
    ModePatch,
    ModesPatch,
    NoticeShown,
    OptionsPatch,
    Patch,
    PlanPatch,
    StateChanged,
    StatePatch,
    ToolCallAppend,
    ToolCallPatch,
)
from accord.session.value import UNSET

if TYPE_CHECKING:
    from accord.client.connection import ClientConnection

__all__ = ["Session"]

log = logging.getLogger("accord.client")

_SHOWS_WORK = (MessageAppend, MessagePatch, ToolCallPatch, ToolCallAppend, PlanPatch)


class Session:
    """One conversation. `transcript` is current: whatever has arrived is in it, before anybody is told.

    `on_update` is called with what changes while no prompt runs, in place of the client's `on_update`.
    """

    def __init__(
        self, connection: ClientConnection, id: str, cwd: str, additional_directories: Iterable[str] = ()
    ) -> None:
        self.connection = connection
        self.id = id
        self.cwd = cwd
        self.additional_directories = list(additional_directories)
        self.transcript = Transcript(connection.transcript_bytes)
        self.on_update: OnUpdate | None = None
        self.is_replaying = False
        """Whether what arrives now is history: it is being loaded or resumed."""
        self.is_taken_up = False
        """Whether it was there before this connection: loaded, or resumed."""
        self.is_closed = False
        self.cancels = 0
        """How often it was cancelled."""
        self._turns: deque[PromptedTurn] = deque()
        self._running: PromptedTurn | None = None
        self.foreground = Foreground(self)
        self._questions = 0
        self._heard_unprompted = 0
        self._lists_models = False
        self._late: SentPrompt | None = None
        """The prompt of a turn that ended without a word: its echo may follow with all the rest (FN-02)."""

    @property
    def options(self) -> list[Option]:
        """The session's settings, with their values."""
        return self.transcript.options

    @property
    def modes(self) -> Modes | None:
        """The modes there are and the one in force; None when the agent has none, or only the option for it."""
        return self.transcript.modes

    @property
    def commands(self) -> list[SlashCommand]:
        """The slash commands that a prompt may begin with."""
        return self.transcript.commands

    @property
    def is_busy(self) -> bool:
        """Whether a prompt of ours runs."""
        return self._running is not None

    @property
    def awaits_an_answer(self) -> bool:
        """Whether nothing has been said yet, or the user had the last word."""
        return next((role for role, _ in reversed(self.transcript.messages)), "user") == "user"

    def prompt(self, content: str | Content | Iterable[str | Content]) -> Reply:
        """Send a message, or queue it while another one runs in this session. The reply need not be read.

        InvalidParams for content that the agent does not take (PROMPT-05), ValueError for a malformed
        block or none at all, TypeError for what is no content.
        """
        self.connection.check_open()
        if self.is_closed:
            raise NotFound(session_id=self.id)
        blocks = blocks_of(content)
        check_content(blocks, self.connection.agent.capabilities)
        turn = PromptedTurn(self, blocks)
        self._turns.append(turn)
        if self._running is None:
            self._send_next()
        else:
            self._turns[-2].give_way()
        return Reply(turn)

    async def cancel(self) -> None:
        """Stop what runs, and all prompts that are held. Returns when the agent has been told, not when it is done.

        Questions that it has asked are answered with `cancelled` (CANCEL-04), its open tool calls are marked as
        cancelled until it says otherwise (CANCEL-03). A turn that goes on all the same is ended, together with the
        connection, when `Deadlines.cancel_grace` is over.
        """
        self.cancel_now()
        await self.connection.peer.drain()

    async def cancel_turn(self, turn: PromptedTurn) -> None:
        """Cancel the turn if it runs, drop it if it is held."""
        if turn is self._running:
            await self.cancel()
        elif not turn.is_over:
            self._drop(turn)

    async def close(self) -> None:
        """End the session here, and free what the agent holds for it if it can be asked to; safe to call twice."""
        if self.is_closed:
            return
        self.cancel_questions()
        for turn in [turn for turn in self._turns if not turn.is_sent]:
            self._drop(turn)
        try:
            if not await self._closed_by_agent() and self._running is not None:
                await self._cancelled(self._running)
        except NotFound:
            pass  # it is gone, as we want it
        finally:
            await self.connection.forget(self)

    async def _closed_by_agent(self) -> bool:
        """Whether the agent has closed it; not one that offers to, and then has no such method."""
        capabilities = self.connection.agent.capabilities
        if capabilities.close:
            try:
                await self.connection.ask(CloseSession(session_id=self.id))
            except MethodNotFound:
                capabilities.close = False
        return capabilities.close

    async def set_mode(self, mode_id: str) -> None:
        """Put one of the modes in force; where modes are an option (v2), sets that option."""
        if self.modes is None or not self.connection.dialect.has_modes:
            option = next((option for option in self.options if option.category == "mode"), None)
            if option is None:
                raise MethodNotFound("session/set_mode")
            await self.set_option(option.id, mode_id)
            return
        if mode_id not in [mode.id for mode in self.modes.available]:
            raise InvalidParams(f"the session has no mode {mode_id!r}", field="modeId")
        before = self.modes
        await self.connection.ask(SetMode(session_id=self.id, mode_id=mode_id))
        if self.modes is before:  # the agent need not tell what we asked for; if it tells something else, that holds
            self.take(ModePatch(mode_id=mode_id), 0)

    async def set_option(self, option_id: str, value: str | bool) -> None:
        """Give an option a value; the agent may change others with it. InvalidParams for what it does not list.

        An agent that does not answer with all options is taken to have set this one, unless it tells another value.
        """
        check_choice(self.options, option_id, value)
        if self._lists_models and option_id == MODEL:
            await self._set_model(str(value))
            return
        before = next((option for option in self.options if option.id == option_id), None)
        answer: SessionSetup = await self.connection.ask(
            SetOption(session_id=self.id, option_id=option_id, value=value)
        )
        told = answer.options
        if told is UNSET:  # FN-103: if no update has told the option meanwhile, it is still the same object
            told = [replace(option, value=value) if option is before else option for option in self.options]
        if told != self.options:
            self.take(OptionsPatch(options=told), 0)

    async def cancel_tool_call(self, tool_call_id: str) -> None:
        """Stop one tool call that says it can be stopped; v2 only."""
        await self.connection.ask(CancelToolCall(session_id=self.id, tool_call_id=tool_call_id))

    async def cancel_terminal(self, terminal_id: str) -> None:
        """Stop the process in one of the agent's terminals that says it can be stopped; v2 only."""
        await self.connection.ask(CancelTerminal(session_id=self.id, terminal_id=terminal_id))

    def take(self, report: Patch, size: int) -> None:
        """Take in a report of `size` bytes; called in wire order."""
        turn = self._running
        if type(report) is ToolCallPatch:
            self._note_oddity(report)
        if turn is None:
            self._take_unprompted(report, size)
        elif getattr(report, "role", None) == USER and turn.sent.awaits_echo:
            for each in turn.sent.sift(cast("MessageAppend | MessagePatch", report)):
                turn.take(self.transcript.apply(each), size)
        else:
            turn.take(self.transcript.apply(report), size)

    def _note_oddity(self, report: ToolCallPatch) -> None:
        """What an agent should not tell of a call. It counts all the same: the agent is the authority."""
        call, dialect = self.transcript.tool_calls.get(report.id), self.connection.dialect
        note = self.connection.peer.limited_log.debug
        if call is None:
            if dialect.announces_tool_calls and not report.creates:
                note(log, "the tool call %s was never announced", report.id)  # AMB-54
        elif call.status in FINAL_STATUSES and report.status is not UNSET and report.status != call.status:
            note(log, "the tool call %s has ended as %s and is now %s", report.id, call.status, report.status)  # AMB-55

    def _take_unprompted(self, report: Patch, size: int) -> None:
        self._heard_unprompted += 1
        late, told = self._late, [report]
        if late is not None and isinstance(report, _SHOWS_WORK):
            is_user = getattr(report, "role", None) == USER
            told = late.sift(cast("MessageAppend | MessagePatch", report)) if is_user else told
            self._late = late if is_user and late.awaits_echo else None
        for each in told:
            change = self.transcript.apply(each)
            if type(change) is StateChanged and self.connection.dialect.reports_state and not self.is_replaying:
                self._foreground_stands(change.state)
            callback = self.on_update or self.connection.on_update
            if callback is not None:
                replayed = self.is_replaying and type(change) is not NoticeShown
                self.connection.deliveries.put(callback, SessionUpdate(self, change, replayed), size)

    async def replayed(self, quiet: float, at_most: float | None) -> None:
        """Wait until no more of the history is told, for `quiet` seconds."""
        loop = asyncio.get_running_loop()
        end, heard = None if at_most is None else loop.time() + at_most, -1
        while heard != self._heard_unprompted and not self.is_closed and (end is None or loop.time() < end):
            heard = self._heard_unprompted
            await asyncio.sleep(quiet)
        self.is_replaying = False

    def opened(self, answer: SessionSetup) -> None:
        """What the session starts with, as far as no update has told it already."""
        transcript = self.transcript
        if answer.options is not UNSET and not transcript.options:
            transcript.apply(OptionsPatch(options=answer.options))
        models = models_to_option(answer.models) if self.connection.dialect.has_models else None
        if models is not None and not any(MODEL in (option.id, option.category) for option in transcript.options):
            self._lists_models = True
            transcript.apply(OptionsPatch(options=[*transcript.options, models]))
        if answer.modes is not None and transcript.modes is None:
            transcript.apply(ModesPatch(modes=answer.modes))
        if answer.commands is not UNSET and not transcript.commands:
            transcript.apply(CommandsPatch(commands=answer.commands))

    def tell_state(self, state: State) -> None:
        """What the agent does, in versions that do not tell it."""
        self.take(StatePatch(state=state), 0)

    def question_opened(self) -> None:
        """Somebody on our side is being asked."""
        self._questions += 1
        if self._questions == 1 and self._running is not None and not self.connection.dialect.reports_state:
            self.tell_state(State(state="requires_action"))

    def question_closed(self) -> None:
        """They have answered."""
        self._questions -= 1
        if self._questions == 0 and self._running is not None and not self.connection.dialect.reports_state:
            self.tell_state(State(state="running"))

    def history_told(self) -> None:
        """All that there is to be told of the time before: what is open in it is being done only if the agent is busy."""
        self.is_replaying = True
        if self.transcript.state.state == "idle":
            self.foreground.end(is_clean=True)
        else:
            self.foreground.end_earlier()
        self.is_replaying = False

    def foreground_rests(self, state: State) -> None:
        """A turn that was not ours is over."""
        self.foreground.end(is_clean=(state.stop_reason or "end_turn") == "end_turn")

    def _foreground_stands(self, state: State) -> None:
        if state.state == "idle":
            self.foreground_rests(state)
        else:
            self.foreground.begin()

    def cancel_now(self) -> None:
        """As `cancel`, without waiting for room."""
        for turn in [turn for turn in self._turns if not turn.is_sent]:
            self._drop(turn)
        running = self._running
        self.connection.peer.post(*self.connection.dialect.notification_to_wire(Cancel(session_id=self.id)))
        if running is not None:
            if not running.cancel_requested:
                self._end_after_grace(running)
            running.cancel_requested = True
        self.foreground.cancel()
        self.cancel_questions()

    def cancel_questions(self) -> None:
        """Answer what the agent has asked for its foreground work."""
        self.cancels += 1
        self.connection.questions.cancel(self.id, self.in_background)

    def in_background(self, id: str | None) -> bool:
        """Whether a tool call or terminal runs beside the foreground, where a cancel does not reach."""
        return id is not None and any(work.id == id for work in self.transcript.state.background or ())

    @property
    def is_cancelling(self) -> bool:
        """Whether a turn that was asked to end has not ended yet."""
        return self._running is not None and self._running.cancel_requested

    def turn_ended(self, turn: PromptedTurn) -> None:
        """Called once by each turn."""
        if turn in self._turns:
            self._turns.remove(turn)
        if turn is self._running:
            self._running = None
            is_empty = self.connection.dialect.result_ends_turn and turn.sent.is_last
            self._late = turn.sent if is_empty and not turn.sent.is_recognised else None
            self.connection.questions.turn_ended(self.id)
            self._send_next()

    def end(self, error: Callable[[], AccordError]) -> None:
        """The session or its connection is gone, and so are its turns."""
        self.is_closed = True
        for turn in reversed(list(self._turns)):
            turn.end(error=error())

    async def _set_model(self, model_id: str) -> None:
        await self.connection.ask(SetModel(session_id=self.id, model_id=model_id))
        changed = [replace(option, value=model_id) if option.id == MODEL else option for option in self.options]
        self.take(OptionsPatch(options=changed), 0)

    def _send_next(self) -> None:
        if self._turns and not self.is_closed:
            turn = self._running = self._turns[0]
            turn.send()
            self._watch(turn)

    def _drop(self, turn: PromptedTurn) -> None:
        turn.cancel_requested = True
        turn.end("cancelled")

    async def _cancelled(self, turn: PromptedTurn) -> None:
        turn.give_way()
        await self.cancel()
        await asyncio.wait((turn.ended,))

    def _end_after_grace(self, turn: PromptedTurn) -> None:
        grace = self.connection.deadlines.cancel_grace

        def give_up(seconds: float) -> None:
            turn.overdue(DeadlineExceeded("session/cancel", seconds))
            turn.end()
            self.connection.kill()

        if grace is not None:
            _call_later(turn, grace, give_up, grace)

    def _watch(self, turn: PromptedTurn) -> None:
        deadlines = self.connection.deadlines
        if turn.is_over:
            return
        if deadlines.turn is not None:
            _call_later(turn, deadlines.turn, self._overdue, turn, deadlines.turn)
        if deadlines.silence is not None:
            turn.is_listened_to = True
            _call_later(turn, deadlines.silence, self._listen, turn, deadlines.silence)

    def _listen(self, turn: PromptedTurn, silence: float) -> None:
        now = asyncio.get_running_loop().time()
        if self.connection.questions.is_asking(self.id):
            turn.heard_at = now
        left = turn.heard_at + silence - now
        if left > 0:
            _call_later(turn, left, self._listen, turn, silence)
        else:
            self._overdue(turn, silence)

    def _overdue(self, turn: PromptedTurn, seconds: float) -> None:
        if not turn.is_over:
            turn.overdue(DeadlineExceeded("session/prompt", seconds))
            self.cancel_now()


def _call_later(turn: PromptedTurn, seconds: float, call: Any, *arguments: Any) -> None:
    timer = asyncio.get_running_loop().call_later(seconds, call, *arguments)
    turn.ended.add_done_callback(lambda _: timer.cancel())
