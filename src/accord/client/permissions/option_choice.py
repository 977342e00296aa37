"""Choosing among the options that an agent offers with a permission request.

Law: an option is chosen by its kind or by a person, never by its place in the list; one whose id another one has as
well can't be chosen, since nobody could tell which was meant. FN-43, PERM-05
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from accord.session.requests import (
    CommandSubject,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
)

__all__ = [
    "ALLOWING",
    "REJECTING",
    "Policy",
    "cancelled",
    "choose",
    "deny",
    "find_option",
    "is_unknown",
    "kind_of",
    "refuses",
    "select",
    "valid_answer",
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
