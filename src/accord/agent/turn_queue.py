"""The prompts of one session: they wait in a queue and become turns, one after the other, each with exactly one end.

Laws: prompts are taken in the order in which they came, and a cancel ends those that came before it, no others. All
that a turn tells is on its way before its end is told; every tool call has a final status by then. A turn that was
cancelled ends as `cancelled`, whatever its handler made of it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from accord.agent.connection import AgentConnection
from accord.agent.deadlines import TurnDeadlines
from accord.agent.definition import TurnPolicy
from accord.agent.session import AgentSession
from accord.agent.turn import NextPrompt, Turn
from accord.errors import (
    AuthRequired,
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    RequestCancelled,
    RequestFailed,
    TurnStopped,
)
from accord.local.threads import shielded_result
from accord.peer import HandlerResult
from accord.peer.inbound_requests import correlation_id
from accord.session.content import Content
from accord.session.entities import USER, TokenUsage
from accord.session.open_enums import STOP_REASONS
from accord.session.requests import Prompt, PromptResult
from accord.session.updates import MessagePatch, ToolCallPatch

__all__ = ["TurnHandler", "TurnQueue"]

log = logging.getLogger("accord.agent")

TurnHandler = Callable[[Turn], Awaitable[Any]]
"""What the author does with a turn; the result is a stop reason, or None."""


class QueuedPrompt:
    """Its request is answered at the end of its turn, or once it has its place in the conversation (v2)."""

    def __init__(self, asked: Prompt, client: AgentConnection) -> None:
        self.asked = asked
        self.client = client
        self.message_id: str | None = None
        self.stop_reason: str | None = None
        self.token_usage: TokenUsage | None = None
        self.is_cancelled = False
        self.settled = asyncio.Event()
        """Its answer has left, or never will."""
        self.over = asyncio.Event()
        """Its turn has ended, or there will be none."""
        self.work: Coroutine[Any, Any, Any]
        self._answer_ends_turn = client.dialect.result_ends_turn
        self._due: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_open(self) -> bool:
        """Whether its answer is still to come."""
        return not self._due.done()

    async def wait(self) -> None:
        """Return when it can be answered; raises what it should be answered with otherwise."""
        await shielded_result(self._due)

    def inserted(self, message_id: str) -> None:
        """It has its place."""
        self.message_id = message_id
        if not self._answer_ends_turn:
            self._resolve()

    def cancelled(self) -> None:
        """It never got its place."""
        self.over.set()
        if self._answer_ends_turn:
            self.ended("cancelled", None)
        else:
            self._resolve(RequestCancelled("The prompt was cancelled before it was taken up"))

    def ended(self, stop_reason: str, failure: RequestFailed | None) -> None:
        """Its turn is over."""
        self.over.set()
        self.stop_reason = stop_reason
        self._resolve(failure)

    def _resolve(self, failure: RequestFailed | None = None) -> None:
        if self._due.done():
            return
        if failure is None:
            self._due.set_result(None)
        else:
            self._due.set_exception(failure)
            self._due.exception()  # seen: it may be that nobody waits any more


class TurnQueue:
    """Takes the prompts of a session, and runs its turns."""

    def __init__(
        self,
        session: AgentSession,
        policy: TurnPolicy,
        handle: TurnHandler,
        is_command: Callable[[Prompt], bool] | None = None,
    ) -> None:
        self.session = session
        self.loop = asyncio.get_running_loop()
        self._policy = policy
        self._handle = handle
        self._is_command = is_command or _never
        self._queue: deque[QueuedPrompt] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._current: _Current | None = None
        session.journal.on_lost = self.fail

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or waits."""
        return self._worker is not None

    def take(self, asked: Prompt, client: AgentConnection) -> Coroutine[Any, Any, Any]:
        """Put a client's prompt in its place, now; what is returned answers it when its time has come."""
        if self.is_busy and self._policy.busy == "refuse":
            raise InvalidRequest("The session is busy: wait for the end of the turn, or cancel it")
        waiting = QueuedPrompt(asked, client)
        self._queue.append(waiting)
        waiting.work = self._answer(waiting)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return waiting.work

    def cancel(self) -> None:
        """End the running turn and all that waits; nothing when there is nothing."""
        for waiting in self._queue:
            waiting.is_cancelled = True
        if self._current is not None:
            self._current.cancel()

    def fail(self, failure: RequestFailed) -> None:
        """End the running turn with an error; what waits goes on, and learns by itself whether it can."""
        if self._current is not None:
            self._current.fail(failure)

    def withdraw(self, client: AgentConnection) -> QueuedPrompt | None:
        """Cancel what this client has asked for, and nothing else; what is left to end."""
        for waiting in [each for each in self._queue if each.client is client]:
            self._queue.remove(waiting)
            waiting.cancelled()
        current = self._current
        if current is None or current.waiting.client is not client:
            return None
        current.cancel()
        return current.waiting

    async def leave(self, client: AgentConnection) -> None:
        """End what this client has asked for, and wait until that has ended; what others asked for goes on."""
        current = self.withdraw(client)
        if current is not None:
            await current.over.wait()

    async def stop(self) -> None:
        """Cancel, and wait until everything has ended."""
        self.cancel()
        if self._worker is not None:
            await asyncio.wait([self._worker])

    async def _answer(self, waiting: QueuedPrompt) -> Any:
        client = waiting.client
        try:
            try:
                await waiting.wait()
            except asyncio.CancelledError:
                if not client.peer.is_open or self._withdraw(waiting):
                    raise
                await waiting.wait()  # it runs: its end is its answer
            answer = PromptResult(
                stop_reason=waiting.stop_reason, message_id=waiting.message_id, token_usage=waiting.token_usage
            )
            result = client.dialect.result_to_wire(waiting.asked, answer)
        except BaseException:
            waiting.settled.set()
            raise
        return HandlerResult(result, waiting.settled.set)

    def _withdraw(self, waiting: QueuedPrompt) -> bool:
        """Whether it could still be taken back."""
        if waiting in self._queue:
            self._queue.remove(waiting)
            return True
        if self._current is not None and self._current.waiting is waiting and waiting.is_open:
            self._current.cancel()
        return False

    async def _work(self) -> None:
        try:
            while self._queue:
                waiting = self._queue.popleft()
                if waiting.is_cancelled:
                    waiting.cancelled()
                    self.session.cancelled_content += waiting.asked.content
                elif inspect.getcoroutinestate(waiting.work) != inspect.CORO_CLOSED:
                    await self._take_turn(waiting)
        finally:
            self._worker = None

    async def _take_turn(self, waiting: QueuedPrompt) -> None:
        current = self._current = _Current(self.session, waiting, self._policy, self._steered)
        self.session.prompter = waiting.client
        try:
            failure = None
            try:
                await self._insert(waiting)
                self.session.set_state("running")
                stop_reason = await current.run(self._handle)
            except Exception as error:  # noqa: BLE001  # whatever it is, the turn gets its end
                stop_reason, failure = self._failed(error, waiting.client)
            if current.is_cancelled:
                stop_reason, failure = "cancelled", None
            await self._end(current, stop_reason, failure)
        except Exception as error:  # noqa: BLE001  # what could not be told or kept still gets its answer
            for each in (waiting, *current.steered):
                each.ended(*self._failed(error, waiting.client))
        finally:
            current.close()
            self._current = self.session.prompter = None

    async def _insert(self, waiting: QueuedPrompt) -> None:
        """Give the message its id and its place; where the version wants it, answer with that and tell it back."""
        session = self.session
        session.transcript.begin_turn()
        patch = MessagePatch(role=USER, id=None, content=waiting.asked.content)
        change: Any = session.apply(patch)
        # At once: whoever begins to listen from here on finds it in the history.
        session.stream.echo(change, waiting.client, to_sender=False)
        dialect = waiting.client.dialect
        if dialect.echoes_prompt and dialect.result_ends_turn:
            session.stream.echo(change, waiting.client, to_sender=True)
        session.transcript.begin_turn()
        await session.commit()
        waiting.inserted(change.message.id)
        if not dialect.result_ends_turn:
            await waiting.settled.wait()
            session.stream.echo(change, waiting.client, to_sender=True)

    async def _steered(self) -> list[Content] | None:
        """The next prompt that came while a turn runs, taken into it; a slash command waits for a turn of its own."""
        if self._policy.busy != "steer" or not self._queue or self._current is None:
            return None
        if self._is_command(self._queue[0].asked):
            return None
        waiting = self._queue.popleft()
        self._current.steered.append(waiting)
        await self._insert(waiting)
        return waiting.asked.content

    def _failed(self, error: Exception, client: AgentConnection) -> tuple[str, RequestFailed | None]:
        if isinstance(error, AuthRequired):
            error.complete(client.logins)  # RPC-31
        if isinstance(error, RequestFailed) and not error.was_received:
            return "error", error
        if isinstance(error, ConnectionClosed) and not client.peer.is_open:
            return "error", RequestCancelled()
        name = correlation_id()
        text = "a turn of %s failed (correlation id %s)"
        client.peer.limited_log.failure(log, error, text, self.session.id, name)
        return "error", InternalError(name)

    async def _end(self, current: _Current, stop_reason: str, failure: RequestFailed | None) -> None:
        current.turn.is_over = True
        session = self.session
        status = "failed" if failure else "cancelled" if stop_reason == "cancelled" else "completed"
        for call in list(session.transcript.tool_calls.values()):
            if not call.finished and call.id not in session.background:
                session.send_nowait(ToolCallPatch(id=call.id, status=status))  # FN-25
        if failure is not None or stop_reason != "end_turn":
            session.pause_plans(current.turn.plan_ids)
        try:
            await session.commit()
        except Exception as error:  # noqa: BLE001  # what is not safe must not be called so
            stop_reason, failure = self._failed(error, current.waiting.client)
        usage = current.turn.token_usage
        session.set_state("idle", stop_reason, None if failure is None else _told(failure), usage)
        current.waiting.token_usage = usage  # of a steered prompt it would be counted twice
        asked = (current.waiting, *current.steered)
        is_cancelled = stop_reason == "cancelled"
        session.cancelled_content = [block for each in asked for block in each.asked.content] if is_cancelled else []
        for waiting in asked:
            waiting.ended(stop_reason, failure)


class _Current:
    """The turn that runs, with its handler's task and its clocks."""

    def __init__(
        self, session: AgentSession, waiting: QueuedPrompt, policy: TurnPolicy, take_steered: NextPrompt
    ) -> None:
        self.waiting = waiting
        self.steered: list[QueuedPrompt] = []
        self.is_cancelled = False
        self._policy = policy
        self._session = session
        self._failure: RequestFailed | None = None
        self._task: asyncio.Task[Any] | None = None
        self._left_behind: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._deadlines = TurnDeadlines(policy.idle_deadline, policy.turn_deadline, self._pass)
        self.turn = Turn(
            session,
            waiting.client,
            waiting.asked,
            policy=policy,
            deadlines=self._deadlines,
            take_steered=take_steered,
        )

    def cancel(self) -> None:
        if not self.is_cancelled and not self.turn.is_over:
            self.is_cancelled = self.turn.is_cancelled = True
            self.waiting.settled.set()
            self._interrupt()

    def close(self) -> None:
        self._deadlines.stop()
        if self._timer is not None:
            self._timer.cancel()

    async def run(self, handle: TurnHandler) -> str:
        """The stop reason; raises what the handler raised, or the failure that has ended the turn before."""
        if self.is_cancelled:
            return "cancelled"
        task = self._task = asyncio.ensure_future(handle(self.turn))
        if self.is_cancelled or self._failure is not None:
            task.cancel()
        await asyncio.wait((task, self._left_behind), return_when=asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            task.add_done_callback(_seen)
            raise self._failure
        if not task.done():
            limited = self.waiting.client.peer.limited_log
            limited.warning(log, "a handler goes on although its turn was cancelled: %s", task)
            task.add_done_callback(_seen)
            return "cancelled"
        try:
            return _stop_reason(task.result())
        except TurnStopped as stopped:
            return _stop_reason(stopped.reason)
        except asyncio.CancelledError:
            if self.is_cancelled:
                return "cancelled"
            raise RuntimeError("the handler was cancelled, though nobody cancelled the turn") from None

    def fail(self, failure: RequestFailed) -> None:
        """End it with an error, unless it has ended."""
        if self._failure is None and not self.turn.is_over:
            self._failure = failure
            self._interrupt()

    def _pass(self, what: str) -> None:
        self.fail(RequestCancelled(what))

    def _interrupt(self) -> None:
        self._deadlines.stop()
        if self._task is not None:
            self._task.cancel()
        if self._timer is None:
            leave = partial(_resolve, self._left_behind)
            self._timer = asyncio.get_running_loop().call_later(self._policy.cancel_grace, leave)


def _never(asked: Prompt) -> bool:
    return False


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _seen(task: asyncio.Future[Any]) -> None:
    if task.done() and not task.cancelled() and task.exception() is not None:
        log.debug("raised by the handler of a turn that was over", exc_info=task.exception())


def _stop_reason(result: Any) -> str:
    if result is None:
        return "end_turn"
    if result in STOP_REASONS:
        return result
    listed = ", ".join(STOP_REASONS)
    raise ValueError(
        f"a prompt handler returned {result!r}: expected None or one of {listed}, or your own, beginning with an underscore"
    )


def _told(failure: RequestFailed) -> dict[str, Any]:
    code, message, details = failure.to_error()
    error: dict[str, Any] = {"code": code, "message": message}
    return error if not isinstance(details, dict) else {**error, "data": details}
