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
from accord.session.entities import ToolCall
from accord.session.requests import PermissionAnswer, RequestPermission, ToolCallSubject
from accord.session.updates import ToolCallPatch

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
]

log = logging.getLogger("accord.client")


async def allow_all(asked: RequestPermission) -> PermissionAnswer:
    """Yes to everything, each time anew where that is offered."""
    return chosen(asked, *ALLOWING) or await deny(asked)


async def reject_all(asked: RequestPermission) -> PermissionAnswer:
    """No to everything, each time anew where that is offered."""
    return chosen(asked, *REJECTING) or cancelled()


def allow_kinds(*kinds: str, otherwise: Policy = deny) -> Policy:
    """Yes to tool calls that the agent says are of these kinds, such as `read`; the rest is for another policy."""
    allowed = frozenset(kinds)

    async def policy(asked: RequestPermission) -> PermissionAnswer:
        if kind_of(asked) in allowed:
            return await allow_all(asked)
        return await otherwise(asked)

    return policy


async def decide(policy: Policy, asked: RequestPermission) -> PermissionAnswer:
    """What the policy says, made sure to be an answer that may be sent. Raises nothing but the caller's cancellation."""
    if not asked.options:
        return cancelled()  # AMB-58
    try:
        answer: Any = policy(asked)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception:
        log.exception("a permission policy failed: denied")
        return await deny(asked)
    if isinstance(answer, PermissionAnswer) and sendable(asked, answer) is not None:
        return answer
    log.error("a permission policy answered with something that was not offered: denied")
    return await deny(asked)


def completed(asked: RequestPermission, call: ToolCall) -> RequestPermission:
    """The request with all that is known of its tool call: agents often send no more than the id. PERM-03, AMB-57"""
    if not isinstance(asked.subject, ToolCallSubject):
        return asked
    known = {name: getattr(call, name) for name in ToolCallPatch.__struct_fields__ if hasattr(call, name)}
    told = {name: value for name, value in known.items() if value is not None}
    told["content"] = list(call.content)
    subject = msgspec.structs.replace(asked.subject, call=ToolCallPatch(**told))
    return msgspec.structs.replace(asked, title=asked.title or call.title, subject=cast("Any", subject))
