"""Who answers when an agent asks for permission: policies, which can be put together.

Law: an answer is one of the offered options or none at all, and nothing but a decision allows anything. A policy that
fails, is late or answers with something else has said no. FN-43, FN-44
"""

from __future__ import annotations

import inspect
import logging
from typing import Any, cast

import msgspec

from accord.client.asking import Callback, ask
from accord.client.choosing import ALLOWING, REJECTING, Policy, cancelled, chosen, deny, kind_of, sendable
from accord.client.remembering import Choice, Remembering, remember, same_action, same_action_in_project
from accord.peer.limited_log import LimitedLog
from accord.session.content import Text
from accord.session.entities import ContentItem, ToolCall
from accord.session.form import check_form
from accord.session.requests import PermissionAnswer, RequestPermission, ToolCallSubject
from accord.session.updates import ToolCallPatch
from accord.session.vocabulary import TOOL_KINDS, ToolKind
from accord.session.word import UNSET

__all__ = [
    "Callback",
    "Choice",
    "Policy",
    "Remembering",
    "allow_all",
    "allow_kinds",
    "ask",
    "cancelled",
    "completed",
    "decide",
    "deny",
    "kind_of",
    "reject_all",
    "remember",
    "same_action",
    "same_action_in_project",
    "with_streamed_input",
]

log = logging.getLogger("accord.client")


async def allow_all(asked: RequestPermission) -> PermissionAnswer:
    """Yes to everything, each time anew where that is offered."""
    return chosen(asked, *ALLOWING) or await deny(asked)


async def reject_all(asked: RequestPermission) -> PermissionAnswer:
    """No to everything, each time anew where that is offered."""
    return chosen(asked, *REJECTING) or cancelled()


def allow_kinds(*kinds: ToolKind, otherwise: Policy = deny) -> Policy:
    """Yes to tool calls that the agent says are of these kinds, such as `read`; the rest is for another policy.

    ValueError for a kind that no agent may use.
    """
    for kind in kinds:
        TOOL_KINDS.check(kind)
    allowed = frozenset(kinds)

    async def policy(asked: RequestPermission) -> PermissionAnswer:
        if kind_of(asked) in allowed:
            return await allow_all(asked)
        return await otherwise(asked)

    return policy


async def decide(policy: Policy, asked: RequestPermission, limited: LimitedLog | None = None) -> PermissionAnswer:
    """What the policy says, made sure to be an answer that may be sent. Raises nothing but the caller's cancellation."""
    limited = limited or LimitedLog()
    if not asked.options:
        return cancelled()  # AMB-58
    try:
        answer: Any = policy(asked)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # noqa: BLE001  # whatever it is, nobody has said yes
        limited.failure(log, error, "a permission policy failed: denied")
        return await deny(asked)
    if isinstance(answer, PermissionAnswer) and sendable(asked, answer) is not None and _has_form(answer):
        return answer
    limited.warning(log, "a permission policy answered with something that was not offered: denied")
    return await deny(asked)


def _has_form(answer: PermissionAnswer) -> bool:
    try:
        check_form(answer)
    except ValueError:
        return False
    return True


def completed(asked: RequestPermission, call: ToolCall) -> RequestPermission:
    """The request with all that is known of its tool call: agents often send no more than the id. PERM-03, AMB-57"""
    if not isinstance(asked.subject, ToolCallSubject):
        return asked
    known = {name: getattr(call, name) for name in ToolCallPatch.__struct_fields__ if hasattr(call, name)}
    told = {name: value for name, value in known.items() if value is not None}
    told["content"] = list(call.content)
    subject = msgspec.structs.replace(asked.subject, call=ToolCallPatch(**told))
    return msgspec.structs.replace(asked, title=asked.title or call.title, subject=cast("Any", subject))


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
