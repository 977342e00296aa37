"""Answers the requests of an agent: permission, forms, files and terminals.

Law: nothing is allowed unless somebody said yes to it. No policy, a policy that fails, an option that was not offered, a
turn that was cancelled: each of them is a no (FN-43, FN-44).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from accord.client.capabilities import check_filled
from accord.client.permissions.policies import Policy, cancelled, decide, reject_all, with_call
from accord.client.permissions.writes_and_commands import Grant, GrantRegistry, actions_of, allows
from accord.client.workspace.workspace import WorkspaceRequests
from accord.errors import Denied, InvalidParams, MethodNotFound
from accord.peer.limited_log import LimitedLog
from accord.session.capabilities import ClientCapabilities
from accord.session.entities import ToolCall
from accord.session.requests import (
    SHARED,
    AcpRequest,
    CommandSubject,
    CreateTerminal,
    ElicitationAnswer,
    ElicitationRequest,
    PermissionAnswer,
    PermissionRequest,
    ToolCallSubject,
    WriteFile,
)
from accord.session.value import Value

log = logging.getLogger("accord.client")

T = TypeVar("T")

OnElicitation: TypeAlias = Callable[[ElicitationRequest], Awaitable[ElicitationAnswer]]
OnElicitationComplete: TypeAlias = Callable[[ElicitationRequest], Awaitable[None] | None]

_ACTIONS = ("accept", "decline", "cancel")
_URL_REQUESTS = 1000


def offered_capabilities(
    workspace: ClientCapabilities | None, *, elicitation: bool, terminal_login: bool, meta: Mapping[str, Any] | None
) -> ClientCapabilities:
    """The capabilities of a client with this workspace and these callbacks."""
    resources = workspace or ClientCapabilities()
    return ClientCapabilities(
        read_files=resources.read_files,
        write_files=resources.write_files,
        terminals=resources.terminals,
        terminal_login=terminal_login,
        form_elicitation=elicitation,
        url_elicitation=elicitation,
        boolean_options=True,
        notices=True,
        compaction=True,
        display_terminals=True,
        meta=dict(meta) if meta else None,
    )


class _Question:
    """A question to somebody on this side, until they answer or the work that it is for is cancelled."""

    def __init__(self, session_id: str | None, work_ids: tuple[str | None, ...]) -> None:
        self.session_id = session_id
        self.work_ids = work_ids
        self.cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def cancel(self) -> None:
        if not self.cancelled.done():
            self.cancelled.set_result(None)


class AgentRequests:
    """The open questions of all sessions, and the answers to them."""

    def __init__(
        self,
        policy: Policy | None,
        on_elicitation: OnElicitation | None,
        workspace: WorkspaceRequests | None,
        on_elicitation_complete: OnElicitationComplete | None = None,
    ) -> None:
        self.on_elicitation_complete = on_elicitation_complete
        self._url_requests: dict[str, ElicitationRequest] = {}
        self._policy = policy or reject_all
        self._has_policy = policy is not None
        self._on_elicitation = on_elicitation
        self._workspace = workspace
        self._questions: list[_Question] = []
        self._limited = LimitedLog()
        self._grants = GrantRegistry()

    def is_asking(self, session_id: str) -> bool:
        """Whether somebody on this side has yet to answer a question of the session."""
        return any(question.session_id == session_id for question in self._questions)

    def complete_elicitation(self, elicitation_id: str) -> ElicitationRequest | None:
        """The request for a URL that the agent says is completed; None for an unknown one, or the second time."""
        return self._url_requests.pop(elicitation_id, None)

    def cancel(self, session_id: str, is_background: Callable[[str | None], bool]) -> None:
        """Answer all questions of the session's foreground work with `cancelled` (CANCEL-04)."""
        for question in self._questions:
            if question.session_id == session_id and not any(is_background(id) for id in question.work_ids):
                question.cancel()

    def cancel_all(self) -> None:
        """Answer all questions with `cancelled`: the agent will not act on anything else."""
        for question in self._questions:
            question.cancel()

    def answer(
        self,
        request: AcpRequest,
        method: str,
        call: ToolCall | None,
        is_cancelled: Callable[[], bool],
        is_open: Callable[[], bool],
    ) -> Callable[[], Coroutine[Any, Any, Value]]:
        """A function that answers the request; MethodNotFound for what was not offered.

        `call` is what permission is requested for, `is_open` whether it has not ended.
        """
        workspace = self._workspace
        match request:
            case PermissionRequest():
                return partial(self._permission, request, call, is_cancelled, is_open)
            case ElicitationRequest() if self._on_elicitation is not None:
                if request.mode not in ("form", "url"):
                    raise InvalidParams("this client has no elicitation of this mode", field="mode")
                return partial(self._elicitation, request, self._on_elicitation, is_cancelled)
            case _ if workspace is None or not workspace.offers(request):
                raise MethodNotFound(method)
            case WriteFile() | CreateTerminal() if workspace.needs_permission(request):
                # The grants of this moment: some agents end the call before the write is done.
                return partial(self._ask_first, request, workspace, is_cancelled, self._grants.find(request))
            case _:
                return partial(workspace.answer, request)

    def forget_all_writes(self) -> None:
        """Users who have allowed all writes of a session are asked again."""
        self._grants.forget_all_writes()

    def turn_ended(self, session_id: str) -> None:
        """What was allowed in the turn is not allowed in the next one."""
        self._grants.turn_ended(session_id)

    async def _ask_first(
        self,
        request: WriteFile | CreateTerminal,
        workspace: WorkspaceRequests,
        is_cancelled: Callable[[], bool],
        grants: list[Grant],
    ) -> Value:
        if not await self._is_granted(request, workspace, grants):
            question = await workspace.permission_request(request)
            if not allows(question, await self._permission(question, None, is_cancelled)):
                scope = "fs.write" if isinstance(request, WriteFile) else "terminal.create"
                raise Denied(f"{scope}: the user did not allow it")
        return await workspace.answer(request)

    async def _is_granted(
        self, request: WriteFile | CreateTerminal, workspace: WorkspaceRequests, grants: list[Grant]
    ) -> bool:
        if isinstance(request, WriteFile) and self._grants.allows_all_writes(request.session_id):
            return True
        path = await workspace.real_path(request) if grants else None
        return any(grant.real_path == path and grant.use() for grant in grants)

    async def _grant(self, request: PermissionRequest, is_open: Callable[[], bool]) -> None:
        """What the user allowed the agent to do, it may do through this client once, without another question."""
        workspace = self._workspace
        if workspace is not None and workspace.ask_first:
            actions = actions_of(request)
            paths = await workspace.real_paths(request.session_id, [action.path for action in actions])
            pairs = zip(actions, paths, strict=True)
            grants = [Grant(action, path, is_open) for action, path in pairs if path is not None]
            self._grants.add(request.session_id, grants)

    async def _permission(
        self,
        request: PermissionRequest,
        call: ToolCall | None,
        is_cancelled: Callable[[], bool],
        is_open: Callable[[], bool] | None = None,
    ) -> PermissionAnswer:
        """`is_open` is given for a request of the agent: a yes to a question of our own covers nothing else."""
        if is_cancelled():
            return cancelled()
        if not self._has_policy and SHARED in (request.meta or {}):
            return cancelled()  # nobody is here to answer: the others who are asked decide
        if call is not None:
            request = with_call(request, call)
        question = _Question(request.session_id, _work_ids(request))
        try:
            answer = await self._ask(question, decide(self._policy, request, self._limited), cancelled())
            if is_open is not None and allows(request, answer):
                await self._grant(request, is_open)
        except asyncio.CancelledError:
            return cancelled()  # withdrawn by the agent, or the connection is closing: not allowed, either way
        self._grants.note(request, answer)
        return answer

    async def _elicitation(
        self, request: ElicitationRequest, callback: OnElicitation, is_cancelled: Callable[[], bool]
    ) -> ElicitationAnswer:
        answer = when_cancelled = ElicitationAnswer(action="cancel")
        if is_cancelled():
            return when_cancelled
        question = _Question(request.session_id, (request.tool_call_id,))
        self._keep_url_request(request)
        try:
            answer = _checked(request, await self._ask(question, callback(request), when_cancelled)) or when_cancelled
        except asyncio.CancelledError:
            pass
        finally:
            if answer.action != "accept" and request.elicitation_id is not None:
                self._url_requests.pop(request.elicitation_id, None)
        return answer

    def _keep_url_request(self, request: ElicitationRequest) -> None:
        if request.mode == "url" and request.elicitation_id is not None:
            self._url_requests[request.elicitation_id] = request
            while len(self._url_requests) > _URL_REQUESTS:
                del self._url_requests[next(iter(self._url_requests))]

    async def _ask(self, question: _Question, answer: Awaitable[T], when_cancelled: T) -> T:
        self._questions.append(question)
        task = asyncio.ensure_future(answer)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to retrieve it
        try:
            await asyncio.wait((task, question.cancelled), return_when=asyncio.FIRST_COMPLETED)
            return when_cancelled if question.cancelled.done() else task.result()
        finally:
            task.cancel()
            self._questions.remove(question)


def _checked(request: ElicitationRequest, answer: Any) -> ElicitationAnswer | None:
    if not isinstance(answer, ElicitationAnswer) or (answer.action not in _ACTIONS and answer.raw is None):
        log.error("on_elicitation returned something other than %s: cancelled", ", ".join(_ACTIONS))
        return None
    try:
        check_filled(request, answer)
    except ValueError as error:
        log.error("on_elicitation returned an invalid answer: cancelled: %s", error)  # noqa: TRY400  # the error says it all
        return None
    return answer


def _work_ids(request: PermissionRequest) -> tuple[str | None, ...]:
    match request.subject:
        case ToolCallSubject(call=call):
            return (call.id,)
        case CommandSubject(tool_call_id=tool_call_id, terminal_id=terminal_id):
            return (tool_call_id, terminal_id)
        case _:
            return ()
