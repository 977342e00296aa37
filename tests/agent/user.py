"""Whoever sits in front of a client: a client of the parts below the SDK, with choices to make."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from accord.agent import Agent
from accord.session.requests import AcpRequest, PermissionAnswer, PermissionRequest
from accord.session.value import Value
from tests.conversations.client_side import EVERYTHING, ClientSide

__all__ = ["CWD", "EVERYTHING", "User", "plain_agent"]

CWD = "/work/project"


def plain_agent(name: str = "tester", version: str = "1.0", **options: Any) -> Agent:
    """An agent that reads strictly and sends each piece by itself, unless told otherwise."""
    return Agent(name, version, **{"strict": True, "merge_seconds": 0.0, **options})


class User(ClientSide):
    """Picks the first option of the kinds in `prefers`; `asked` holds every question. `answers` overrides any answer."""

    def __init__(self, agent: Agent, version: Any = "auto", prefers: str | None = "allow_once", **options: Any) -> None:
        super().__init__(agent.connect(), version=version, chooses=prefers, **options)
        self.served = agent
        self.asked: list[AcpRequest] = []
        self.answers: dict[type[AcpRequest], Callable[[Any], Any]] = {}
        self._call_ids: dict[str, str] = {}

    async def new_session(self, cwd: str = CWD) -> str:
        return await super().new_session(cwd)

    async def answer_in_words(self, asked: AcpRequest) -> Value:
        self.asked.append(asked)
        if type(asked) in self.answers:
            answer = self.answers[type(asked)](asked)
            return await answer if hasattr(answer, "__await__") else answer
        return await super().answer_in_words(asked)

    async def permission(self, asked: PermissionRequest) -> PermissionAnswer:
        if self.chooses is None:
            await self.cancelled.wait()
            return PermissionAnswer(outcome="cancelled")
        chosen = next(option for option in asked.options if option.kind == self.chooses)
        return PermissionAnswer(outcome="selected", option_id=chosen.id)

    def note(self, what: str) -> None:
        """The calls are seen as `call-1`, `call-2`: the agent's own ids are another ones each time."""
        super().note(re.sub(r"\bcall-[0-9a-f]{16}\b", self._short_id, what))

    def _short_id(self, found: re.Match[str]) -> str:
        return self._call_ids.setdefault(found[0], f"call-{len(self._call_ids) + 1}")

    async def call(self, method: str, params: Any) -> Any:
        return msgspec.json.decode(await self.peer.request(method, params, deadline=30))

    def said(self, session_id: str) -> str:
        messages = self.transcripts[session_id].messages.values()
        return "".join(message.text for message in messages if message.role == "agent")

    def sent(self) -> list[dict[str, Any]]:
        """The frames that the agent sent."""
        return [msgspec.json.decode(frame) for direction, frame in self.frames if direction == "received"]
