"""`--permissions`: who answers when an agent asks whether it may, and what is said about it.

Law: only what the name of the choice says is allowed; all else is asked of the person at the terminal, or refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, cast, get_args

from accord.apps.console.person import Person
from accord.apps.console.sanitising import one_line, visible
from accord.client import permissions
from accord.client.permissions import Policy
from accord.client.terminal import OnTerminal
from accord.client.workspace import OnWrite, Workspace
from accord.session.diffs import git_patch
from accord.session.entities import Diff
from accord.session.requests import (
    CommandSubject,
    PermissionAnswer,
    PermissionOption,
    RequestPermission,
    ToolCallSubject,
)

__all__ = [
    "CHOICES",
    "OnDecision",
    "Permissions",
    "asking",
    "least_choice",
    "patch_of",
    "policy_of",
    "what_is_asked",
    "workspace_of",
]

Permissions: TypeAlias = Literal["ask", "reject", "allow-reads", "allow-edits", "allow-all"]
OnDecision: TypeAlias = Callable[[RequestPermission, PermissionAnswer, Literal["rule", "person"]], None]

CHOICES: tuple[Permissions, ...] = get_args(Permissions)
READS = ("read", "search", "think")
EDITS = (*READS, "edit")
_LONGEST_TITLE = 400


def asking(person: Person) -> Policy:
    """Puts it to the person at the terminal, in lines."""
    return permissions.ask(lambda asked: _ask(person, asked))


def policy_of(chosen: Permissions, asks: Policy | None, on_decision: OnDecision) -> Policy:
    """The policy of that name; what it leaves open is for `asks`, or refused where there is nobody to ask."""
    rest = _told(permissions.deny, "rule", on_decision)
    if asks is not None and chosen != "reject":
        rest = _told(asks, "person", on_decision)
    match chosen:
        case "allow-all":
            return _told(permissions.allow_all, "rule", on_decision)
        case "allow-reads" | "allow-edits":
            kinds = READS if chosen == "allow-reads" else EDITS
            allowed = _told(permissions.allow_all, "rule", on_decision)

            async def by_kind(asked: RequestPermission) -> PermissionAnswer:
                return await (allowed if permissions.kind_of(asked) in kinds else rest)(asked)

            return by_kind
        case "ask" | "reject":
            return rest


def workspace_of(
    chosen: Permissions | None, *, reads: bool, on_terminal: OnTerminal, on_write: OnWrite | None = None
) -> Workspace:
    """What agents of v1 may do through us by that choice; by none, all that they want, inside their directory."""
    return Workspace(
        read=reads,
        write=chosen not in ("reject", "allow-reads"),
        run=chosen in (None, "ask", "allow-all"),
        asks_first=chosen == "ask",
        on_write=on_write,
        on_terminal=on_terminal,
    )


def least_choice(asked: RequestPermission) -> Permissions:
    """The one that allows this, and no more than it has to."""
    kind = permissions.kind_of(asked)
    return "allow-reads" if kind in READS else "allow-edits" if kind in EDITS else "allow-all"


def what_is_asked(asked: RequestPermission) -> str:
    """The action in a few safe words."""
    match asked.subject:
        case CommandSubject(command=command, cwd=cwd):
            return one_line(f"run {command} in {cwd}", _LONGEST_TITLE)
        case ToolCallSubject(call=call):
            title = asked.title or call.title or call.name or "something that it does not describe"
            return one_line(title, _LONGEST_TITLE) + (f" ({one_line(call.kind, 40)})" if call.kind else "")
        case _:
            return one_line(asked.title or asked.description or "something that it does not describe", _LONGEST_TITLE)


def _told(policy: Policy, by: Literal["rule", "person"], on_decision: OnDecision) -> Policy:
    async def telling(asked: RequestPermission) -> PermissionAnswer:
        answer = await policy(asked)
        on_decision(asked, answer, by)
        return answer

    return telling


async def _ask(person: Person, asked: RequestPermission) -> PermissionOption | None:
    lines = [f"May the agent {what_is_asked(asked)}?", *_details(asked)]
    lines += [f"  {number}  {one_line(option.name, 80)}" for number, option in enumerate(asked.options, start=1)]
    async with person.attention():
        person.tell("\n".join([*lines, ""]))
        while True:
            typed = await person.ask(f"1-{len(asked.options)}, or Enter for no: ")
            if not typed or not typed.strip():
                return None
            if typed.strip().isdecimal() and 1 <= int(typed) <= len(asked.options):
                return asked.options[int(typed) - 1]


def patch_of(diff: Diff) -> str:
    """A diff as a patch, whichever way it came."""
    if diff.patch is not None:
        return diff.patch.text
    return "".join(git_patch(change.path, change.old_text, change.new_text) for change in diff.changes)


def _details(asked: RequestPermission) -> list[str]:
    """Everything that is approved with a yes, whole."""
    title = (asked.title or "").strip()
    details = _indented(title, "  ") if "\n" in title or len(title) > _LONGEST_TITLE else []
    details += visible(asked.description).splitlines() if asked.description else []
    if isinstance(asked.subject, CommandSubject):
        details += _indented(asked.subject.command, "  $ ")
    if isinstance(asked.subject, ToolCallSubject):
        call = asked.subject.call
        places = call.locations or ()
        details += [f"  at {one_line(each.path, 4096)}" + (f":{each.line}" if each.line else "") for each in places]
        for item in call.content or ():
            if isinstance(item, Diff):
                details += visible(patch_of(item)).splitlines()
        command = _command_of(call.raw_input)
        details += _indented(command, "  $ ") if command else []
    return details


def _command_of(raw: Any) -> str:
    words: Any = cast("dict[str, Any]", raw).get("command") if isinstance(raw, dict) else None
    return shlex.join(map(str, cast("list[Any]", words))) if isinstance(words, list) else str(words or "")


def _indented(text: str, sign: str) -> list[str]:
    first, *more = visible(text).splitlines() or [""]
    return [f"{sign}{first}", *(f"{' ' * len(sign)}{line}" for line in more)]
