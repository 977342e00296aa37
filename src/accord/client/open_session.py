"""A session that is open on a connection: its transcript, the queue of its prompts, and the way that each update takes.

Law: `take` is called in wire order, never waits and runs no user code. While a prompt runs, its updates go to the reply;
all others go to the callback. Prompts are sent one after the other.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from accord.client.connection import ClientConnection
from accord.client.foreground import Foreground
from accord.client.prompt_echo import PromptMessage
from accord.client.turn import PromptTurn
from accord.dialects.all_versions.options import MODEL, models_to_option
from accord.errors import AccordError, DeadlineExceeded
from accord.session import Transcript
from accord.session.content import Content
from accord.session.entities import USER, State
from accord.session.open_enums import FINAL_STATUSES
from accord.session.requests import Cancel, Prompt, SessionSetup
from accord.session.updates import (
    CommandsPatch,
    MessageAppend,
    MessagePatch,
    ModesPatch,
    NoticeShown,
    OptionsPatch,
    Patch,
    PlanPatch,
    StateChanged,
    StatePatch,
    ToolCallAppend,
    ToolCallPatch,
    Update,
)
from accord.session.value import UNSET

log = logging.getLogger("accord.client")

_WORK = (MessageAppend, MessagePatch, ToolCallPatch, ToolCallAppend, PlanPatch)


class OpenSession:
    """What the connection knows of a session; the user holds the `Session` that wraps it.

    `on_update` gets the updates while no prompt runs, with whether they are history and their size in bytes.
    """

    on_update: Callable[[Update, bool, int], None]

    def __init__(
        self, connection: ClientConnection, id: str, cwd: str, additional_directories: list[str], transcript_bytes: int
    ) -> None:
        self.connection = connection
        self.id = id
        self.cwd = cwd
        self.additional_directories = additional_directories
        self.transcript = Transcript(transcript_bytes)
        self.foreground = Foreground(self.transcript, self.take)
        self.is_replaying = False
        """Whether the updates that arrive now are history: the session is being loaded or resumed."""
        self.is_resumed = False
        self.is_closed = False
        self.lists_models = False
        """Whether the option for the model stands for v1's list of models."""
        self.cancel_count = 0
        self._turns: deque[PromptTurn] = deque()
        self._running: PromptTurn | None = None
        self._question_count = 0
        self._unprompted_count = 0
        self._late_echo: PromptMessage | None = None
        """The prompt of a turn that ended without an update: its echo may follow with all the rest (FN-02)."""

    @property
    def is_busy(self) -> bool:
        """Whether a prompt of ours runs."""
        return self._running is not None

    @property
    def is_cancelling(self) -> bool:
        """Whether the running turn was asked to end and has not ended yet."""
        return self._running is not None and self._running.cancel_requested

    @property
    def awaits_agent(self) -> bool:
        """Whether the transcript has no message yet, or the last one is the user's."""
        return next((role for role, _ in reversed(self.transcript.messages)), USER) == USER

    def take(self, patch: Patch, size: int) -> None:
        """Apply a patch of `size` bytes, and hand on the update."""
        turn = self._running
        if type(patch) is not MessageAppend:
            self.foreground.note_update(patch)
            if type(patch) is ToolCallPatch:
                self._log_oddity(patch)
        if turn is None:
            self._take_unprompted(patch, size)
        elif getattr(patch, "role", None) == USER and turn.prompt.awaits_echo:
            for each in turn.prompt.filter_echo(cast("MessageAppend | MessagePatch", patch)):
                turn.put(self.transcript.apply(each), size)
        else:
            turn.put(self.transcript.apply(patch), size)

    def _log_oddity(self, patch: ToolCallPatch) -> None:
        """What an agent should not report of a call. It is applied all the same: the agent is the authority."""
        call, dialect = self.transcript.tool_calls.get(patch.id), self.connection.dialect
        debug = self.connection.peer.limited_log.debug
        if call is None:
            if dialect.announces_tool_calls and not patch.creates:
                debug(log, "the tool call %s was never announced", patch.id)  # AMB-54
        elif call.status in FINAL_STATUSES and patch.status is not UNSET and patch.status != call.status:
            debug(log, "the tool call %s has ended as %s and is now %s", patch.id, call.status, patch.status)  # AMB-55

    def _take_unprompted(self, patch: Patch, size: int) -> None:
        self._unprompted_count += 1
        late, patches = self._late_echo, [patch]
        if late is not None and isinstance(patch, _WORK):
            is_user = getattr(patch, "role", None) == USER
            patches = late.filter_echo(cast("MessageAppend | MessagePatch", patch)) if is_user else patches
            self._late_echo = late if is_user and late.awaits_echo else None
        for each in patches:
            update = self.transcript.apply(each)
            if type(update) is StateChanged and self.connection.dialect.reports_state and not self.is_replaying:
                if update.state.state == "idle":
                    self.foreground.rest(update.state)
                else:
                    self.foreground.begin()
            self.on_update(update, self.is_replaying and type(update) is not NoticeShown, size)

    def set_up(self, setup: SessionSetup) -> None:
        """Apply what the session starts with, unless an update has already said otherwise."""
        transcript = self.transcript
        if setup.options is not UNSET and not transcript.options:
            transcript.apply(OptionsPatch(options=setup.options))
        models = models_to_option(setup.models) if self.connection.dialect.has_models else None
        if models is not None and not any(MODEL in (option.id, option.category) for option in transcript.options):
            self.lists_models = True
            transcript.apply(OptionsPatch(options=[*transcript.options, models]))
        if setup.modes is not None and transcript.modes is None:
            transcript.apply(ModesPatch(modes=setup.modes))
        if setup.commands is not UNSET and not transcript.commands:
            transcript.apply(CommandsPatch(commands=setup.commands))

    def begin_replay(self) -> None:
        """The session is being loaded or resumed: what arrives now is history."""
        self.is_resumed = self.is_replaying = True
        self.foreground.begin_replay()

    async def wait_replayed(self, quiet: float, deadline: float | None) -> None:
        """Wait until no more of the history has arrived for `quiet` seconds."""
        loop = asyncio.get_running_loop()
        end, count = None if deadline is None else loop.time() + deadline, -1
        while count != self._unprompted_count and not self.is_closed and (end is None or loop.time() < end):
            count = self._unprompted_count
            await asyncio.sleep(quiet)

    def end_replay(self) -> None:
        """The history is complete: nobody works on what is open in it, unless the agent is busy."""
        self.is_replaying = True
        if self.transcript.state.state == "idle":
            self.foreground.end(is_clean=True)
        else:
            self.foreground.end_earlier()
        self.is_replaying = False

    def open_question(self) -> None:
        """Somebody on this side is being asked."""
        self._question_count += 1
        if self._question_count == 1:
            self._set_state("requires_action")

    def close_question(self) -> None:
        """They have answered."""
        self._question_count -= 1
        if self._question_count == 0:
            self._set_state("running")

    def _set_state(self, state: str) -> None:
        """What the agent does, in versions that do not report it."""
        if self._running is not None and not self.connection.dialect.reports_state:
            self.take(StatePatch(state=State(state=state)), 0)

    def prompt(self, content: list[Content]) -> PromptTurn:
        """Send a prompt, or queue it while another one runs."""
        request = Prompt(session_id=self.id, content=content)
        turn = PromptTurn(
            self.connection, request, self.transcript, self.foreground, take=self.take, on_end=self._turn_ended
        )
        self._turns.append(turn)
        if self._running is None:
            self._send_next()
        else:
            self._turns[-2].stop_backpressure()
        return turn

    async def cancel(self) -> None:
        """Cancel the running turn and drop the queued prompts."""
        self.post_cancel()
        await self.connection.peer.drain()

    async def cancel_turn(self, turn: PromptTurn) -> None:
        """Cancel the turn if it runs, drop it if it is queued."""
        if turn is self._running:
            await self.cancel()
        elif not turn.is_over:
            self._drop(turn)

    def post_cancel(self) -> None:
        """As `cancel`, without waiting until there is room to send."""
        self.drop_queued()
        running = self._running
        self.connection.peer.post(*self.connection.dialect.notification_to_wire(Cancel(session_id=self.id)))
        if running is not None:
            if not running.cancel_requested:
                self._end_after_grace(running)
            running.cancel_requested = True
        self.foreground.cancel()
        self.cancel_questions()

    def cancel_questions(self) -> None:
        """Answer the agent's requests for its foreground work with `cancelled`."""
        self.cancel_count += 1
        self.connection.agent_requests.cancel(self.id, self.foreground.is_background)

    def drop_queued(self) -> None:
        """End the prompts that were not sent."""
        for turn in [turn for turn in self._turns if not turn.is_sent]:
            self._drop(turn)

    async def end_running(self) -> None:
        """Cancel the running turn and wait for its end."""
        turn = self._running
        if turn is not None:
            turn.stop_backpressure()
            await self.cancel()
            await asyncio.wait((turn.ended,))

    def end(self, error: Callable[[], AccordError], *, is_closed_here: bool = False) -> None:
        """The session or its connection is closed, and so its turns end."""
        self.is_closed = True
        for turn in reversed(list(self._turns)):
            turn.is_error_retrieved = turn.is_error_retrieved or is_closed_here
            turn.end(error=error())

    def _drop(self, turn: PromptTurn) -> None:
        turn.cancel_requested = True
        turn.end("cancelled")

    def _send_next(self) -> None:
        if self._turns and not self.is_closed:
            turn = self._running = self._turns[0]
            turn.send()
            self._set_timers(turn)

    def _turn_ended(self, turn: PromptTurn) -> None:
        if turn in self._turns:
            self._turns.remove(turn)
        if turn is self._running:
            self._running = None
            is_empty = self.connection.dialect.result_ends_turn and turn.prompt.is_last
            self._late_echo = turn.prompt if is_empty and not turn.prompt.is_echoed else None
            self.connection.agent_requests.turn_ended(self.id)
            self._send_next()

    def _end_after_grace(self, turn: PromptTurn) -> None:
        grace = self.connection.deadlines.cancel_grace

        def give_up(seconds: float) -> None:
            turn.time_out(DeadlineExceeded("session/cancel", seconds))
            turn.end()
            self.connection.kill()

        if grace is not None:
            _call_later(turn, grace, give_up, grace)

    def _set_timers(self, turn: PromptTurn) -> None:
        deadlines = self.connection.deadlines
        if turn.is_over:
            return
        if deadlines.turn is not None:
            _call_later(turn, deadlines.turn, self._time_out, turn, deadlines.turn)
        if deadlines.silence is not None:
            turn.is_timed = True
            _call_later(turn, deadlines.silence, self._check_silence, turn, deadlines.silence)

    def _check_silence(self, turn: PromptTurn, silence: float) -> None:
        now = asyncio.get_running_loop().time()
        if self.connection.agent_requests.is_asking(self.id):
            turn.last_update_at = now
        left = turn.last_update_at + silence - now
        if left > 0:
            _call_later(turn, left, self._check_silence, turn, silence)
        else:
            self._time_out(turn, silence)

    def _time_out(self, turn: PromptTurn, seconds: float) -> None:
        if not turn.is_over:
            turn.time_out(DeadlineExceeded("session/prompt", seconds))
            self.post_cancel()


def _call_later(turn: PromptTurn, seconds: float, call: Any, *arguments: Any) -> None:
    timer = asyncio.get_running_loop().call_later(seconds, call, *arguments)
    turn.ended.add_done_callback(lambda _: timer.cancel())
