"""What a turn asks the user: permission, with choices that are remembered, and forms.

Law: only a choice that was offered and allows is a yes. An error, a dismissal, an outcome or an option that nobody
offered: all are a no (FN-44).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from accord.agent.connection import AgentConnection
from accord.agent.deadlines import TurnDeadlines
from accord.agent.session import AgentSession
from accord.agent.tool_calls import AgentToolCall
from accord.errors import Malformed, RequestFailed
from accord.session.requests import (
    ElicitationAnswer,
    ElicitationRequest,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.type_checks import check_type

__all__ = ["OPTIONS", "ClientQuestions"]

OPTIONS = (
    PermissionOption(id="allow", name="Allow", kind="allow_once"),
    PermissionOption(id="allow-always", name="Always allow", kind="allow_always"),
    PermissionOption(id="reject", name="Reject", kind="reject_once"),
    PermissionOption(id="reject-always", name="Always reject", kind="reject_always"),
)

_ALLOWS = ("allow_once", "allow_always")
_IS_REMEMBERED = ("allow_always", "reject_always")


class ClientQuestions:
    """The questions of one turn. While one is open, the session requires action and the turn's time stands still."""

    def __init__(self, session: AgentSession, client: AgentConnection, deadlines: TurnDeadlines) -> None:
        self._session = session
        self._client = client
        self._deadlines = deadlines
        self._open = 0

    def check(self, options: Sequence[PermissionOption], description: str | None) -> None:
        """ValueError for a question that must not be put, before anybody learns that there is one."""
        asked = PermissionRequest(session_id=self._session.id, options=list(options), description=description)
        self._session.validator.request(asked)

    async def permission(
        self,
        about: AgentToolCall,
        options: Sequence[PermissionOption],
        description: str | None,
        scope: str | None,
    ) -> bool:
        """Whether the user allows it. An always-choice holds for everything in the same scope of this session."""
        key = scope or _scope(about)
        if key in self._session.remembered:
            return self._session.remembered[key]
        asked = PermissionRequest(
            session_id=self._session.id,
            options=list(options),
            title=about.call.title or about.id,
            description=description,
            subject=ToolCallSubject(call=about.asked()),
        )
        chosen = _chosen(await self._ask(asked), options)
        allowed = chosen is not None and chosen.kind in _ALLOWS
        if chosen is not None and chosen.kind in _IS_REMEMBERED:
            self._session.remembered[key] = allowed
        return allowed

    async def form(
        self, message: str, fields: Mapping[str, Any], required: Sequence[str] | None, call_id: str | None
    ) -> dict[str, Any] | None:
        """What the user filled in; None when there is no answer, or the client has no forms."""
        check_type(fields, Mapping, "fields by name")
        named = list(fields if required is None else required)
        schema: dict[str, Any] = {"type": "object", "properties": dict(fields), "required": named}
        asked = ElicitationRequest(
            message=message, mode="form", session_id=self._session.id, tool_call_id=call_id, schema=schema
        )
        self._client.check(asked)
        if not self._client.capabilities.form_elicitation:
            return None
        answer = await self._ask(asked)
        if isinstance(answer, ElicitationAnswer) and answer.action == "accept":
            return answer.content or {}
        return None

    async def url(self, message: str, url: str, elicitation_id: str) -> bool:
        """Whether the user agreed to open the address; not whether what it is for is done."""
        asked = ElicitationRequest(
            message=message, mode="url", session_id=self._session.id, url=url, elicitation_id=elicitation_id
        )
        self._client.check(asked)
        if not self._client.capabilities.url_elicitation:
            return False
        answer = await self._ask(asked)
        return isinstance(answer, ElicitationAnswer) and answer.action == "accept"

    async def _ask(self, asked: ElicitationRequest | PermissionRequest) -> Any:
        self._session.validator.request(asked)
        async with self._open_question():
            await self._session.commit()
            try:
                return await self._client.ask(asked)
            except (RequestFailed, Malformed):
                return None

    @asynccontextmanager
    async def _open_question(self) -> AsyncGenerator[None]:
        self._open += 1
        if self._open == 1:
            self._session.set_state("requires_action")
        self._deadlines.pause()
        try:
            yield
        finally:
            self._deadlines.resume()
            self._open -= 1
            task = asyncio.current_task()
            if self._open == 0 and not (task is not None and task.cancelling()):
                self._session.set_state("running")


def _scope(about: AgentToolCall) -> str:
    call = about.call
    return f"tool: {call.name}" if call.name else f"{call.kind}: {call.title}"


def _chosen(answer: Any, options: Sequence[PermissionOption]) -> PermissionOption | None:
    if not isinstance(answer, PermissionAnswer) or answer.outcome != "selected":
        return None
    return next((option for option in options if option.id == answer.option_id), None)
