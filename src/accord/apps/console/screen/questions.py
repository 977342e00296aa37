"""The open questions of an agent. Law: a question leaves the queue when it is answered or withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from accord.session.requests import ElicitationAnswer, ElicitationRequest, PermissionAnswer, PermissionRequest

Answer: TypeAlias = PermissionAnswer | ElicitationAnswer


class Question:
    """A permission request, or a form or link to show, until it is answered."""

    def __init__(self, request: PermissionRequest | ElicitationRequest) -> None:
        self.request = request
        self.future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    @property
    def is_answered(self) -> bool:
        return self.future.done()

    def answer(self, answer: Answer) -> None:
        """Only the first answer counts."""
        if not self.is_answered:
            self.future.set_result(answer)

    def cancel(self) -> None:
        """Answer neither yes nor no."""
        if isinstance(self.request, PermissionRequest):
            self.answer(PermissionAnswer(outcome="cancelled"))
        else:
            self.answer(ElicitationAnswer(action="cancel"))


class QuestionQueue:
    """The open questions of one session, the oldest first. `on_change` is called when one comes or goes."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.pending: list[Question] = []
        self.total = 0
        """How many there were since the queue was last empty."""
        self._on_change = on_change

    @property
    def first(self) -> Question | None:
        return self.pending[0] if self.pending else None

    @property
    def position(self) -> tuple[int, int]:
        """The number of the first question, and the total: "2 of 3"."""
        return self.total - len(self.pending) + 1, self.total

    async def permission(self, request: PermissionRequest) -> PermissionAnswer:
        answer = await self._ask(request)
        assert isinstance(answer, PermissionAnswer)
        return answer

    async def elicitation(self, request: ElicitationRequest) -> ElicitationAnswer:
        answer = await self._ask(request)
        assert isinstance(answer, ElicitationAnswer)
        return answer

    async def _ask(self, request: PermissionRequest | ElicitationRequest) -> Answer:
        question = Question(request)
        self.total = self.total + 1 if self.pending else 1
        self.pending.append(question)
        self._on_change()
        try:
            return await question.future
        finally:  # answered, withdrawn by the agent, or the turn was cancelled
            self.pending.remove(question)
            self._on_change()
