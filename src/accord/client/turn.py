"""The turn of one prompt: from the call of `session.prompt` to its end.

Law: a turn ends once, at its place among the updates: all updates before its end have been put into its inbox, and none
after it. In v1 and the v2 draft the response ends it. In v2 the response says that the prompt was accepted; the turn ends
with the idle state that follows the work on it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Iterable

from msgspec import UNSET, Raw

from accord.client.connection import ClientConnection
from accord.client.foreground import Foreground
from accord.client.prompt_echo import PromptMessage
from accord.errors import (
    AccordError,
    AuthRequired,
    ConnectionClosed,
    DeadlineExceeded,
    Malformed,
    RequestCancelled,
    RequestFailed,
    request_failed,
)
from accord.peer import InboundQueue, MergeRules
from accord.session import Transcript, backlog_merge
from accord.session.entities import AGENT, USER, Message, State, TokenUsage
from accord.session.requests import Prompt, PromptResult
from accord.session.updates import (
    MessageChanged,
    MessageChunk,
    Patch,
    PromptPatch,
    StateChanged,
    StatePatch,
    ToolCallChanged,
    ToolCallPatch,
    Update,
)

log = logging.getLogger("accord.client")

_ID_CHARACTERS = 1024 * 1024

_MERGING: MergeRules[Update] = MergeRules(
    backlog_merge.merge_key, backlog_merge.merge, backlog_merge.supersede_key, backlog_merge.supersede
)


class PromptTurn:
    """One turn of a session; `Reply` is how a user sees it.

    `take` gets the patches that the turn itself causes; `on_end` is called once.
    """

    def __init__(
        self,
        connection: ClientConnection,
        request: Prompt,
        transcript: Transcript,
        foreground: Foreground,
        *,
        take: Callable[[Patch, int], None],
        on_end: Callable[[PromptTurn], None],
    ) -> None:
        self.connection = connection
        self.request = request
        self._transcript = transcript
        self._foreground = foreground
        self._take = take
        self._on_end = on_end
        self.inbox: InboundQueue[Update] = connection.peer.new_queue(_MERGING)
        self.result: PromptResult | None = None
        self.stop_reason: str | None = None
        self.token_usage: TokenUsage | None = None
        self.error: AccordError | None = None
        self.is_sent = False
        self.is_error_retrieved = False
        """Whether somebody got the error, or needs none because the session was closed here."""
        self.cancel_requested = False
        self.messages: dict[tuple[str, str], int] = {}
        """Role and id of the agent's messages in this turn, in order, and where in each of them this turn begins."""
        self._id_characters = 0
        self._id_limit = _ID_CHARACTERS
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.last_update_at = 0.0
        self.is_timed = False
        """Whether `last_update_at` is kept up to date, for a deadline on silence."""
        self.prompt = PromptMessage(request.content, transcript, has_id=not connection.dialect.result_ends_turn)
        self._message: Message | None = None
        self._is_abandoned = False
        self._was_busy = False
        self._is_foreign = False
        """Whether the work that is reported now is on another client's prompt."""
        self._foreign_id: str | None = None
        """The last message that seemed to be another client's prompt."""
        self._has_worked = False
        self._idle_before_result: State | None = None
        self._foreign_idle: State | None = None
        self._timeout: DeadlineExceeded | None = None

    @property
    def is_over(self) -> bool:
        return self.ended.done()

    def stop_backpressure(self) -> None:
        """Somebody waits for the end of this turn, which must come even if nobody reads its reply."""
        self.inbox.disable_pressure()

    def discard(self) -> None:
        """Drop the updates that nobody will read."""
        self.connection.peer.discard(self.inbox)

    def abandon(self) -> None:
        """The reply was garbage-collected; an error that nobody can retrieve any more is logged."""
        self._is_abandoned = True
        self.discard()
        self._log_lost_error()

    def _log_lost_error(self) -> None:
        error, connection = self.error, self.connection
        is_expected = isinstance(error, ConnectionClosed) and connection.is_closed_here
        if self._is_abandoned and error is not None and not is_expected and not self.is_error_retrieved:
            self.is_error_retrieved = True
            connection.peer.limited_log.failure(log, error, "the error of a reply was never retrieved")

    def send(self) -> None:
        """Send the prompt; the session's turns are sent one after the other."""
        dialect, transcript = self.connection.dialect, self._transcript
        self.is_sent = True
        self._was_busy = dialect.reports_state and transcript.state.state != "idle"
        self.last_update_at = asyncio.get_running_loop().time()
        transcript.begin_turn()
        self._foreground.begin()
        try:
            method, params = dialect.request_to_wire(self.request)
            self.connection.peer.send_request(method, params, self._receive_response)
        except AccordError as error:
            self.end(error=error)
            return
        self._show_prompt()
        if not dialect.reports_state:
            self._take(StatePatch(state=State(state="running")), 0)

    def put(self, update: Update, size: int) -> None:
        """An update of the session during this turn."""
        if self.is_timed:
            self.last_update_at = self.ended.get_loop().time()
        if type(update) is MessageChunk:  # nearly always, and nothing else is to be done for it
            if update.message is not self._message:
                self._note_message(update)
            self.inbox.put(update, size)
            return
        if isinstance(update, MessageChanged):
            self._note_message(update)
        elif isinstance(update, ToolCallChanged) and isinstance(update.patch, ToolCallPatch) and update.patch.creates:
            self._foreground.begin_call(update.call.id)
        self.inbox.put(update, size)
        if isinstance(update, StateChanged) and self.connection.dialect.reports_state:
            self._state_changed(update.state)

    def time_out(self, error: DeadlineExceeded) -> None:
        """However the turn ends now, it ends with this error."""
        self._timeout = self._timeout or error

    def end(self, stop_reason: str | None = None, error: AccordError | None = None) -> None:
        """The turn is over. Only the first call counts."""
        if self.is_over:
            return
        if self.is_sent:
            self._foreground.end(is_clean=stop_reason == "end_turn" and error is None)
        self.stop_reason = stop_reason
        self.error = self._timeout or error
        if self.is_sent and not self.connection.dialect.reports_state:
            state = State(state="idle", stop_reason=stop_reason, token_usage=self.token_usage)
            self._take(StatePatch(state=state), 0)
        self.ended.set_result(None)
        self.inbox.close(self.error)
        self._on_end(self)
        self._log_lost_error()

    @property
    def text(self) -> str:
        """Everything the agent has said in this turn so far."""
        known = self._transcript.messages
        return "".join([known[key].text[begin:] for key, begin in self.messages.items() if key in known])

    def _note_message(self, update: MessageChunk | MessageChanged) -> None:
        message = self._message = update.message
        key = (message.role, message.id)
        if message.role == USER and self.result is None and message.id != self.prompt.id:
            self._is_foreign, self._foreign_id, self._foreign_idle = True, message.id, None
        if message.role != AGENT:
            return
        known = self._transcript.messages
        if len(self.messages) > 16 + 2 * len(known):
            self._forget_messages(known)
        is_new = key not in self.messages
        if isinstance(update, MessageChanged):
            self.messages[key] = 0
        elif is_new:
            self.messages[key] = 0 if update.created else len(message.text) - len(update.text)
        if is_new:
            self._id_characters += len(message.id)
            if self._id_characters > self._id_limit:
                self._forget_messages(known)

    def _forget_messages(self, known: Container[tuple[str, str]]) -> None:
        """Those that the transcript has forgotten."""
        self.messages = {key: begin for key, begin in self.messages.items() if key in known}
        self._id_characters = sum(len(id) for _, id in self.messages)
        self._id_limit = 2 * self._id_characters + _ID_CHARACTERS

    def _show_prompt(self) -> None:
        transcript = self._transcript
        transcript.begin_turn()
        update = transcript.apply(self.prompt.show())
        assert isinstance(update, MessageChanged)
        self.prompt.id = update.message.id
        self.put(update, 0)
        transcript.begin_turn()

    def _apply(self, patches: Iterable[Patch | PromptPatch]) -> None:
        for patch in patches:
            self.put(self._transcript.apply(patch), 0)

    def _receive_response(self, response: Raw | AccordError) -> None:
        dialect = self.connection.dialect
        if isinstance(response, AccordError):
            self._fail(response)
            return
        try:
            result: PromptResult = dialect.result_from_wire(self.request, response)
        except Malformed as error:
            self.end(error=error)
            return
        self.result = result
        self.token_usage = result.token_usage
        idle = self._idle_of(result.message_id)
        self._apply(self.prompt.accept(result.message_id))
        if dialect.result_ends_turn or result.stop_reason is not None:
            self.end(result.stop_reason)
        elif idle is not None:
            self._end_with(idle)

    def _fail(self, error: AccordError) -> None:
        if isinstance(error, RequestFailed) and not self.connection.dialect.result_ends_turn:
            self._apply(self.prompt.reject())
        if isinstance(error, AuthRequired):
            self.connection.add_logins(error)
        if isinstance(error, RequestCancelled) and self.cancel_requested:
            self.end("cancelled")  # before the agent had begun: as requested, not a failure
        else:
            self.end("error" if isinstance(error, RequestFailed) else None, error)

    def _idle_of(self, message_id: str | None) -> State | None:
        """The idle before the response that ended the work on the prompt, now that the prompt's id is known."""
        if message_id is not None and message_id == self._foreign_id:  # it was echoed in other words
            return self._foreign_idle
        if message_id is not None and self.prompt.echo_id not in (None, message_id):  # another client's equal prompt
            self._has_worked = False
            return None
        return self._idle_before_result

    def _state_changed(self, state: State) -> None:
        if state.state != "idle":  # whatever else it is, it is busy
            self._has_worked = True
            self._idle_before_result = None
        elif self.result is None:
            if self._was_busy or self._is_foreign:
                self._foreground.rest(state)
                self._foreground.begin()
                self._was_busy = self._is_foreign = self._has_worked = False
                self._foreign_idle = state
            elif self._has_worked:
                self._idle_before_result = state
        elif self._has_worked or self._was_busy or state.stop_reason is not None:
            self._end_with(state)

    def _end_with(self, state: State) -> None:
        reason = state.stop_reason or "end_turn"
        self.token_usage = state.token_usage or self.token_usage
        self.end(reason, _failure(state) if reason == "error" else None)


def _failure(state: State) -> RequestFailed:
    error = state.error or {}
    code, message = error.get("code"), error.get("message")
    failure = request_failed(
        code if type(code) is int else -32603,
        message if isinstance(message, str) else "The turn failed",
        error.get("data", UNSET),
    )
    failure.was_received = True
    return failure
