"""The reply to a prompt: its updates as they arrive, when its turn is over, and why.

Law: a turn ends once, at its place among the updates: all that came before its end has been put into its inbox, and
nothing after it. Up to the v2 draft the answer ends it. In v2 the answer says that the message was accepted; the turn
ends with the idle that follows work on it.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Container, Generator, Iterable
from typing import TYPE_CHECKING, Any, Self

from msgspec import UNSET, Raw

from accord.client.prompts import SentPrompt
from accord.errors import (
    AccordError,
    AuthRequired,
    DeadlineExceeded,
    Malformed,
    RequestCancelled,
    RequestFailed,
    request_failed,
)
from accord.peer import InboundQueue, MergeRules
from accord.session import backlog_merge
from accord.session.content import Content
from accord.session.entities import AGENT, USER, Message, State, TokenUsage
from accord.session.open_enums import StopReason
from accord.session.requests import Prompt, PromptResult
from accord.session.updates import (
    MessageChanged,
    MessageChunk,
    Patch,
    PromptPatch,
    StateChanged,
    ToolCallChanged,
    ToolCallPatch,
    Update,
)

if TYPE_CHECKING:
    from accord.client.connection import ClientConnection
    from accord.client.session import Session

__all__ = ["CHANGES", "PromptedTurn", "Reply"]

_IDS = 1024 * 1024  # letters

CHANGES: MergeRules[Update] = MergeRules(
    backlog_merge.merge_key, backlog_merge.merge, backlog_merge.supersede_key, backlog_merge.supersede
)


class PromptedTurn:
    """One turn of a session, from the call of `prompt` to its end; `Reply` is how a user sees it."""

    def __init__(self, session: Session, content: list[Content]) -> None:
        self.session = session
        self.connection: ClientConnection = session.connection
        self.asked = Prompt(session_id=session.id, content=content)
        self.inbox: InboundQueue[Update] = self.connection.peer.new_queue(CHANGES)
        self.answer: PromptResult | None = None
        self.stop_reason: str | None = None
        self.token_usage: TokenUsage | None = None
        self.error: AccordError | None = None
        self.is_sent = False
        self.cancel_requested = False
        self.messages: dict[tuple[str, str], int] = {}
        """Role and id of what the agent said in this turn, in order, and where in the message this turn begins."""
        self._ids_size = 0
        self._ids_limit = _IDS
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.heard_at = 0.0
        self.is_listened_to = False
        """Whether `heard_at` is kept up to date, for a deadline on silence."""
        self._telling: Message | None = None
        self.sent = SentPrompt(content, session.transcript, is_named=not self.connection.dialect.result_ends_turn)
        self._was_busy = False
        self._is_another = False
        """Whether the work that is told now is on somebody else's prompt."""
        self._another: str | None = None
        """The last message that seemed to be somebody else's."""
        self._has_worked = False
        self._idle_before_answer: State | None = None
        self._idle_of_another: State | None = None
        self._overdue: DeadlineExceeded | None = None

    @property
    def is_over(self) -> bool:
        return self.ended.done()

    def give_way(self) -> None:
        """Somebody waits for the end of this turn, which must come even if nobody reads its reply."""
        self.inbox.disable_pressure()

    def discard(self) -> None:
        """Nobody will read on, or there is nothing more to read."""
        self.connection.peer.discard(self.inbox)

    def send(self) -> None:
        """Send the prompt; the session's turns are sent one after the other."""
        dialect, transcript = self.connection.dialect, self.session.transcript
        self.is_sent = True
        self._was_busy = dialect.reports_state and transcript.state.state != "idle"
        self.heard_at = asyncio.get_running_loop().time()
        transcript.begin_turn()
        self.session.foreground.begin()
        try:
            method, params = dialect.request_to_wire(self.asked)
            self.connection.peer.send_request(method, params, self._answered)
        except AccordError as error:
            self.end(error=error)
            return
        self._show_prompt()
        if not dialect.reports_state:
            self.session.tell_state(State(state="running"))

    def take(self, change: Update, size: int) -> None:
        """A change of the session during this turn."""
        if self.is_listened_to:
            self.heard_at = self.ended.get_loop().time()
        if type(change) is MessageChunk:  # nearly always, and nothing else is to be done for it
            if change.message is not self._telling:
                self._note(change)
            self.inbox.put(change, size)
            return
        if isinstance(change, MessageChanged):
            self._note(change)
        elif isinstance(change, ToolCallChanged) and isinstance(change.patch, ToolCallPatch) and change.patch.creates:
            self.session.foreground.began(change.call.id)
        self.inbox.put(change, size)
        if isinstance(change, StateChanged) and self.connection.dialect.reports_state:
            self._state_told(change.state)

    def overdue(self, error: DeadlineExceeded) -> None:
        """However the turn ends now, it ends with this error."""
        self._overdue = self._overdue or error

    def end(self, stop_reason: str | None = None, error: AccordError | None = None) -> None:
        """The turn is over. Only the first call counts."""
        if self.is_over:
            return
        if self.is_sent:
            self.session.foreground.end(is_clean=stop_reason == "end_turn" and error is None)
        self.stop_reason = stop_reason
        self.error = self._overdue or error
        if self.is_sent and not self.connection.dialect.reports_state:
            self.session.tell_state(State(state="idle", stop_reason=stop_reason, token_usage=self.token_usage))
        self.ended.set_result(None)
        self.inbox.close(self.error)
        self.session.turn_ended(self)

    def text(self) -> str:
        """All that the agent said in this turn."""
        known = self.session.transcript.messages
        return "".join([known[key].text[begin:] for key, begin in self.messages.items() if key in known])

    def _note(self, change: MessageChunk | MessageChanged) -> None:
        message = self._telling = change.message
        key = (message.role, message.id)
        if message.role == USER and self.answer is None and message.id != self.sent.id:
            self._is_another, self._another, self._idle_of_another = True, message.id, None
        if message.role != AGENT:
            return
        known = self.session.transcript.messages
        if len(self.messages) > 16 + 2 * len(known):
            self._forget_messages(known)
        is_new = key not in self.messages
        if isinstance(change, MessageChanged):
            self.messages[key] = 0
        elif is_new:
            self.messages[key] = 0 if change.created else len(message.text) - len(change.text)
        if is_new:
            self._ids_size += len(message.id)
            if self._ids_size > self._ids_limit:
                self._forget_messages(known)

    def _forget_messages(self, known: Container[tuple[str, str]]) -> None:
        """Those that the transcript has forgotten."""
        self.messages = {each: begin for each, begin in self.messages.items() if each in known}
        self._ids_size = sum(len(id) for _, id in self.messages)
        self._ids_limit = 2 * self._ids_size + _IDS

    def _show_prompt(self) -> None:
        transcript = self.session.transcript
        transcript.begin_turn()
        change = transcript.apply(self.sent.show())
        assert isinstance(change, MessageChanged)
        self.sent.id = change.message.id
        self.take(change, 0)
        transcript.begin_turn()

    def _apply(self, reports: Iterable[Patch | PromptPatch]) -> None:
        for report in reports:
            self.take(self.session.transcript.apply(report), 0)

    def _answered(self, outcome: Raw | AccordError) -> None:
        if isinstance(outcome, AccordError):
            if isinstance(outcome, RequestFailed) and not self.connection.dialect.result_ends_turn:
                self._apply(self.sent.refused())
            if isinstance(outcome, AuthRequired):
                self.connection.logins(outcome)
            if isinstance(outcome, RequestCancelled) and self.cancel_requested:
                self.end("cancelled")  # before the agent had begun: what we asked for, and no failure
                return
            self.end("error" if isinstance(outcome, RequestFailed) else None, outcome)
            return
        dialect = self.connection.dialect
        try:
            answer: PromptResult = dialect.result_from_wire(self.asked, outcome)
        except Malformed as error:
            self.end(error=error)
            return
        self.answer = answer
        self.token_usage = answer.token_usage
        idle = self._idle_when_named(answer.message_id)
        self._apply(self.sent.answered(answer.message_id))
        if dialect.result_ends_turn or answer.stop_reason is not None:
            self.end(answer.stop_reason)
        elif idle is not None:
            self._end_with(idle)

    def _idle_when_named(self, name: str | None) -> State | None:
        """The idle before the answer that ended the work on the prompt, now that it is known which one that is."""
        if name is not None and name == self._another:  # it was told back in other words
            return self._idle_of_another
        if name is not None and self.sent.seen not in (None, name):  # somebody else has said the same
            self._has_worked = False
            return None
        return self._idle_before_answer

    def _state_told(self, state: State) -> None:
        if state.state != "idle":  # whatever else it is, it is busy
            self._has_worked = True
            self._idle_before_answer = None
        elif self.answer is None:
            if self._was_busy or self._is_another:
                self.session.foreground_rests(state)
                self.session.foreground.begin()
                self._was_busy = self._is_another = self._has_worked = False
                self._idle_of_another = state
            elif self._has_worked:
                self._idle_before_answer = state
        elif self._has_worked or self._was_busy or state.stop_reason is not None:
            self._end_with(state)

    def _end_with(self, state: State) -> None:
        reason = state.stop_reason or "end_turn"
        self.token_usage = state.token_usage or self.token_usage
        self.end(reason, _failure(state) if reason == "error" else None)


def _failure(state: State) -> RequestFailed:
    said = state.error or {}
    code, message = said.get("code"), said.get("message")
    failure = request_failed(
        code if type(code) is int else -32603,
        message if isinstance(message, str) else "The turn failed",
        said.get("data", UNSET),
    )
    failure.was_received = True
    return failure


class Reply:
    """The agent's reply to one prompt: iterate over it for the updates in their order, await it to read to its end.

    When it ends, every update of the turn has been delivered; an error of the turn is raised after them. After a
    `break`, another `async for` goes on with the next update, and `await` reads the rest. Awaiting may be repeated.
    A reply that nobody reads slows its connection down once a few megabytes wait in it; one that nobody holds any
    more does not.
    """

    def __init__(self, turn: PromptedTurn) -> None:
        self._turn = turn
        self._loop = asyncio.get_running_loop()
        self._reader: Callable[[], AsyncGenerator[Update, None] | None] = lambda: None
        self._is_read = False

    @property
    def text(self) -> str:
        """Everything the agent has said in this turn so far; after `await`, everything it said."""
        return self._turn.text()

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the agent says that it stopped; None until the turn is over, and when it did not end by itself."""
        return self._turn.stop_reason

    @property
    def cancel_requested(self) -> bool:
        """Whether we asked for the turn to be cancelled, whatever the agent made of it (FN-93)."""
        return self._turn.cancel_requested

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended; its last updates may still be waiting to be read."""
        return self._turn.is_over

    @property
    def error(self) -> AccordError | None:
        """What the turn failed with, which is also raised."""
        return self._turn.error

    @property
    def token_usage(self) -> TokenUsage | None:
        """The tokens that the turn took, once it is over and where the agent tells them."""
        return self._turn.token_usage

    @property
    def message_id(self) -> str | None:
        """The id that the agent gave the prompt, where it tells one."""
        return None if self._turn.answer is None else self._turn.answer.message_id

    def __aiter__(self) -> AsyncGenerator[Update, None]:
        if self._is_read:
            raise RuntimeError("this reply was read to its end: use reply.text, or keep the updates of the first loop")
        reader = self._updates()
        self._reader = weakref.ref(reader)
        return reader

    async def _updates(self) -> AsyncGenerator[Update, None]:
        # A generator: what waits is handed out without a coroutine for each update.
        inbox = self._turn.inbox
        waiting, take = inbox.entries, inbox.take
        try:
            while await inbox.wait():
                while waiting:
                    yield take()
        except AccordError:
            self._discard()
            raise
        self._discard()

    def __await__(self) -> Generator[Any, None, Self]:
        return self._finish().__await__()

    async def _finish(self) -> Self:
        """Read to the end; but leave the updates to an `async for` that has not ended, in this task or another."""
        if self._reader() is not None:
            self._turn.give_way()
            await asyncio.wait((self._turn.ended,))
        if self._reader() is None and not self._is_read:
            async for _ in self:
                pass
        if self.error is not None:
            raise self.error
        return self

    def _discard(self) -> None:
        self._is_read = True
        self._turn.discard()

    async def cancel(self) -> None:
        """Cancel the turn, as `Session.cancel` does; a turn that has not begun just ends. Go on reading to its end."""
        await self._turn.session.cancel_turn(self._turn)

    def __del__(self) -> None:
        turn = getattr(self, "_turn", None)
        if turn is not None and not self._loop.is_closed():
            # Perhaps collected in another thread.
            self._loop.call_soon_threadsafe(turn.discard)
