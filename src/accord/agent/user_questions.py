"""Questions to the user that all clients of a session get.

Laws:

- The first answer counts. The other clients are told that the question is settled (`$/cancel_request`).
- Whatever the client that prompted says counts, a dismissal too. Of another client only an answer does: it may have nobody in
  front of it, and an error or a dismissal there must not decide for those who are still asked.
- A client that opens the session while the question is open is asked as well, so that a user whose connection was lost finds
  the question again on a new one.
- When nobody is left who could answer, the outcome is that of the client that prompted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from accord.agent.connection import AgentEndpoint
from accord.errors import ConnectionClosed, Malformed, RequestFailed


class UserAnswer(NamedTuple):
    """A client's response, and the client; None and the one that prompted when there was none."""

    response: Any
    endpoint: AgentEndpoint


class UserQuestion:
    """One question. `send` sends it to a client and returns the response, `is_answer` says whether that decides."""

    def __init__(
        self,
        prompter: AgentEndpoint,
        send: Callable[[AgentEndpoint], Awaitable[Any]],
        *,
        can_answer: Callable[[AgentEndpoint], bool],
        is_answer: Callable[[Any], bool],
    ) -> None:
        self._prompter = prompter
        self._send = send
        self._can_answer = can_answer
        self._is_answer = is_answer
        self._asked: dict[AgentEndpoint, asyncio.Task[Any]] = {}
        self._waiting: set[AgentEndpoint] = set()
        self._unanswered: BaseException | None = None
        self._outcome: asyncio.Future[UserAnswer] = asyncio.get_running_loop().create_future()

    def ask(self, endpoint: AgentEndpoint) -> None:
        """Ask one more client, unless it can't answer or was asked before."""
        if self._outcome.done() or endpoint in self._asked or not self._can_answer(endpoint):
            return
        task = asyncio.ensure_future(self._send(endpoint))
        self._asked[endpoint] = task
        self._waiting.add(endpoint)
        task.add_done_callback(lambda _: self._responded(endpoint, task))

    def drop(self, endpoint: AgentEndpoint) -> None:
        """Withdraw it from a client that has left the session."""
        task = self._asked.get(endpoint)
        if task is not None:
            task.cancel()

    async def answer(self, endpoints: Iterable[AgentEndpoint]) -> UserAnswer:
        """Ask these clients and the one that prompted; the first answer. ConnectionClosed when all have gone."""
        try:
            for endpoint in (self._prompter, *endpoints):
                self.ask(endpoint)
            self._check_open()
            return await self._outcome
        finally:
            if not self._outcome.done():
                self._outcome.cancel()
            for task in self._asked.values():
                task.cancel()  # sends `$/cancel_request`

    def _responded(self, endpoint: AgentEndpoint, task: asyncio.Task[Any]) -> None:
        self._waiting.discard(endpoint)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if self._outcome.done():
            return
        is_prompter = endpoint is self._prompter
        if error is None and (is_prompter or self._is_answer(task.result())):
            self._outcome.set_result(UserAnswer(task.result(), endpoint))
        elif is_prompter and not isinstance(
            error, (RequestFailed, Malformed, ConnectionClosed, asyncio.CancelledError)
        ):
            assert error is not None
            self._outcome.set_exception(error)  # the question itself is wrong
        else:
            if is_prompter and isinstance(error, ConnectionClosed):
                self._unanswered = error
            self._check_open()

    def _check_open(self) -> None:
        if self._outcome.done() or self._waiting:
            return
        if self._unanswered is not None:
            self._outcome.set_exception(self._unanswered)
        else:
            self._outcome.set_result(UserAnswer(None, self._prompter))


class OpenQuestions:
    """The questions of one session that are open now."""

    def __init__(self) -> None:
        self._open: list[UserQuestion] = []

    async def answer(self, request: UserQuestion, endpoints: Iterable[AgentEndpoint]) -> UserAnswer:
        """As `UserQuestion.answer`; clients that join meanwhile are asked too."""
        self._open.append(request)
        try:
            return await request.answer(endpoints)
        finally:
            self._open.remove(request)

    def join(self, endpoint: AgentEndpoint) -> None:
        """Ask a client that has opened the session."""
        for request in self._open:
            request.ask(endpoint)

    def leave(self, endpoint: AgentEndpoint) -> None:
        """Withdraw the questions from a client that has left the session."""
        for request in self._open:
            request.drop(endpoint)
