"""Choices that were made for good are not asked about again.

How far such a choice reaches is its scope. By default that is the same action in the same session: the same kind, title,
raw input and files, or the same command in the same directory. So "always" given to `ls` is not given to `rm`, also
where an agent calls both of them "Run a command". An agent that remembers for itself what it was allowed will not even
ask.

Choices live as long as the policy, or, with a file to keep them in, for a project until they are revoked.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Hashable, MutableMapping
from typing import TypeAlias

import msgspec

from accord.client.permissions.policies import ALLOWING, REJECTING, Policy, choose, find_option, kind_of
from accord.local.saved_choices import SavedChoices
from accord.local.threads import in_thread
from accord.peer.limited_log import LimitedLog
from accord.session.entities import Diff
from accord.session.requests import CommandSubject, PermissionAnswer, PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallPatch
from accord.session.value import UNSET

__all__ = ["SavedAnswer", "SavedAnswerPolicy", "remember", "same_action", "same_action_in_project"]

log = logging.getLogger("accord.client")

Scope: TypeAlias = Callable[[PermissionRequest], Hashable | None]

_MOST = 1000


def remember(
    policy: Policy,
    *,
    scope: Scope | None = None,
    path: str | os.PathLike[str] | None = None,
    project: str | os.PathLike[str] = ".",
) -> SavedAnswerPolicy:
    """`policy`, asked only about what was not decided for good; `scope` says what counts as the same question.

    With a `path` choices are kept in that file, for the project that the directory `project` belongs to, and count in
    all its sessions; `accord.local.saved_choices` says how, and that the file must not lie in the project.
    """
    if path is None:
        return SavedAnswerPolicy(policy, scope or same_action)
    return SavedAnswerPolicy(policy, scope or same_action_in_project, SavedChoices(path).for_project(project))


def same_action(request: PermissionRequest) -> Hashable | None:
    """All that tells one action from another; None, so never remembered, when the agent did not say what it is."""
    subject = request.subject
    if isinstance(subject, CommandSubject):
        return request.session_id, "command", subject.command, subject.cwd
    if not isinstance(subject, ToolCallSubject):
        return None
    call = subject.call
    title = call.title or request.title
    raw_input = None if call.raw_input is UNSET else call.raw_input
    if not title and raw_input is None:
        return None
    return request.session_id, kind_of(request), title, msgspec.json.encode(raw_input, order="sorted"), _files(call)


def same_action_in_project(request: PermissionRequest) -> str | None:
    """As `same_action`, in whatever session, and in a form that can be kept and shown to a person."""
    action = same_action(request)
    if not isinstance(action, tuple):
        return None
    digest = hashlib.sha256(msgspec.json.encode(action[1:])).hexdigest()[:32]
    subject = request.subject
    if isinstance(subject, CommandSubject):
        shown = f"{subject.command} in {subject.cwd}"
    else:
        shown = (
            request.title or (subject.call.title if isinstance(subject, ToolCallSubject) else None) or "not described"
        )
    return f"{kind_of(request) or 'other'}: {' '.join(shown.split())[:200]} [{digest}]"


def _files(call: ToolCallPatch) -> tuple[str, ...]:
    paths = [location.path for location in call.locations or ()]
    for item in call.content or ():
        if isinstance(item, Diff):
            paths += [change.path for change in item.changes]
    return tuple(sorted(set(paths)))


class SavedAnswer(msgspec.Struct, frozen=True):
    """What was decided for good, and in answer to what; of one that was kept in a file, `scope` tells that."""

    allows: bool
    scope: Hashable
    session_id: str | None = None
    kind: str | None = None
    title: str | None = None


class SavedAnswerPolicy:
    """A policy that keeps `allow_always` and `reject_always`; without a file the oldest of a thousand goes."""

    def __init__(self, policy: Policy, scope: Scope, kept: MutableMapping[str, bool] | None = None) -> None:
        self._policy = policy
        self._scope = scope
        self._kept = kept
        self._limited = LimitedLog()
        self._choices: dict[Hashable, SavedAnswer] = {}

    @property
    def answers(self) -> list[SavedAnswer]:
        """Everything that is saved, the oldest first."""
        if self._kept is not None:
            return [SavedAnswer(allows=allows, scope=scope) for scope, allows in self._kept.items()]
        return list(self._choices.values())

    def forget(self, answer: SavedAnswer | None = None, *, session_id: str | None = None) -> None:
        """Forget this answer, or those of one session; without either, all."""
        for known in self.answers:
            if answer in (None, known) and session_id in (None, known.session_id):
                if self._kept is not None:
                    self._kept.pop(str(known.scope), None)
                else:
                    del self._choices[known.scope]

    async def __call__(self, request: PermissionRequest) -> PermissionAnswer:
        scope = self._scope(request)
        if scope is None:
            return await self._policy(request)
        allows = await self._known(scope)
        if allows is not None:
            answer = choose(request, *(ALLOWING if allows else REJECTING))
            if answer is not None:
                return answer
        answer = await self._policy(request)
        option = find_option(request, answer.option_id) if answer.outcome == "selected" else None
        if option is not None and option.kind in ("allow_always", "reject_always"):
            await self._keep(request, scope, option.kind == "allow_always")
        return answer

    async def _known(self, scope: Hashable) -> bool | None:
        kept = self._kept
        if kept is None:
            choice = self._choices.get(scope)
            return None if choice is None else choice.allows
        try:
            return await in_thread(lambda: kept.get(str(scope)))  # anew: it may have been revoked meanwhile
        except (OSError, ValueError) as error:
            self._limited.warning(log, "%s", error)
            return None

    async def _keep(self, request: PermissionRequest, scope: Hashable, allows: bool) -> None:
        kept = self._kept
        if kept is not None:
            try:
                await in_thread(lambda: kept.update({str(scope): allows}))
            except (OSError, ValueError) as error:
                self._limited.warning(log, "a choice counts only this once: %s", error)
            return
        self._choices.pop(scope, None)
        self._choices[scope] = SavedAnswer(allows, scope, request.session_id, kind_of(request), request.title)
        while len(self._choices) > _MOST:
            del self._choices[next(iter(self._choices))]
