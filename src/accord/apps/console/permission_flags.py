"""`--permissions`: which permission requests are allowed, rejected or put to the user, and what "always" covers.

Law: only what the name of the choice says is allowed; everything else is asked at the terminal, or rejected.

Law: what accord says about an answer for always is true: it knows what it stores itself and what its own agent stores, and
says of any other agent that it cannot undo what that one stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal, TypeAlias, get_args

from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.sanitizer import exact, exact_line
from accord.apps.console.tool_input import (
    DiffTexts,
    command_line,
    file_type_text,
    full_texts,
    is_only_command,
    is_patch_of,
    remaining_input,
    remaining_names,
    short_kind,
    value_text,
)
from accord.apps.console.tty import TerminalDialog
from accord.client.client import Client
from accord.client.permissions import policies
from accord.client.permissions.policies import Policy
from accord.client.permissions.saved_answers import same_action
from accord.client.permissions.writes_and_commands import allows_all_writes
from accord.client.workspace.terminals import OnTerminal
from accord.client.workspace.workspace import OnWrite, Workspace
from accord.errors import AccordError
from accord.session.content import render_text
from accord.session.diffs import diff_text, read_git_patch
from accord.session.entities import ContentItem, Diff, FileChange, TerminalItem, ToolCallItem
from accord.session.requests import (
    CommandSubject,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.updates import ToolCallPatch

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


async def _ask(
    dialog: TerminalDialog, request: PermissionRequest, cwd: str, keeper: ChoiceOwner
) -> PermissionOption | None:
    lines = [f"May the agent {permission_summary(request)}?", *_details(request, cwd)]
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


def _details(request: PermissionRequest, cwd: str) -> list[str]:
    """Everything that is approved with a yes, whole."""
    subject = request.subject
    head = permission_summary(request) if isinstance(subject, CommandSubject) else _title(request)
    details = _action(subject.call) if isinstance(subject, ToolCallSubject) else []
    details += [line for what, name in remaining_names(request, head) for line in _indented(name, f"  {what}: ")]
    details += _indented(request.description, "  ") if request.description else []
    match subject:
        case ToolCallSubject(call=call):
            details += _of_call(call, request.title, cwd)
        case CommandSubject():
            details += _indented(subject.command, "  $ ")
            details += [] if head.endswith(f" in {exact_line(subject.cwd)}") else _indented(subject.cwd, "  in ")
        case None:
            pass
        case _:
            details += _value(subject.tag, subject.raw)
    return details


def _action(call: ToolCallPatch) -> list[str]:
    """What would be done, where that is told as it is: its diffs and its command."""
    command = command_line(call.raw_input)
    lines = [line for item in call.content or () if isinstance(item, Diff) for line in _of_diff(item)]
    return lines + ([] if command is None else _indented(command, "  $ "))


def _of_call(call: ToolCallPatch, title: str | None, cwd: str) -> list[str]:
    """All that is told of it beside that."""
    content = call.content or []
    diffs = [item for item in content if isinstance(item, Diff)]
    in_diffs = {path for diff in diffs for change in diff.changes for path in (change.path, change.old_path) if path}
    places = call.locations or []
    texts = [render_text([item.content]) for item in content if isinstance(item, ContentItem)]
    untold = remaining_input(
        call.raw_input or None,
        cwd,
        paths=in_diffs | {place.path for place in places},
        texts=[*texts, title or "", call.title or ""],
        files=_shown_files(diffs),
        is_patch=partial(is_patch_of, diffs, cwd),
    )
    command = command_line(call.raw_input)
    return [
        *(f"  at {exact_line(place.path)}" + (f":{place.line}" if place.line else "") for place in places),
        *(line for item in content if not _is_told(item, command) for line in _of_item(item)),
        *([] if untold is None else _value("input", untold)),
    ]


def _is_told(item: ToolCallItem, command: str | None) -> bool:
    is_command = isinstance(item, ContentItem) and is_only_command(render_text([item.content]), command)
    return is_command or isinstance(item, Diff)


def _of_item(item: ToolCallItem) -> list[str]:
    match item:
        case ContentItem():
            return _indented(render_text([item.content]), "  ")
        case TerminalItem():
            return [f"  terminal {exact_line(item.terminal_id)}"]
        case Diff():
            return _of_diff(item)
        case _:
            return _value(item.tag, item.raw)


def _of_diff(diff: Diff) -> list[str]:
    changes = [line for change in diff.changes for line in _of_change(change)]
    return [*changes, *exact(diff_text(diff), tab="    ").splitlines()]


def _of_change(change: FileChange) -> list[str]:
    moved = "" if change.old_path is None else f"{exact_line(change.old_path)} → "
    kind = file_type_text(change)
    line = f"  {exact_line(change.operation)} {moved}{exact_line(change.path)}" + (
        f" ({exact_line(kind)})" if kind else ""
    )
    return [line, *([] if change.raw is None else _value(change.operation, change.raw))]


def _shown_files(diffs: Iterable[Diff]) -> list[DiffTexts]:
    """What the diffs show as they are printed."""
    shown: list[DiffTexts] = []
    for diff in diffs:
        files = read_git_patch(diff_text(diff))
        shown += [DiffTexts(file.path, [file.old_text or ""], [file.new_text or ""]) for file in files]
        if diff.patch is None:  # else that is printed, not the texts
            shown += [DiffTexts(change.path, [], [], *full_texts(change)) for change in diff.changes]
    return shown


def _value(name: str, value: object) -> list[str]:
    return [f"  {exact_line(name)}:", *_indented(value_text(value), "    ")]


def _indented(text: str, sign: str) -> list[str]:
    first, *more = exact(text).splitlines() or [""]
    return [f"{sign}{first}", *(f"{' ' * len(sign)}{line}" for line in more)]


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
