"""What an agent asks the user, one after the other. Law: a question leaves the queue when it is answered or withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from accord.session.requests import Elicit, ElicitationAnswer, PermissionAnswer, RequestPermission

__all__ = ["Asking", "Question"]

Answer: TypeAlias = PermissionAnswer | ElicitationAnswer


class Question:
    """A permission request, or a form or link to show, until somebody answers it."""

    def __init__(self, asked: RequestPermission | Elicit) -> None:
        self.asked = asked
        self.answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def answer(self, answer: Answer) -> None:
        """Only the first answer counts."""
        if not self.answered.done():
            self.answered.set_result(answer)

    def decline(self) -> None:
        """Neither yes nor no: the question goes away."""
        if isinstance(self.asked, RequestPermission):
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

    async def permission(self, asked: RequestPermission) -> PermissionAnswer:
        answer = await self._put(asked)
        assert isinstance(answer, PermissionAnswer)
        return answer

    async def elicitation(self, asked: Elicit) -> ElicitationAnswer:
        answer = await self._put(asked)
        assert isinstance(answer, ElicitationAnswer)
        return answer

    async def _put(self, asked: RequestPermission | Elicit) -> Answer:
        question = Question(asked)
        self.seen = self.seen + 1 if self.questions else 1
        self.questions.append(question)
        self._on_change()
        try:
            return await question.answered
        finally:  # answered, withdrawn by the agent, or the turn was cancelled
            self.questions.remove(question)
            self._on_change()
