"""A session of the screen: its conversation, prompt queue and questions, and the turn that runs.

Law: whether a session is busy is derived from its open requests and stored nowhere else.

Law: however much arrives at once, a key waits only until one portion is drawn. The other updates wait in the session's
queue, which slows down the agent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from accord.apps.console.conversation_records import ConversationRecorder
from accord.apps.console.run.output_format import EMPTY_TURN, LATE_SECONDS
from accord.apps.console.screen.blocks.messages import UserMessage
from accord.apps.console.screen.blocks.notices import ErrorBlock, NoteBlock
from accord.apps.console.screen.conversation import Conversation, Part
from accord.apps.console.screen.errors import error_block
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.apps.console.screen.prompt_queue import PromptQueue
from accord.apps.console.screen.questions import QuestionQueue
from accord.apps.console.session_settings import SessionSettings
from accord.client.reply import Reply
from accord.client.session import Session, SessionUpdate
from accord.errors import AccordError, ConnectionClosed, Fenced
from accord.session.content import Content, Text
from accord.session.entities import USER, SlashCommand
from accord.session.updates import MessageChanged, MessageChunk, PlanChanged, ToolCallChanged, Update

State: TypeAlias = Literal["closed", "asks", "stopping", "busy", "idle"]
TabChange: TypeAlias = Literal["block", "plan", "commands", "status", "questions", "queue"]
Compose: TypeAlias = Callable[["SessionTab", str], Coroutine[Any, Any, list[Content]]]
"""Makes the content of a prompt from its text. Reads the files it mentions, which may take long."""

_LONGEST_TITLE = 300

log = logging.getLogger("accord.console")


class SessionTab:
    """One tab of the screen, with the session in it once that is open.

    `on_change` is told what has changed. `on_sent` is called with each prompt that goes to the agent. `fold_pastes` puts
    labels in the place of long texts that were pasted into a prompt.
    """

    def __init__(
        self,
        cwd: str,
        on_change: Callable[[SessionTab, TabChange], None],
        compose: Compose,
        on_sent: Callable[[SessionTab, str], None],
        settings: SessionSettings | None = None,
        *,
        keys: KeyBindings,
        fold_pastes: Callable[[str], str] = str,
    ) -> None:
        self._keys = keys
        self.settings = settings or SessionSettings()
        self.session: Session | None = None
        self.session_id: str | None = None
        self.recording: ConversationRecorder | None = None
        self.draft = ""
        self.has_restored_draft = False
        """The draft that was saved for the session has been restored."""
        self.is_unsettled = False
        """The agent rejected the mode or an option that was chosen: nothing is sent until the user decides."""
        self.is_new = False
        """The session was created for this tab, not resumed."""
        self.can_reopen = False
        """The agent can load or resume the session later."""
        self.is_stopping = False
        self.is_cut_off = False
        """The connection was closed during a turn."""
        self.is_behind = False
        """Another process has continued the session: the conversation here lacks those turns."""
        self.busy_since: float | None = None
        self.has_news = False
        """Something happened while another tab was on the screen."""
        self.conversation = Conversation(cwd, self._conversation_changed, fold_pastes)
        self.questions = QuestionQueue(lambda: self._changed("questions"))
        self.queue = PromptQueue(self._can_send, self._start_turn, lambda: self._changed("queue"))
        self._on_change = on_change
        self._compose = compose
        self._on_sent = on_sent
        self._composing: asyncio.Task[list[Content]] | None = None
        self._turn: asyncio.Task[None] | None = None
        self._saving: asyncio.Task[None] | None = None
        self._is_killed = False
        self._replayed: Session | None = None
        """The session whose history is shown."""
        self._is_resumed = False
        """The screen has shown the history from another source; the agent need not replay it."""

    @property
    def cwd(self) -> str:
        """The working directory of the session."""
        return self.conversation.cwd

    @cwd.setter
    def cwd(self, cwd: str) -> None:
        self.conversation.cwd = cwd

    @property
    def title(self) -> str:
        """The title that the agent gave, or else the first prompt."""
        title = None if self.session is None else self.session.transcript.info.title
        prompts = [block for block in self.conversation.blocks if isinstance(block, UserMessage)]
        return (
            title
            or next((block.plain()[:_LONGEST_TITLE] for block in prompts if not block.not_accepted), "")
            or "new session"
        )

    @property
    def commands(self) -> Sequence[SlashCommand]:
        """The slash commands of the agent."""
        return [] if self.session is None else self.session.commands

    @property
    def is_open(self) -> bool:
        return self.session is not None and not self.session.is_closed

    @property
    def is_unused(self) -> bool:
        """A session that was created here, without any message or draft."""
        return self.session is not None and not self.is_used and not self.draft.strip()

    @property
    def is_used(self) -> bool:
        """A session with a message, or one from before."""
        return self.session is not None and (not self.is_new or bool(self.session.transcript.timeline))

    @property
    def is_busy(self) -> bool:
        """A turn runs here, or the agent reports that it is working."""
        session = self.session
        if session is None or session.is_closed:
            return False
        return session.is_busy or self._turn is not None or session.transcript.state.state != "idle"

    @property
    def state(self) -> State:
        """The state that the tabs line shows."""
        if not self.is_open:
            return "closed"
        if self.questions.pending:
            return "asks"
        if self.is_busy:
            return "stopping" if self.is_stopping else "busy"
        return "idle"

    def attach(self, session: Session) -> None:
        """The session is open: send the queued prompts."""
        self.session, self.session_id = session, session.id
        self.is_stopping = self.is_cut_off = self.is_behind = self._is_killed = False
        self._changed("status")
        self._changed("commands")
        self.queue.send_next()

    def begin_reopen(self, *, with_history: bool) -> None:
        """The session is about to be loaded, or resumed without its history."""
        self._replayed, self._is_resumed = None, not with_history

    def apply(self, update: SessionUpdate) -> None:
        """Apply an update that came outside of a turn."""
        is_first = update.replayed and update.session is not self._replayed
        if is_first and not (self._is_resumed and not _is_of_user(update)):
            if self._replayed is not None or self._is_resumed:
                self.conversation.clear()  # FN-96, FN-60: replayed once more, or after a resume
            self._replayed, self._is_resumed = update.session, False
        self.conversation.apply(update.update)

    def _can_send(self) -> bool:
        return self.is_open and not (self.is_busy or self.is_unsettled or self.is_behind)

    def _start_turn(self, text: str) -> None:
        self.is_stopping = False
        self._turn = asyncio.create_task(self._run_turn(text), name="accord turn")
        self.busy_since = time.monotonic()
        self._changed("status")

    async def send_now(self, text: str) -> None:
        """Send a prompt before all others, stop the running turn for it, and accept the mode the agent is in."""
        if self.is_unsettled and self.session is not None:
            self.settings.take_what_there_is(self.session)
            self.settings_applied()
        was_busy = self.is_busy
        self.queue.send(text, is_first=True)
        if was_busy:
            await self._cancel()

    async def stop(self) -> None:
        """Ask the agent to stop. Its open questions are answered with `cancelled`, and the queue is held."""
        if self.is_busy:
            self.queue.hold()
            await self._cancel()

    async def _cancel(self) -> None:
        session = self.session
        assert session is not None
        self.is_stopping = True
        self._changed("status")
        if self._composing is None or not self._composing.cancel():
            await session.cancel()

    def kill(self) -> None:
        """Kill an agent that does not stop, with all its processes. Output that it has sent is not waited for."""
        self._is_killed = True
        if self.session is not None:
            self.session.kill_agent()

    def add_note(self, text: str) -> None:
        """Add a note of the screen."""
        self.conversation.add(NoteBlock(text))

    def add_error(self, error: ErrorBlock) -> None:
        """Show an error in the conversation."""
        self.conversation.add(error)
        self._changed("status")

    async def wait_saved(self) -> None:
        """Wait until the conversation is saved, including a turn that still runs."""
        if self._turn is not None and self.recording is not None:
            await self.recording.save()
        if self._saving is not None:
            await asyncio.wait((self._saving,))

    def settings_rejected(self, error: ErrorBlock) -> None:
        """The agent rejected the mode or an option."""
        self.is_unsettled = True
        self.add_error(error)
        self._changed("queue")

    def settings_applied(self) -> None:
        """The last choice is in force. The queue is held until something is sent: the user may want to choose more."""
        if self.is_unsettled:
            self.is_unsettled = False
            self.queue.hold(bool(self.queue))
            self._changed("status")

    def connection_closed(self) -> None:
        """The connection is closed. The queue stays."""
        self.is_stopping = False
        self.busy_since = None
        self.conversation.end_work()
        self._changed("status")

    async def _run_turn(self, text: str) -> None:
        self.conversation.begin_turn()
        session = self.session
        assert session is not None
        try:
            content = await self._compose_prompt(session, text)
            if content is None:
                return
            self._on_sent(self, text)
            reply = session.prompt(content)
            await self._read(reply)
            if self.conversation.is_turn_empty and reply.updates_may_follow:
                await asyncio.sleep(LATE_SECONDS)
            self._note_end(reply)
        except ConnectionClosed:
            self.is_cut_off = True  # reported once for all sessions, by the watcher of the connection
        except AccordError as error:
            self.add_error(error_block(error, self._keys))  # FN-94: shown as it is, and the session stays open
            self.is_behind = self.is_behind or isinstance(error, Fenced)
        except Exception as error:  # a bug, but the session must survive it
            log.exception("a turn failed")
            self.add_error(error_block(error, self._keys))
        finally:
            self._turn = None
            self.is_stopping, self.busy_since = False, None
            if self.recording is not None:
                self._saving = asyncio.create_task(self.recording.save(), name="accord record")
            self.conversation.end_work()
            self._changed("status")
            self.queue.send_next()

    async def _compose_prompt(self, session: Session, text: str) -> list[Content] | None:
        """None if the turn was stopped or the session closed before sending: the prompt is queued again."""
        composing = self._composing = asyncio.create_task(self._compose(self, text), name="accord composing")
        await asyncio.gather(composing, return_exceptions=True)
        self._composing = None
        if not (composing.cancelled() or self.is_stopping or session.is_closed):
            return composing.result()
        is_superseded = self.is_stopping and not self.queue.is_held  # by the prompt that was sent with `send_now`
        self.queue.put(text, 1 if is_superseded else 0)
        return None

    async def _read(self, reply: Reply) -> None:
        rate, is_truncated = UpdateRate(), False
        try:
            async for update in reply:
                for portion in portions(update):
                    if self._is_killed and not isinstance(portion, ToolCallChanged | PlanChanged):
                        is_truncated = True  # but the final states of calls and plans are shown
                        break
                    self.conversation.apply(portion)
                    await rate.throttle(portion)
        finally:
            if is_truncated:
                self.add_note("the rest of its output is not shown here; /export has it")

    def _note_end(self, reply: Reply) -> None:
        reason = reply.stop_reason
        if reply.cancel_requested:
            self.add_note("stopped" if reason in ("cancelled", None) else f"stopped; stop reason: {reason}")  # FN-93
        elif reason == "refusal":
            self.add_note("the agent refused to continue; this turn is not part of the conversation")
        elif reason not in ("end_turn", None):
            self.add_note(f"the agent stopped: {reason}")
        elif reason == "end_turn" and self.conversation.is_turn_empty:
            self.add_note(EMPTY_TURN)  # FN-106

    def _conversation_changed(self, part: Part) -> None:
        if part == "status" and not self.is_busy:
            self.is_stopping = False
            self.conversation.end_work()
        self._changed(part)
        if part == "status" and self._turn is None:
            self.queue.send_next()  # an agent that worked by itself may have become idle

    def _changed(self, what: TabChange) -> None:
        self._on_change(self, what)


def _is_of_user(update: SessionUpdate) -> bool:
    """Whether it is a message of the user, which a history begins with."""
    change = update.update
    return isinstance(change, MessageChunk | MessageChanged) and change.message.role == USER


_PORTION = 4000
"""The number of characters that are drawn in about 30 ms. No model writes faster than 100,000 in a second."""
_OTHER_UPDATE = 100
"""The number of characters that any other update counts for."""
_SECONDS = 0.01
_PAUSE = 0.025


class UpdateRate:
    """Limits the rate of updates to about what the screen can draw, so that it can handle keys meanwhile."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._characters = 0

    async def throttle(self, update: Update) -> None:
        """Call it after each update."""
        text = _text_of(update)
        self._characters += _OTHER_UPDATE if text is None else len(text)
        if self._characters > _PORTION:
            await asyncio.sleep(_PAUSE)
        elif time.perf_counter() - self._start > _SECONDS:
            await asyncio.sleep(0)
        else:
            return
        self._start, self._characters = time.perf_counter(), 0


def portions(update: Update) -> Iterator[Update]:
    """Split an update with a very long text into several."""
    text = _text_of(update)
    if text is None or len(text) <= _PORTION:
        yield update
        return
    assert isinstance(update, MessageChunk)
    for start in range(0, len(text), _PORTION):
        yield replace(update, content=replace(update.content, text=text[start : start + _PORTION]))


def _text_of(update: Update) -> str | None:
    if isinstance(update, MessageChunk) and isinstance(update.content, Text):
        return update.content.text
    return None
