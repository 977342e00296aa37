"""What an agent asks of the client, and who answers it.

Law: nothing is allowed unless somebody said yes to it. No policy, a policy that fails, an option that was never
offered, a turn that was cancelled: each of them is a no (FN-43, FN-44).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from accord.client.capabilities import check_filled
from accord.client.permissions.policies import Policy, cancelled, completed, decide, reject_all
from accord.client.permissions.writes_and_commands import Clearance, Grant, allows, told_by
from accord.client.workspace.workspace import Workspace
from accord.errors import Denied, InvalidParams, MethodNotFound
from accord.peer.limited_log import LimitedLog
from accord.session.capabilities import ClientCapabilities
from accord.session.entities import ToolCall
from accord.session.requests import (
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

__all__ = ["AgentRequests", "OnElicitation", "OnElicitationComplete", "offered_capabilities"]

log = logging.getLogger("accord.client")

T = TypeVar("T")

OnElicitation: TypeAlias = Callable[[ElicitationRequest], Awaitable[ElicitationAnswer]]
OnElicitationComplete: TypeAlias = Callable[[ElicitationRequest], Awaitable[None] | None]

_ACTIONS = ("accept", "decline", "cancel")
_MOST_PAGES = 1000


def offered_capabilities(
    workspace: Workspace | None,
    on_elicitation: OnElicitation | None,
    terminal_login: bool,
    meta: Mapping[str, Any] | None = None,
) -> ClientCapabilities:
    """What a client can do that was given these."""
    resources = ClientCapabilities() if workspace is None else workspace.capabilities
    return ClientCapabilities(
        read_files=resources.read_files,
        write_files=resources.write_files,
        terminals=resources.terminals,
        terminal_login=terminal_login,
        form_elicitation=on_elicitation is not None,
        url_elicitation=on_elicitation is not None,
        boolean_options=True,
        notices=True,
        compaction=True,
        display_terminals=True,
        meta=dict(meta) if meta else None,
    )


class _Question:
    """Somebody on our side is being asked, until they answer or the work that it is for is cancelled."""

    def __init__(self, session_id: str | None, about: tuple[str | None, ...]) -> None:
        self.session_id = session_id
        self.about = about
        self.cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class AgentRequests:
    """The questions that are open, and the answers to all of them."""

    def __init__(
        self,
        policy: Policy | None,
        on_elicitation: OnElicitation | None,
        workspace: Workspace | None,
        on_elicitation_complete: OnElicitationComplete | None = None,
    ) -> None:
        self.on_elicitation_complete = on_elicitation_complete
        self._pages: dict[str, ElicitationRequest] = {}
        self._policy = policy or reject_all
        self._on_elicitation = on_elicitation
        self._workspace = workspace
        self._open: list[_Question] = []
        self._limited = LimitedLog()
        self._clearance = Clearance()

    def is_asking(self, session_id: str) -> bool:
        """Whether somebody on our side has yet to answer for the session."""
        return any(question.session_id == session_id for question in self._open)

    def completed(self, elicitation_id: str) -> ElicitationRequest | None:
        """The question by URL that an agent says is dealt with; None for one that we don't know, or have heard of."""
        return self._pages.pop(elicitation_id, None)

    def cancel(self, session_id: str, in_background: Callable[[str | None], bool]) -> None:
        """Answer all that the session's foreground has asked with `cancelled` (CANCEL-04)."""
        for question in self._open:
            survives = any(in_background(id) for id in question.about)
            if question.session_id == session_id and not survives and not question.cancelled.done():
                question.cancelled.set_result(None)

    def cancel_all(self) -> None:
        """Answer all that is asked with `cancelled`: whoever asked will not act on anything else."""
        for question in self._open:
            if not question.cancelled.done():
                question.cancelled.set_result(None)

    def answer(
        self,
        asked: AcpRequest,
        method: str,
        call: ToolCall | None,
        is_cancelled: Callable[[], bool],
        is_open: Callable[[], bool],
    ) -> Callable[[], Coroutine[Any, Any, Value]]:
        """What answers, when it is called; MethodNotFound for what was not offered.

        `call` is what permission is for, and `is_open` whether that is still being done.
        """
        match asked:
            case PermissionRequest():
                return partial(self._permission, asked, call, is_cancelled, is_open)
            case ElicitationRequest() if self._on_elicitation is not None:
                if asked.mode not in ("form", "url"):
                    raise InvalidParams("this client shows no elicitation of this mode", field="mode")
                return partial(self._elicitation, asked, self._on_elicitation, is_cancelled)
            case _ if self._workspace is None or not self._workspace.offers(asked):
                raise MethodNotFound(method)
            case WriteFile() | CreateTerminal() if self._workspace.asks_about(asked):
                # Those of this moment: some agents end the call before the write is done.
                return partial(self._asking_first, asked, self._workspace, is_cancelled, self._clearance.grants(asked))
            case _:
                return partial(self._workspace.answer, asked)

    def forget_all_writes(self) -> None:
        """Who has allowed all writes of a session is asked again."""
        self._clearance.forget_all_writes()

    def turn_ended(self, session_id: str) -> None:
        """What was allowed in the turn is not allowed in the next."""
        self._clearance.turn_ended(session_id)

    async def _asking_first(
        self,
        asked: WriteFile | CreateTerminal,
        workspace: Workspace,
        is_cancelled: Callable[[], bool],
        grants: list[Grant],
    ) -> Value:
        if not await self._is_cleared(asked, workspace, grants):
            question = await workspace.question(asked)
            if not allows(question, await self._permission(question, None, is_cancelled)):
                scope = "fs.write" if isinstance(asked, WriteFile) else "terminal.create"
                raise Denied(f"{scope}: the user did not allow it")
        return await workspace.answer(asked)

    async def _is_cleared(self, asked: WriteFile | CreateTerminal, workspace: Workspace, grants: list[Grant]) -> bool:
        if isinstance(asked, WriteFile) and self._clearance.allows_all_writes(asked.session_id):
            return True
        place = await workspace.place_of(asked) if grants else None
        return any(grant.place == place and grant.use() for grant in grants)

    async def _grant(self, asked: PermissionRequest, is_open: Callable[[], bool]) -> None:
        """What the agent was allowed, it may do through us once, unasked."""
        workspace = self._workspace
        if workspace is not None and workspace.asks_first:
            told = told_by(asked)
            places = await workspace.places_told(asked.session_id, [each.place for each in told])
            grants = [
                Grant(each, place, is_open) for each, place in zip(told, places, strict=True) if place is not None
            ]
            self._clearance.add(asked.session_id, grants)

    async def _permission(
        self,
        asked: PermissionRequest,
        call: ToolCall | None,
        is_cancelled: Callable[[], bool],
        is_open: Callable[[], bool] | None = None,
    ) -> PermissionAnswer:
        """`is_open` is for what the agent asks: of what we ask, a yes covers what is asked and nothing else."""
        if is_cancelled():
            return cancelled()
        if call is not None:
            asked = completed(asked, call)
        question = _Question(asked.session_id, _about(asked))
        try:
            answer = await self._asking(question, decide(self._policy, asked, self._limited), cancelled())
            if is_open is not None and allows(asked, answer):
                await self._grant(asked, is_open)
        except asyncio.CancelledError:
            return cancelled()  # withdrawn by the agent, or the connection is ending: not allowed, either way
        self._clearance.note(asked, answer)
        return answer

    async def _elicitation(
        self, asked: ElicitationRequest, ask: OnElicitation, is_cancelled: Callable[[], bool]
    ) -> ElicitationAnswer:
        declined = ElicitationAnswer(action="cancel")
        if is_cancelled():
            return declined
        question = _Question(asked.session_id, (asked.tool_call_id,))
        self._open_page(asked)
        answer = declined
        try:
            answer = _sendable(asked, await self._asking(question, ask(asked), declined)) or declined
        except asyncio.CancelledError:
            pass
        finally:
            if answer.action != "accept" and asked.elicitation_id is not None:
                self._pages.pop(asked.elicitation_id, None)
        return answer

    def _open_page(self, asked: ElicitationRequest) -> None:
        if asked.mode == "url" and asked.elicitation_id is not None:
            self._pages[asked.elicitation_id] = asked
            while len(self._pages) > _MOST_PAGES:
                del self._pages[next(iter(self._pages))]

    async def _asking(self, question: _Question, answering: Awaitable[T], when_cancelled: T) -> T:
        self._open.append(question)
        task = asyncio.ensure_future(answering)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to hear it
        try:
            await asyncio.wait((task, question.cancelled), return_when=asyncio.FIRST_COMPLETED)
            return when_cancelled if question.cancelled.done() else task.result()
        finally:
            task.cancel()
            self._open.remove(question)


def _sendable(asked: ElicitationRequest, answer: Any) -> ElicitationAnswer | None:
    if not isinstance(answer, ElicitationAnswer) or (answer.action not in _ACTIONS and answer.raw is None):
        log.error("an elicitation was answered with something other than %s: cancelled", ", ".join(_ACTIONS))
        return None
    try:
        check_filled(asked, answer)
    except ValueError as error:
        text = "an elicitation was answered with what no agent could read: cancelled: %s"
        log.error(text, error)  # noqa: TRY400  # the error says it all
        return None
    return answer


def _about(asked: PermissionRequest) -> tuple[str | None, ...]:
    match asked.subject:
        case ToolCallSubject(call=call):
            return (call.id,)
        case CommandSubject(tool_call_id=tool_call_id, terminal_id=terminal_id):
            return (tool_call_id, terminal_id)
        case _:
            return ()
