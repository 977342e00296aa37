"""Requests of a turn to the user: for permission, with answers that are saved for the session, and forms.

They go to all clients of the session that can answer, and the first answer counts (`user_questions`).

Law: only an offered option that allows is a yes. An error, a dismissal, an unknown outcome or an option that was not
offered is a no (FN-44).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from accord.agent.audit import record
from accord.agent.connection import AgentConnection, AgentEndpoint
from accord.agent.deadlines import TurnDeadlines
from accord.agent.session import AgentSession, Publisher
from accord.agent.user_questions import UserAnswer, UserQuestion
from accord.session.entities import ToolCall
from accord.session.requests import (
    SHARED,
    ElicitationAnswer,
    ElicitationRequest,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.type_checks import check_type
from accord.session.updates import ToolCallPatch
from accord.session.value import UNSET

OPTIONS = (
    PermissionOption(id="allow", name="Allow", kind="allow_once"),
    PermissionOption(id="allow-always", name="Always allow", kind="allow_always"),
    PermissionOption(id="reject", name="Reject", kind="reject_once"),
    PermissionOption(id="reject-always", name="Always reject", kind="reject_always"),
)

_ALLOW = ("allow_once", "allow_always")
_ALWAYS = ("allow_always", "reject_always")


class UserRequests:
    """While a request is open, the session's state is `requires_action` and the turn's deadlines are paused."""

    def __init__(
        self,
        session: AgentSession,
        publisher: Publisher,
        endpoint: AgentEndpoint,
        client: AgentConnection,
        deadlines: TurnDeadlines,
    ) -> None:
        self._session = session
        self._publisher = publisher
        self._endpoint = endpoint
        self._client = client
        self._deadlines = deadlines
        self._open = 0

    def check_permission(self, options: Sequence[PermissionOption], description: str | None) -> None:
        """ValueError for a request that is not valid, before anything is sent."""
        for option in options:
            check_type(option, PermissionOption, "a PermissionOption")
        request = PermissionRequest(session_id=self._session.id, options=list(options), description=description)
        self._publisher.validator.request(request)

    async def permission(
        self, call: ToolCall, options: Sequence[PermissionOption], description: str | None, scope: str | None
    ) -> bool:
        """Whether the user allows it. An always-answer holds for everything in the same scope of the session."""
        key = scope or (f"tool: {call.name}" if call.name else f"{call.kind}: {call.title}")
        if key in self._session.saved_answers:
            return self._session.saved_answers[key]
        request = PermissionRequest(
            session_id=self._session.id,
            options=list(options),
            title=call.title or call.id,
            description=description,
            subject=ToolCallSubject(call=_whole_patch(call)),
        )
        answer, endpoint = await self._send(request, _can_always_answer, _is_selected)
        option = _selected_option(answer, options)
        is_allowed = option is not None and option.kind in _ALLOW
        kind = None if option is None else option.kind
        record("answered", endpoint, self._session.id, request=request.title, answer=kind, allowed=is_allowed)
        if option is not None and option.kind in _ALWAYS:
            self._session.saved_answers[key] = is_allowed
        return is_allowed

    async def form(
        self, message: str, fields: Mapping[str, Any], required: Sequence[str] | None
    ) -> dict[str, Any] | None:
        """The values that the user entered; None when there is no answer, or the client has no forms."""
        check_type(fields, Mapping, "fields by name")
        for field in fields.values():
            check_type(field, Mapping, "a JSON schema for each field, such as {'type': 'string'}")
        names = list(fields if required is None else required)
        schema: dict[str, Any] = {"type": "object", "properties": dict(fields), "required": names}
        request = ElicitationRequest(message=message, mode="form", session_id=self._session.id, schema=schema)
        answer = await self._elicit(request, lambda endpoint: endpoint.capabilities.form_elicitation)
        return None if answer is None else answer.content or {}

    async def url(self, message: str, url: str, elicitation_id: str) -> bool:
        """Whether the user agreed to open the URL; not whether its purpose is done."""
        request = ElicitationRequest(
            message=message, mode="url", session_id=self._session.id, url=url, elicitation_id=elicitation_id
        )
        return await self._elicit(request, lambda endpoint: endpoint.capabilities.url_elicitation) is not None

    async def _elicit(
        self, request: ElicitationRequest, can_answer: Callable[[AgentEndpoint], bool]
    ) -> ElicitationAnswer | None:
        """The user's answer if it is accepted. A request that is not valid raises also where it is not supported."""
        self._endpoint.to_wire(self._publisher.validator.request(request))
        answer = None
        if any(map(can_answer, self._endpoints())):
            answer, _ = await self._send(request, can_answer, _is_decided)
        return answer if isinstance(answer, ElicitationAnswer) and answer.action == "accept" else None

    async def _send(
        self,
        request: ElicitationRequest | PermissionRequest,
        can_answer: Callable[[AgentEndpoint], bool],
        is_answer: Callable[[Any], bool],
    ) -> UserAnswer:
        publisher = self._publisher
        publisher.validator.request(request)

        async def send(endpoint: AgentEndpoint) -> Any:
            if endpoint is self._endpoint:
                return await self._client.request(request)
            shared = replace(request, meta={**(request.meta or {}), SHARED: True})
            return await AgentConnection(endpoint, validator=publisher.validator).request(shared)

        async with self._open_request():
            await publisher.commit()
            question = UserQuestion(self._endpoint, send, can_answer=can_answer, is_answer=is_answer)
            return await publisher.questions.answer(question, self._endpoints())

    def _endpoints(self) -> list[AgentEndpoint]:
        """The client that prompted, and all others that have the session open."""
        others = [each.endpoint for each in self._publisher.stream.subscriptions if each.is_ready]
        return [self._endpoint, *others]

    @asynccontextmanager
    async def _open_request(self) -> AsyncGenerator[None]:
        self._open += 1
        if self._open == 1:
            self._publisher.set_state("requires_action")
        self._deadlines.pause()
        try:
            yield
        finally:
            self._deadlines.resume()
            self._open -= 1
            task = asyncio.current_task()
            if self._open == 0 and not (task is not None and task.cancelling()):
                self._publisher.set_state("running")


def _whole_patch(call: ToolCall) -> ToolCallPatch:
    """All that is known of the call, so that a client can show it from the request alone (FN-78)."""
    return ToolCallPatch(
        id=call.id,
        title=UNSET if call.title is None else call.title,
        name=UNSET if call.name is None else call.name,
        kind=call.kind,
        status=call.status,
        content=list(call.content) or UNSET,
        locations=call.locations or UNSET,
        raw_input=UNSET if call.raw_input is None else call.raw_input,
    )


def _can_always_answer(endpoint: AgentEndpoint) -> bool:
    return True


def _is_selected(answer: Any) -> bool:
    return isinstance(answer, PermissionAnswer) and answer.outcome == "selected"


def _is_decided(answer: Any) -> bool:
    return isinstance(answer, ElicitationAnswer) and answer.action in ("accept", "decline")


def _selected_option(answer: Any, options: Sequence[PermissionOption]) -> PermissionOption | None:
    if not isinstance(answer, PermissionAnswer) or answer.outcome != "selected":
        return None
    return next((option for option in options if option.id == answer.option_id), None)
