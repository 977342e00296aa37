"""`--permissions`: which permission requests are allowed, rejected or put to the user, and what "always" covers.

Law: only what the name of the choice says is allowed; everything else is asked at the terminal, or rejected.

Law: what accord says about an answer for always is true: it knows what it stores itself and what its own agent stores, and
says of any other agent that it cannot undo what that one stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias, get_args

from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_details import detail_lines
from accord.apps.console.sanitizer import exact_line
from accord.apps.console.tool_input import short_kind
from accord.apps.console.tty import TerminalDialog
from accord.client.client import Client
from accord.client.permissions import policies
from accord.client.permissions.policies import Policy
from accord.client.permissions.saved_answers import same_action
from accord.client.permissions.writes_and_commands import allows_all_writes
from accord.client.workspace.terminals import OnTerminal
from accord.client.workspace.workspace import OnWrite, Workspace
from accord.errors import AccordError
from accord.session.requests import (
    CommandSubject,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
)

Permissions: TypeAlias = Literal["ask", "reject", "allow-reads", "allow-edits", "allow-all"]
OnDecision: TypeAlias = Callable[[PermissionRequest, PermissionAnswer, Literal["rule", "person"]], None]

PERMISSIONS: tuple[Permissions, ...] = get_args(Permissions)
READS = ("read", "search", "think")
EDITS = (*READS, "edit")
_LONGEST_TITLE = 400


def ask_policy(dialog: TerminalDialog, cwd: str, *, is_builtin: bool) -> Policy:
    """Puts it to the dialog at the terminal, in lines; `cwd` is where the agent works, and whether that is our own."""
    keeper: ChoiceOwner = "built-in agent" if is_builtin else "other agent"
    return policies.ask(lambda request: _ask(dialog, request, cwd, keeper))


def permission_policy(chosen: Permissions, asks: Policy | None, on_decision: OnDecision) -> Policy:
    """The policy of that name; what it leaves open is for `asks`, or refused where there is nobody to ask."""
    rest = _told(policies.deny, "rule", on_decision)
    if asks is not None and chosen != "reject":
        rest = _told(asks, "person", on_decision)
    match chosen:
        case "allow-all":
            return _told(policies.allow_all, "rule", on_decision)
        case "allow-reads" | "allow-edits":
            kinds = READS if chosen == "allow-reads" else EDITS
            allowed = _told(policies.allow_all, "rule", on_decision)

            async def by_kind(request: PermissionRequest) -> PermissionAnswer:
                return await (allowed if policies.kind_of(request) in kinds else rest)(request)

            return by_kind
        case "ask" | "reject":
            return rest


def new_workspace(
    chosen: Permissions | None, agent: KnownAgent, *, on_terminal: OnTerminal, on_write: OnWrite | None = None
) -> Workspace:
    """What an agent of v1 may do through us by that choice; by none, all that it wants, inside its directory.

    By any other, each command is put to the policy. So terminals are offered also where the policy allows none, if the agent
    would otherwise run its commands itself, and ask nobody.
    """
    return Workspace(
        read=not agent.reads_itself,
        write=chosen not in ("reject", "allow-reads"),
        run=chosen != "reject" or agent.runs_unasked,
        asks_first=chosen == "ask" or ("commands" if chosen else False),
        on_write=on_write,
        on_terminal=on_terminal,
    )


def adapt_workspace(workspace: Workspace, agent: KnownAgent) -> bool:
    """To what an agent needs that is recognised only by its `initialize`; whether it has to be started again for that.

    It was offered to read files then, which is mended here (FN-95), or no terminals.
    """
    if agent.reads_itself:
        workspace.missing_file = "empty"
    if not agent.runs_unasked or workspace.capabilities.terminals:
        return False
    workspace.offer_terminals()
    return True


def least_permissions(request: PermissionRequest) -> Permissions:
    """The one that allows this, and no more than it has to."""
    kind = policies.kind_of(request)
    return "allow-reads" if kind in READS else "allow-edits" if kind in EDITS else "allow-all"


def permission_summary(request: PermissionRequest) -> str:
    """The action in a few safe words."""
    match request.subject:
        case CommandSubject(command=command, cwd=cwd):
            return exact_line(f"run {command} in {cwd}", _LONGEST_TITLE)
        case ToolCallSubject(call=call):
            return _title(request) + (f" ({short_kind(call.kind)})" if call.kind else "")
        case _:
            return _title(request)


def _title(request: PermissionRequest) -> str:
    call = request.subject.call if isinstance(request.subject, ToolCallSubject) else None
    title = request.title or (request.description if call is None else call.title or call.name)
    return exact_line(title or "something that it does not describe", _LONGEST_TITLE)


def _told(policy: Policy, by: Literal["rule", "person"], on_decision: OnDecision) -> Policy:
    async def telling(request: PermissionRequest) -> PermissionAnswer:
        answer = await policy(request)
        on_decision(request, answer, by)
        return answer

    return telling


def question_lines(request: PermissionRequest, cwd: str) -> list[str]:
    """The details below the summary."""
    is_command = isinstance(request.subject, CommandSubject)
    return detail_lines(request, permission_summary(request) if is_command else _title(request), cwd)


async def _ask(
    dialog: TerminalDialog, request: PermissionRequest, cwd: str, keeper: ChoiceOwner
) -> PermissionOption | None:
    lines = [f"May the agent {permission_summary(request)}?", *question_lines(request, cwd)]
    lines += [f"  {number}  {exact_line(option.name)}" for number, option in enumerate(request.options, start=1)]
    lines += [f"  {always_scope(request, keeper)}"] if offers_always(request) else []
    async with dialog.attention():
        if not await dialog.reads(lines):
            return None
        while True:
            typed = await dialog.ask(f"1-{len(request.options)}, or Enter for no: ")
            if not typed or not typed.strip():
                return None
            if typed.strip().isdecimal() and 1 <= int(typed) <= len(request.options):
                return request.options[int(typed) - 1]


ChoiceOwner: TypeAlias = Literal["built-in agent", "screen", "other agent"]
"""Who keeps a choice as far as we know: the built-in agent, in a file, or the screen, beside whatever the agent does."""

_METHOD = "_accord/forget_choices"


def offers_always(request: PermissionRequest) -> bool:
    """Whether it can be decided for good."""
    return any(option.kind.endswith("_always") for option in request.options)


def always_scope(request: PermissionRequest, keeper: ChoiceOwner, forget: str = "") -> str:
    """One sentence: what an answer for always covers, and until when. `forget` revokes it, if there is such a command."""
    kinds = {option.kind for option in request.options}
    words = [word for word, kind in (("Always", "allow_always"), ("never", "reject_always")) if kind in kinds]
    cover = f"{' and '.join(words).capitalize()} cover{'s' * (len(words) == 1)}"
    if allows_all_writes(request):
        until = " or ".join(filter(None, [forget, "the agent ends"]))
        return f"{cover} every file that the agent writes in this session, until {until}."
    if keeper == "built-in agent":
        ways = " or ".join(filter(None, [forget, "`accord permissions`"]))
        return f"{cover} what the answer says, in this project, until {ways} revokes it."
    if keeper == "other agent" or same_action(request) is None:
        return f"{cover} what the agent takes it to cover; accord saves nothing and cannot undo it."
    is_command = isinstance(request.subject, CommandSubject)
    what = "exactly this command in this directory" if is_command else "the same kind, title, input and files"
    until = " or ".join(filter(None, [forget, "exit"]))
    return f"{cover} {what}, in this session, until {until}; accord cannot undo what the agent saves."


async def forget_choices(client: Client, session_ids: Iterable[str]) -> int:
    """Have the built-in agent forget what was decided for good in the projects of these sessions; how many choices."""
    forgotten = 0
    for session_id in session_ids:
        answer = await client.request(_METHOD, {"sessionId": session_id})
        count = answer.get("forgotten") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if not isinstance(count, int):
            raise AccordError("the agent did not say what it has forgotten")
        forgotten += count
    return forgotten
