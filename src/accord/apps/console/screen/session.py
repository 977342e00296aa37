"""One session of the screen: its conversation, its queued prompts, and the questions of its agent.

Law: whether it is busy is read from the requests that are open, and kept nowhere else.

Law: a question leaves the queue when it is answered or withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeAlias

from accord.apps.console.run.output_format import EMPTY, LATE_SECONDS
from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.blocks.messages import UserMessage
from accord.apps.console.screen.blocks.notices import Failure, Remark
from accord.apps.console.screen.conversation import Part, Story
from accord.apps.console.screen.errors import failure_of
from accord.apps.console.screen.update_rate import Pace, portions
from accord.apps.console.session_records import Recording
from accord.apps.console.session_settings import SessionSettings
from accord.client.callbacks import SessionUpdate
from accord.client.reply import Reply
from accord.client.session import Session
from accord.errors import AccordError, ConnectionClosed, Fenced
from accord.session.content import Content
from accord.session.entities import USER
from accord.session.requests import ElicitationAnswer, ElicitationRequest, PermissionAnswer, PermissionRequest
from accord.session.updates import MessageChanged, MessageChunk, PlanChanged, ToolCallChanged

__all__ = ["Asking", "Compose", "Heard", "Question", "State", "Talk"]

State: TypeAlias = Literal["closed", "asks", "stopping", "busy", "idle"]
Heard: TypeAlias = Literal["block", "plan", "commands", "status", "questions", "queue"]
Compose: TypeAlias = Callable[["Talk", str], Coroutine[Any, Any, list[Content]]]
"""Makes content of what the user wrote: the text, and the files that it names, which may take long to read."""

log = logging.getLogger("accord.console")


class Talk:
    """`on_change` hears what changed and in which talk. Prompts are sent one at a time; others wait in `queue`.

    `on_sent` hears of each that goes to the agent, when its session is known.
    """

    def __init__(
        self,
        cwd: str,
        on_change: Callable[[Talk, Heard, Block | None], None],
        compose: Compose,
        on_sent: Callable[[Talk, str], None],
        settings: SessionSettings | None = None,
    ) -> None:
        self.settings = settings or SessionSettings()
        self.is_unsettled = False
        """The agent does not take the mode or an option that was chosen: nothing is sent until the user decides."""
        self.session: Session | None = None
        self.session_id: str | None = None
        self.draft = ""
        self.has_its_draft = False
        """Whether what was kept for its session has been brought back."""
        self.queue: list[str] = []
        self.is_held = False
        """The user has stopped a turn: what waits does so until something is sent."""
        self.is_new = False
        """Its session was begun for it, and not taken up."""
        self.is_stopping = False
        self.is_cut_off = False
        """The connection ended in the middle of a turn."""
        self.is_behind = False
        """Another process has gone on with the session: what was said there is not in the story."""
        self.busy_since: float | None = None
        self.has_news = False
        """Something happened here while another talk was on the screen."""
        self.story = Story(cwd, self._story_changed)
        self.asking = Asking(lambda: on_change(self, "questions", None))
        self._on_change = on_change
        self._compose = compose
        self._on_sent = on_sent
        self._composing: asyncio.Task[list[Content]] | None = None
        self.recording: Recording | None = None
        self._is_killed = False
        self._retold: Session | None = None
        """The session whose history is shown."""
        self._is_resumed = False
        """Something else is shown in place of the history, which the agent need not tell."""
        self._reading: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def cwd(self) -> str:
        """Where its session works."""
        return self.story.cwd

    @cwd.setter
    def cwd(self, cwd: str) -> None:
        self.story.cwd = cwd

    @property
    def title(self) -> str:
        told = None if self.session is None else self.session.transcript.info.title
        prompts = [block for block in self.story.blocks if isinstance(block, UserMessage)]
        asked = next((block.plain() for block in prompts if not block.not_accepted), "")
        return told or asked or "new session"

    @property
    def is_open(self) -> bool:
        return self.session is not None and not self.session.is_closed

    @property
    def is_unused(self) -> bool:
        """Nothing was said in a session that was begun here, nor written to be said."""
        is_silent = self.session is not None and not self.session.transcript.timeline
        return self.is_new and is_silent and not self.draft.strip()

    @property
    def is_busy(self) -> bool:
        """A prompt of ours runs, or the agent says that it works by itself."""
        session = self.session
        if session is None or session.is_closed:
            return False
        return session.is_busy or self._reading is not None or session.transcript.state.state != "idle"

    @property
    def _waits(self) -> bool:
        """Nothing is sent before the user has done something about it."""
        return self.is_held or self.is_unsettled or self.is_behind

    @property
    def state(self) -> State:
        """In one word, for a tab."""
        if not self.is_open:
            return "closed"
        if self.asking.questions:
            return "asks"
        if self.is_busy:
            return "stopping" if self.is_stopping else "busy"
        return "idle"

    def opened(self, session: Session) -> None:
        """The session is there: send what has waited for it."""
        self.session, self.session_id = session, session.id
        self.is_stopping = self.is_cut_off = self.is_behind = self._is_killed = False
        self._tell("status")
        self._tell("commands")
        self.send_next()

    def taken_up(self, *, with_history: bool) -> None:
        """Its session is being loaded, or resumed."""
        self._retold, self._is_resumed = None, not with_history

    def heard(self, update: SessionUpdate) -> None:
        """What the session tells while no prompt runs."""
        if update.replayed and update.session is not self._retold and not (self._is_resumed and not _is_asked(update)):
            if self._retold is not None or self._is_resumed:
                self.story.clear()  # FN-96, FN-60: told from the beginning once more, or with a resume
            self._retold, self._is_resumed = update.session, False
        self.story.tell(update.update)

    def send(self, text: str) -> None:
        """Send it, or put it behind what waits."""
        self.queue.append(text)
        self.is_held = False
        self._tell("queue")
        self.send_next()

    def send_next(self) -> None:
        if self.queue and self.is_open and not self.is_busy and not self._waits:
            text = self.queue.pop(0)
            self.is_stopping = False
            self._tell("queue")
            self._reading = asyncio.create_task(self._exchange(text), name="accord exchange")
            self.busy_since = time.monotonic()
            self._tell("status")

    async def send_now(self, text: str) -> None:
        """Before everything that waits; what runs is stopped for it. Also in a mode that was not chosen: it is a command."""
        if self.is_unsettled and self.session is not None:
            self.settings.take_what_there_is(self.session)
            self.settled()
        self.queue.insert(0, text)
        self._tell("queue")
        self.is_held = False
        if self.is_busy:
            await self._cancel()
        else:
            self.send_next()

    async def stop(self) -> None:
        """Ask the agent to stop. Its open questions are answered with `cancelled`, and what waits is held."""
        if self.is_busy:
            self.is_held = True
            self._tell("queue")
            await self._cancel()

    async def _cancel(self) -> None:
        session = self.session
        assert session is not None
        self.is_stopping = True
        self._tell("status")
        if self._composing is None or not self._composing.cancel():
            await session.cancel()

    def kill(self) -> None:
        """End the agent that does not stop, and all that it started; what it has sent is not waited for."""
        self._is_killed = True
        if self.session is not None:
            self.session.connection.kill()

    def say(self, text: str) -> None:
        """A remark of our own."""
        self.story.add(Remark(text))

    def fail(self, failure: Failure) -> None:
        """Something went wrong, which may be that there is no session."""
        self.story.add(failure)
        self._tell("status")

    async def kept(self) -> None:
        """Wait until what was said is kept, also in a turn that still runs."""
        if self._reading is not None and self.recording is not None:
            await self.recording.keep()
        if self._keeping is not None:
            await asyncio.wait((self._keeping,))

    def unsettled(self, failure: Failure) -> None:
        """The agent does not take what was chosen."""
        self.is_unsettled = True
        self.fail(failure)
        self._tell("queue")

    def settled(self) -> None:
        """What was chosen last is in force. What waits does so until something is sent: the user may not be done yet."""
        if self.is_unsettled:
            self.is_unsettled, self.is_held = False, bool(self.queue)
            self._tell("queue")
            self._tell("status")

    def closed(self) -> None:
        """The connection is gone; what waits stays."""
        self.is_stopping = False
        self.busy_since = None
        self._tell("status")

    async def _exchange(self, text: str) -> None:
        self.story.begin_turn()
        session = self.session
        assert session is not None
        try:
            content = await self._composed(session, text)
            if content is None:
                return
            self._on_sent(self, text)
            reply = session.prompt(content)
            await self._read(reply)
            if self.story.is_turn_empty and session.connection.dialect.result_ends_turn:
                await asyncio.sleep(LATE_SECONDS)
            self._over(reply)
        except ConnectionClosed:
            self.is_cut_off = True  # told once for all sessions, by whoever watches the connection
        except AccordError as error:
            self.fail(failure_of(error))  # FN-94: shown as what it is, and the session lives
            self.is_behind = self.is_behind or isinstance(error, Fenced)
        except Exception as error:  # ours, but the session must not end by it
            log.exception("an exchange failed")
            self.fail(failure_of(error))
        finally:
            self._reading = None
            self.is_stopping, self.busy_since = False, None
            if self.recording is not None:
                self._keeping = asyncio.create_task(self.recording.keep(), name="accord record")
            self._tell("status")
            self.send_next()

    async def _composed(self, session: Session, text: str) -> list[Content] | None:
        """None if it was stopped, or the session has ended, before it could be sent: then it waits again."""
        composing = self._composing = asyncio.create_task(self._compose(self, text), name="accord composing")
        await asyncio.gather(composing, return_exceptions=True)
        self._composing = None
        if not (composing.cancelled() or self.is_stopping or session.is_closed):
            return composing.result()
        is_for_another = self.is_stopping and not self.is_held
        self.queue.insert(1 if is_for_another else 0, text)
        self._tell("queue")
        return None

    async def _read(self, reply: Reply) -> None:
        pace, has_more = Pace(), False
        try:
            async for change in reply:
                for portion in portions(change):
                    if self._is_killed and not isinstance(portion, ToolCallChanged | PlanChanged):
                        has_more = True  # how a call or a plan stands is short, and nothing must be left open
                        break
                    self.story.tell(portion)
                    await pace.keep(portion)
        finally:
            if has_more:
                self.say("the rest of what it had said by then is not shown here; /export has it")

    def _over(self, reply: Reply) -> None:
        reason = reply.stop_reason
        if reply.cancel_requested:
            self.say("stopped" if reason in ("cancelled", None) else f"stopped; the agent says: {reason}")  # FN-93
        elif reason == "refusal":
            self.say("the agent refused to go on; this turn is not part of the conversation")
        elif reason not in ("end_turn", None):
            self.say(f"the agent stopped: {reason}")
        elif reason == "end_turn" and self.story.is_turn_empty:
            self.say(EMPTY)  # FN-106

    def _story_changed(self, part: Part, block: Block | None) -> None:
        if part == "status" and not self.is_busy:
            self.is_stopping = False
        self._on_change(self, part, block)
        if part == "status" and self._reading is None:
            self.send_next()  # an agent that worked by itself may have come to rest

    def _tell(self, what: Heard) -> None:
        self._on_change(self, what, None)


def _is_asked(update: SessionUpdate) -> bool:
    """Whether it is something that the user said, which a history begins with."""
    change = update.update
    return isinstance(change, MessageChunk | MessageChanged) and change.message.role == USER


Answer: TypeAlias = PermissionAnswer | ElicitationAnswer


class Question:
    """A permission request, or a form or link to show, until somebody answers it."""

    def __init__(self, asked: PermissionRequest | ElicitationRequest) -> None:
        self.asked = asked
        self.answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def answer(self, answer: Answer) -> None:
        """Only the first answer counts."""
        if not self.answered.done():
            self.answered.set_result(answer)

    def decline(self) -> None:
        """Neither yes nor no: the question goes away."""
        if isinstance(self.asked, PermissionRequest):
            self.answer(PermissionAnswer(outcome="cancelled"))
        else:
            self.answer(ElicitationAnswer(action="cancel"))


class Asking:
    """The open questions of one session, the oldest first."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.questions: list[Question] = []
        self.seen = 0
        """How many were asked since there was last none."""
        self._on_change = on_change

    @property
    def first(self) -> Question | None:
        return self.questions[0] if self.questions else None

    @property
    def place(self) -> tuple[int, int]:
        """Which one of how many the first question is."""
        return self.seen - len(self.questions) + 1, self.seen

    async def permission(self, asked: PermissionRequest) -> PermissionAnswer:
        answer = await self._put(asked)
        assert isinstance(answer, PermissionAnswer)
        return answer

    async def elicitation(self, asked: ElicitationRequest) -> ElicitationAnswer:
        answer = await self._put(asked)
        assert isinstance(answer, ElicitationAnswer)
        return answer

    async def _put(self, asked: PermissionRequest | ElicitationRequest) -> Answer:
        question = Question(asked)
        self.seen = self.seen + 1 if self.questions else 1
        self.questions.append(question)
        self._on_change()
        try:
            return await question.answered
        finally:  # answered, withdrawn by the agent, or the turn was cancelled
            self.questions.remove(question)
            self._on_change()
