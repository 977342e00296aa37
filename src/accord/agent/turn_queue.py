"""The prompts of one session: a queue that runs them as turns, one after the other, each with exactly one end.

Laws: prompts run in the order in which they came, and a cancel ends those that came before it, no others. All updates of a
turn are sent before its end, and every tool call has a final status by then. A cancelled turn ends as `cancelled`, whatever
its handler does.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from accord.agent.connection import AgentEndpoint
from accord.agent.definition import TurnPolicy
from accord.agent.session import AgentSession, Publisher
from accord.agent.session_servers import SessionServers
from accord.agent.turn import TurnState
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
from accord.session.content import Content, drop_repeated
from accord.session.entities import USER, TokenUsage
from accord.session.open_enums import STOP_REASONS
from accord.session.requests import Prompt, PromptResult
from accord.session.updates import MessagePatch, ToolCallPatch

log = logging.getLogger("accord.agent")

TurnHandler = Callable[[TurnState], Awaitable[Any]]
"""Runs the author's handler for a turn; the result is a stop reason, or None."""


class QueuedPrompt:
    """A prompt whose response is due at the end of its turn, or in v2 once it has its place in the conversation."""

    def __init__(self, prompt: Prompt, endpoint: AgentEndpoint) -> None:
        self.prompt = prompt
        self.endpoint = endpoint
        self.message_id: str | None = None
        self.stop_reason: str | None = None
        self.token_usage: TokenUsage | None = None
        self.is_cancelled = False
        self.responded = asyncio.Event()
        """Its response has been sent, or never will be."""
        self.over = asyncio.Event()
        """Its turn has ended, or will never begin."""
        self.response: Coroutine[Any, Any, Any]
        self._answer_ends_turn = endpoint.dialect.result_ends_turn
        self._due: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_open(self) -> bool:
        """Whether its response is still due."""
        return not self._due.done()

    async def wait(self) -> None:
        """Wait until its response is due; raises the error to respond with."""
        await shielded_result(self._due)

    def insert(self, message_id: str) -> None:
        """Called when it has its place in the conversation."""
        self.message_id = message_id
        if not self._answer_ends_turn:
            self._resolve()

    def cancel(self) -> None:
        """Called when it is cancelled before its turn."""
        self.over.set()
        if self._answer_ends_turn:
            self.end("cancelled", None)
        else:
            self._resolve(RequestCancelled("The prompt was cancelled before its turn began"))

    def leave(self) -> None:
        """Called when its client has gone and its turn goes on: the client need not wait for the end."""
        self.stop_reason = "cancelled"
        self._resolve()

    def end(self, stop_reason: str, failure: RequestFailed | None) -> None:
        """Called when its turn has ended."""
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
            self._due.exception()  # mark it as retrieved: perhaps nobody waits any more


class TurnQueue:
    """Queues the prompts of a session, and runs its turns."""

    def __init__(
        self,
        session: AgentSession,
        publisher: Publisher,
        servers: SessionServers,
        *,
        policy: TurnPolicy,
        handle: TurnHandler,
        is_command: Callable[[list[Content]], bool],
    ) -> None:
        self.session = session
        self.publisher = publisher
        self.servers = servers
        self.loop = asyncio.get_running_loop()
        self._policy = policy
        self._handle = handle
        self._is_command = is_command
        self._queue: deque[QueuedPrompt] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._current: _ActiveTurn | None = None
        self._cancelled_content: list[Content] = []
        """The blocks of the prompts that the last cancel ended, until another turn has ended."""
        publisher.journal.on_lost = self.fail

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running or queued."""
        return self._worker is not None

    def put(self, prompt: Prompt, endpoint: AgentEndpoint) -> Coroutine[Any, Any, Any]:
        """Queue a client's prompt at once; the coroutine returns its response."""
        if self.is_busy and self._policy.busy == "refuse":
            raise InvalidRequest("The session is busy: wait for the end of the turn, or cancel it")
        queued = QueuedPrompt(prompt, endpoint)
        self._queue.append(queued)
        queued.response = self._respond(queued)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return queued.response

    def cancel(self) -> None:
        """Cancel the running turn and all queued prompts, if any."""
        for queued in self._queue:
            queued.is_cancelled = True
        if self._current is not None:
            self._current.cancel()

    def fail(self, failure: RequestFailed) -> None:
        """End the running turn with an error; queued prompts still run."""
        if self._current is not None:
            self._current.fail(failure)

    def withdraw(self, endpoint: AgentEndpoint, *, is_gone: bool = True) -> QueuedPrompt | None:
        """Cancel the prompts of one connection; returns the one that is running and still has to end.

        If the connection `is_gone`, its turn goes on as long as another one listens.
        """
        for queued in [each for each in self._queue if each.endpoint is endpoint]:
            self._queue.remove(queued)
            queued.cancel()
        current = self._current
        if current is None:
            return None
        prompter = current.queued.endpoint
        if prompter is not endpoint and (not is_gone or prompter.peer.has_input):
            return None
        if is_gone and self._has_listener(endpoint):
            if prompter is endpoint:
                current.queued.leave()
            return None
        current.cancel()
        return current.queued

    def _has_listener(self, gone: AgentEndpoint) -> bool:
        subscribed = [each.endpoint for each in self.publisher.stream.subscriptions]
        return any(endpoint is not gone and endpoint.peer.has_input for endpoint in subscribed)

    async def leave(self, endpoint: AgentEndpoint, *, is_gone: bool) -> None:
        """Cancel the prompts of one connection, and wait until they have ended; as `withdraw`."""
        running = self.withdraw(endpoint, is_gone=is_gone)
        if running is not None:
            await running.over.wait()

    async def close(self) -> None:
        """End all turns, then everything that the session holds; its records stay in the store."""
        self.publisher.is_closed = True
        self.publisher.journal.stop_renewing()
        self.cancel()
        if self._worker is not None:
            await asyncio.wait([self._worker])
        await self.publisher.background.stop()
        self.publisher.stream.close()
        await self.servers.close()
        await self.publisher.journal.close()

    async def _respond(self, queued: QueuedPrompt) -> Any:
        endpoint = queued.endpoint
        try:
            try:
                await queued.wait()
            except asyncio.CancelledError:
                if not endpoint.peer.is_open or self._remove(queued):
                    raise
                await queued.wait()  # it is running: its end is its response
            result = PromptResult(
                stop_reason=queued.stop_reason, message_id=queued.message_id, token_usage=queued.token_usage
            )
            wire_result = endpoint.dialect.result_to_wire(queued.prompt, result)
        except BaseException:
            queued.responded.set()
            raise
        return HandlerResult(wire_result, queued.responded.set)

    def _remove(self, queued: QueuedPrompt) -> bool:
        """Remove a prompt from the queue, or cancel its turn; returns whether it was still queued."""
        if queued in self._queue:
            self._queue.remove(queued)
            return True
        if self._current is not None and self._current.queued is queued and queued.is_open:
            self._current.cancel()
        return False

    async def _work(self) -> None:
        try:
            while self._queue:
                queued = self._queue.popleft()
                if queued.is_cancelled:
                    queued.cancel()
                    self._cancelled_content += queued.prompt.content
                elif inspect.getcoroutinestate(queued.response) != inspect.CORO_CLOSED:
                    await self._run_turn(queued)
        finally:
            self._worker = None

    async def _run_turn(self, queued: QueuedPrompt) -> None:
        state = TurnState(
            self.session,
            self.publisher,
            self.servers,
            queued.endpoint,
            queued.prompt,
            new_content=drop_repeated(queued.prompt.content, self._cancelled_content),
            policy=self._policy,
            next_prompt=self._next_prompt,
        )
        current = self._current = _ActiveTurn(queued, state)
        self.publisher.prompter = queued.endpoint
        try:
            failure = None
            try:
                await self._insert(queued)
                self.publisher.set_state("running")
                stop_reason = await current.run(self._handle)
            except Exception as error:  # noqa: BLE001  # whatever it is, the turn gets its end
                stop_reason, failure = self._to_failure(error, queued.endpoint)
            if state.is_cancelled:
                stop_reason, failure = "cancelled", None
            await self._end(current, stop_reason, failure)
        except Exception as error:  # noqa: BLE001  # a turn whose end can't be sent or stored still gets its response
            for each in (queued, *current.steering):
                each.end(*self._to_failure(error, queued.endpoint))
        finally:
            current.close()
            self._current = self.publisher.prompter = None

    async def _insert(self, queued: QueuedPrompt) -> None:
        """Give the message its id and its place; where the version wants it, respond with that and send it back."""
        publisher, endpoint = self.publisher, queued.endpoint
        publisher.transcript.begin_turn()
        update: Any = publisher.apply(MessagePatch(role=USER, id=None, content=queued.prompt.content))
        # At once: a connection that subscribes from here on finds it in the history.
        publisher.stream.echo(update, endpoint, to_sender=False)
        if endpoint.dialect.echoes_prompt and endpoint.dialect.result_ends_turn:
            publisher.stream.echo(update, endpoint, to_sender=True)
        publisher.transcript.begin_turn()
        await publisher.commit()
        queued.insert(update.message.id)
        if not endpoint.dialect.result_ends_turn:
            await queued.responded.wait()
            publisher.stream.echo(update, endpoint, to_sender=True)

    async def _next_prompt(self) -> list[Content] | None:
        """Take the next queued prompt into the running turn; a slash command waits for a turn of its own."""
        if self._policy.busy != "steer" or not self._queue or self._current is None:
            return None
        if self._is_command(drop_repeated(self._queue[0].prompt.content, self._cancelled_content)):
            return None
        queued = self._queue.popleft()
        self._current.steering.append(queued)
        await self._insert(queued)
        return queued.prompt.content

    def _to_failure(self, error: Exception, endpoint: AgentEndpoint) -> tuple[str, RequestFailed | None]:
        if isinstance(error, AuthRequired):
            error.complete(endpoint.logins)  # RPC-31
        if isinstance(error, RequestFailed) and not error.was_received:
            return "error", error
        if isinstance(error, ConnectionClosed) and not endpoint.peer.is_open:
            return "error", RequestCancelled()
        id = correlation_id()
        endpoint.peer.limited_log.failure(log, error, "a turn of %s failed (correlation id %s)", self.session.id, id)
        return "error", InternalError(id)

    async def _end(self, current: _ActiveTurn, stop_reason: str, failure: RequestFailed | None) -> None:
        publisher, state = self.publisher, current.state
        state.is_over = True
        status = "failed" if failure else "cancelled" if stop_reason == "cancelled" else "completed"
        for call in publisher.transcript.open_calls:
            if call.id not in publisher.background:
                publisher.send_nowait(ToolCallPatch(id=call.id, status=status))  # FN-25
        if failure is not None or stop_reason != "end_turn":
            publisher.pause_plans(state.plan_ids)
        try:
            await publisher.commit()
        except Exception as error:  # noqa: BLE001  # the response must not claim what is not on disk
            stop_reason, failure = self._to_failure(error, current.queued.endpoint)
        error = None if failure is None else _error_members(failure)
        publisher.set_state("idle", stop_reason, error, state.token_usage)
        current.queued.token_usage = state.token_usage  # not of steering prompts: it would be counted twice
        prompts = (current.queued, *current.steering)
        is_cancelled = stop_reason == "cancelled"
        self._cancelled_content = [block for each in prompts for block in each.prompt.content] if is_cancelled else []
        for queued in prompts:
            queued.end(stop_reason, failure)


class _ActiveTurn:
    """The running turn, with its handler's task and its deadlines."""

    def __init__(self, queued: QueuedPrompt, state: TurnState) -> None:
        self.queued = queued
        self.steering: list[QueuedPrompt] = []
        """Later prompts that were taken into this turn."""
        self.state = state
        self._failure: RequestFailed | None = None
        self._task: asyncio.Task[Any] | None = None
        self._abandoned: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        state.deadlines.start(self._expire)

    def cancel(self) -> None:
        if not self.state.is_cancelled and not self.state.is_over:
            self.state.is_cancelled = True
            self.queued.responded.set()
            self._interrupt()

    def close(self) -> None:
        self.state.deadlines.stop()
        if self._timer is not None:
            self._timer.cancel()

    async def run(self, handle: TurnHandler) -> str:
        """Run the handler and return the stop reason; raises the handler's error, or the failure that ended the turn."""
        if self.state.is_cancelled:
            return "cancelled"
        task = self._task = asyncio.ensure_future(handle(self.state))
        if self.state.is_cancelled or self._failure is not None:
            task.cancel()
        await asyncio.wait((task, self._abandoned), return_when=asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            task.add_done_callback(_log_late_error)
            raise self._failure
        if not task.done():
            limited_log = self.queued.endpoint.peer.limited_log
            limited_log.warning(log, "a handler still runs although its turn was cancelled: %s", task)
            task.add_done_callback(_log_late_error)
            return "cancelled"
        try:
            return _stop_reason(task.result())
        except TurnStopped as stopped:
            return _stop_reason(stopped.reason)
        except asyncio.CancelledError:
            if self.state.is_cancelled:
                return "cancelled"
            raise RuntimeError("the handler was cancelled, but the turn was not") from None

    def fail(self, failure: RequestFailed) -> None:
        """End the turn with an error, unless it has ended."""
        if self._failure is None and not self.state.is_over:
            self._failure = failure
            self._interrupt()

    def _expire(self, reason: str) -> None:
        self.fail(RequestCancelled(reason))

    def _interrupt(self) -> None:
        self.state.deadlines.stop()
        if self._task is not None:
            self._task.cancel()
        if self._timer is None:
            abandon = partial(_resolve, self._abandoned)
            self._timer = asyncio.get_running_loop().call_later(self.state.policy.cancel_grace, abandon)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _log_late_error(task: asyncio.Future[Any]) -> None:
    if task.done() and not task.cancelled() and task.exception() is not None:
        log.debug("the handler of a turn that had ended raised an error", exc_info=task.exception())


def _stop_reason(result: Any) -> str:
    if result is None:
        return "end_turn"
    if result in STOP_REASONS:
        return result
    reasons = ", ".join(STOP_REASONS)
    raise ValueError(
        f"a prompt handler returned {result!r}: expected None, one of {reasons}, or your own, beginning with an underscore"
    )


def _error_members(failure: RequestFailed) -> dict[str, Any]:
    code, message, details = failure.to_error()
    error: dict[str, Any] = {"code": code, "message": message}
    return error if not isinstance(details, dict) else {**error, "data": details}
