"""Choices that were made for good are not asked about again.

How far such a choice reaches is its scope. By default that is the same action in the same session: the same kind, title,
raw input and files, or the same command in the same directory. So "always" given to `ls` is not given to `rm`, also
where an agent calls both of them "Run a command". An agent that remembers for itself what it was allowed will not even
ask.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias

import msgspec

from accord.client.choosing import ALLOWING, REJECTING, Policy, chosen, kind_of, offered
from accord.session.entities import Diff
from accord.session.requests import CommandSubject, PermissionAnswer, RequestPermission, ToolCallSubject
from accord.session.updates import ToolCallPatch
from accord.session.word import UNSET

__all__ = ["Choice", "Remembering", "Scope", "remember", "same_action"]

Scope: TypeAlias = Callable[[RequestPermission], Hashable | None]

_MOST = 1000


def remember(policy: Policy, *, scope: Scope | None = None) -> Remembering:
    """`policy`, asked only about what was not decided for good; `scope` says what counts as the same question."""
    return Remembering(policy, scope or same_action)


def same_action(asked: RequestPermission) -> Hashable | None:
    """All that tells one action from another; None, so never remembered, when the agent did not say what it is."""
    subject = asked.subject
    if isinstance(subject, CommandSubject):
        return asked.session_id, "command", subject.command, subject.cwd
    if not isinstance(subject, ToolCallSubject):
        return None
    call = subject.call
    title = call.title or asked.title
    raw_input = None if call.raw_input is UNSET else call.raw_input
    if not title and raw_input is None:
        return None
    return asked.session_id, kind_of(asked), title, msgspec.json.encode(raw_input, order="sorted"), _files(call)


def _files(call: ToolCallPatch) -> tuple[str, ...]:
    paths = [location.path for location in call.locations or ()]
    for item in call.content or ():
        if isinstance(item, Diff):
            paths += [change.path for change in item.changes]
    return tuple(sorted(set(paths)))


class Choice(msgspec.Struct, frozen=True):
    """What was decided for good, and in answer to what."""

    allows: bool
    session_id: str
    kind: str | None
    title: str | None
    scope: Hashable


class Remembering:
    """A policy that keeps `allow_always` and `reject_always`, for as long as it lives; the oldest of a thousand goes."""

    def __init__(self, policy: Policy, scope: Scope) -> None:
        self._policy = policy
        self._scope = scope
        self._choices: dict[Hashable, Choice] = {}

    @property
    def choices(self) -> list[Choice]:
        """All that is remembered, the oldest first."""
        return list(self._choices.values())

    def forget(self, choice: Choice | None = None, *, session_id: str | None = None) -> None:
        """Ask again about this choice, or about those of one session; without either, about everything."""
        for kept in self.choices:
            if choice in (None, kept) and session_id in (None, kept.session_id):
                del self._choices[kept.scope]

    async def __call__(self, asked: RequestPermission) -> PermissionAnswer:
        scope = self._scope(asked)
        if scope is None:
            return await self._policy(asked)
        choice = self._choices.get(scope)
        if choice is not None:
            answer = chosen(asked, *(ALLOWING if choice.allows else REJECTING))
            if answer is not None:
                return answer
        answer = await self._policy(asked)
        self._keep(asked, answer, scope)
        return answer

    def _keep(self, asked: RequestPermission, answer: PermissionAnswer, scope: Hashable) -> None:
        option = offered(asked, answer.option_id) if answer.outcome == "selected" else None
        if option is None or option.kind not in ("allow_always", "reject_always"):
            return
        self._choices.pop(scope, None)
        self._choices[scope] = Choice(
            allows=option.kind == "allow_always",
            session_id=asked.session_id,
            kind=kind_of(asked),
            title=asked.title,
            scope=scope,
        )
        while len(self._choices) > _MOST:
            del self._choices[next(iter(self._choices))]
