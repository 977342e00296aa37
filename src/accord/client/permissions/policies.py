"""Permission policies, which answer an agent's permission requests, and can be combined.

Laws: an answer is one of the offered options or none at all, and nothing but a decision allows anything. A policy that
fails, is late or answers with something else has said no. FN-43, FN-44

An option is chosen by its kind or by a person, never by its place in the list; one whose id another one has as well can't
be chosen, since nobody could tell which was meant. FN-43, PERM-05
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias, cast

import msgspec

from accord.client.callbacks import check_callback
from accord.peer.limited_log import LimitedLog
from accord.session.content import Text
from accord.session.entities import ContentItem, ToolCall
from accord.session.open_enums import TOOL_KINDS, ToolKind
from accord.session.requests import (
    CommandSubject,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.type_checks import check_types
from accord.session.updates import ToolCallPatch
from accord.session.value import UNSET

__all__ = [
    "Callback",
    "Policy",
    "Verdict",
    "allow_all",
    "allow_kinds",
    "ask",
    "cancelled",
    "decide",
    "deny",
    "kind_of",
    "reject_all",
    "with_call",
    "with_streamed_input",
]

Policy: TypeAlias = Callable[[PermissionRequest], Awaitable[PermissionAnswer]]

ALLOWING = ("allow_once", "allow_always")
REJECTING = ("reject_once", "reject_always")


def choose(request: PermissionRequest, *kinds: str) -> PermissionAnswer | None:
    """An offered option of the first of these kinds that there is one of."""
    for kind in kinds:
        for option in request.options:
            if option.kind == kind and find_option(request, option.id) is not None:
                return select(option)
    return None


def find_option(request: PermissionRequest, option_id: str | None) -> PermissionOption | None:
    """The one option with this id."""
    matching = [option for option in request.options if option.id == option_id]
    return matching[0] if len(matching) == 1 else None


def select(option: PermissionOption) -> PermissionAnswer:
    """The answer that chooses it. PERM-14"""
    return PermissionAnswer(outcome="selected", option_id=option.id)


def valid_answer(request: PermissionRequest, answer: PermissionAnswer) -> PermissionAnswer | None:
    """The answer, if it is one that this request can have: also one of an unknown kind, as it came from elsewhere."""
    if answer.outcome == "cancelled" or is_unknown(answer):
        return answer
    return answer if answer.outcome == "selected" and find_option(request, answer.option_id) is not None else None


def is_unknown(answer: PermissionAnswer) -> bool:
    """Whether it is an answer of a kind that nobody here knows, which is no approval. FN-44"""
    return answer.raw is not None and answer.outcome not in ("selected", "cancelled")


def refuses(request: PermissionRequest, answer: PermissionAnswer) -> bool:
    """Whether what was asked for will not be done; an option of a kind that nobody knows refuses nothing."""
    option = find_option(request, answer.option_id)
    return answer.outcome == "cancelled" or is_unknown(answer) or (option is not None and option.kind in REJECTING)


def cancelled() -> PermissionAnswer:
    """Not approved, without an option: the turn was cancelled, or there is nothing to say no with. PERM-15"""
    return PermissionAnswer(outcome="cancelled")


async def deny(request: PermissionRequest) -> PermissionAnswer:
    """For when nobody can answer: no, this once."""
    return choose(request, "reject_once") or cancelled()


def kind_of(request: PermissionRequest) -> str | None:
    """What the agent says that it would do: the tool call's kind, or `execute` for a command; None if it doesn't say."""
    subject = request.subject
    if isinstance(subject, ToolCallSubject):
        return subject.call.kind or None
    return "execute" if isinstance(subject, CommandSubject) else None


log = logging.getLogger("accord.client")


async def allow_all(request: PermissionRequest) -> PermissionAnswer:
    """Yes to everything, each time anew where that is offered."""
    return choose(request, *ALLOWING) or await deny(request)


async def reject_all(request: PermissionRequest) -> PermissionAnswer:
    """No to everything, each time anew where that is offered."""
    return choose(request, *REJECTING) or cancelled()


def allow_kinds(*kinds: ToolKind, otherwise: Policy = deny) -> Policy:
    """Yes to tool calls that the agent says are of these kinds, such as `read`; the rest is for another policy.

    ValueError for a kind that no agent may use.
    """
    for kind in kinds:
        TOOL_KINDS.check(kind)
    allowed = frozenset(kinds)

    async def policy(request: PermissionRequest) -> PermissionAnswer:
        if kind_of(request) in allowed:
            return await allow_all(request)
        return await otherwise(request)

    return policy


async def decide(policy: Policy, request: PermissionRequest, limited: LimitedLog | None = None) -> PermissionAnswer:
    """What the policy says, made sure to be an answer that may be sent. Raises nothing but the caller's cancellation."""
    limited = limited or LimitedLog()
    if not request.options:
        return cancelled()  # AMB-58
    try:
        answer: Any = policy(request)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # noqa: BLE001  # whatever it is, nobody has said yes
        limited.failure(log, error, "a permission policy failed: denied")
        return await deny(request)
    if isinstance(answer, PermissionAnswer) and valid_answer(request, answer) is not None and _has_form(answer):
        return answer
    if isinstance(answer, PermissionAnswer):
        limited.warning(log, "a permission policy answered with something that was not offered: denied")
    else:
        limited.warning(
            log,
            "a permission policy returned %.200s, not a PermissionAnswer: denied. For a function that returns True or False, "
            "write on_permission=permissions.ask(function)",
            repr(answer),
        )
    return await deny(request)


def _has_form(answer: PermissionAnswer) -> bool:
    try:
        check_types(answer)
    except ValueError:
        return False
    return True


def with_call(request: PermissionRequest, call: ToolCall) -> PermissionRequest:
    """The request with all that is known of its tool call: agents often send no more than the id. PERM-03, AMB-57"""
    if not isinstance(request.subject, ToolCallSubject):
        return request
    known = {name: getattr(call, name) for name in ToolCallPatch.__struct_fields__ if hasattr(call, name)}
    told = {name: value for name, value in known.items() if value is not None}
    told["content"] = list(call.content)
    subject = msgspec.structs.replace(request.subject, call=ToolCallPatch(**told))
    return msgspec.structs.replace(request, title=request.title or call.title, subject=cast("Any", subject))


def with_streamed_input(told: ToolCallPatch, before: ToolCall | None) -> ToolCallPatch:
    """What a request tells of its call, and the arguments that the call has streamed as text, which it would replace.

    So does kimi-code: who is asked would see no more than the name of the tool.
    """
    if before is None or before.raw_input is not None or told.raw_input is not UNSET or told.content is UNSET:
        return told
    item = before.content[0] if len(before.content) == 1 else None
    if not isinstance(item, ContentItem) or not isinstance(item.content, Text):
        return told
    try:
        arguments: dict[str, Any] = msgspec.json.decode(item.content.text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return told
    return msgspec.structs.replace(told, raw_input=arguments)


Verdict: TypeAlias = PermissionOption | PermissionAnswer | str | bool | None
Callback: TypeAlias = Callable[[PermissionRequest], Verdict | Awaitable[Verdict]]


def ask(callback: Callback, *, deadline: float | None = None) -> Policy:
    """What the callback returns: an option, its id, True (allow, once if offered), False or None (no).

    An async callback runs in the event loop and is cancelled when the deadline passes or the turn is cancelled; a plain
    function runs in a thread of its own, so it may wait for a key.
    """
    if not callable(callback):
        raise TypeError(f"permissions.ask needs a function that gets the request, not {type(callback).__name__}")
    check_callback("the callback of permissions.ask", callback, "the request")
    limited = LimitedLog()

    async def policy(request: PermissionRequest) -> PermissionAnswer:
        try:
            async with asyncio.timeout(deadline):
                verdict = await _called(callback, request)
        except TimeoutError:
            limited.warning(log, "nobody has answered a permission request in time: denied")
            return await deny(request)
        except Exception as error:  # noqa: BLE001  # whatever it is, nobody has said yes
            limited.failure(log, error, "a permission request could not be put to anybody: denied")
            return await deny(request)
        answer = _answer(request, verdict)
        if answer is None and verdict is not None and verdict is not False:
            offered = ", ".join(option.id for option in request.options)
            limited.warning(
                log,
                "a permission callback returned %.200s: denied. Expected True, False, None, or an option of: %s",
                repr(verdict),
                offered,
            )
        return answer or await deny(request)

    return policy


def _answer(request: PermissionRequest, verdict: Verdict) -> PermissionAnswer | None:
    if verdict is True:
        return choose(request, *ALLOWING)
    if isinstance(verdict, PermissionAnswer):
        return valid_answer(request, verdict)
    option = find_option(request, verdict.id if isinstance(verdict, PermissionOption) else cast("str | None", verdict))
    return None if option is None else select(option)


async def _called(callback: Callback, request: PermissionRequest) -> Verdict:
    is_async = inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(type(callback).__call__)
    verdict = callback(request) if is_async else await _in_thread(callback, request)
    return await cast("Awaitable[Verdict]", verdict) if inspect.isawaitable(verdict) else cast("Verdict", verdict)


async def _in_thread(callback: Callback, request: PermissionRequest) -> Any:
    """Not asyncio's threads: the end of the program waits for those, and somebody may never press a key."""
    loop = asyncio.get_running_loop()
    returned: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if not returned.done():
            returned.set_result((result, error))

    def run() -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = context.run(callback, request)
        except BaseException as error:  # noqa: BLE001  # SystemExit too: this thread is not the program
            failure = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="accord question", daemon=True).start()
    result, failure = await returned
    if failure is not None:
        raise RuntimeError("the callback failed") from failure
    return result
