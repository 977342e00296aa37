"""Validates the patches and requests of an author before they are sent: a mistake is a ValueError at the call.

The rules here are those that types can't express; the types themselves are checked by `type_checks`.

Law: nothing from a peer or a store is validated here. No object of the caller is changed: a path that is completed is
completed in a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from math import isfinite
from typing import Any, ClassVar, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from accord.session import requests, updates
from accord.session.content import is_plain
from accord.session.entities import (
    AGENT,
    THOUGHT,
    USER,
    ContentItem,
    Cost,
    Diff,
    FileChange,
    Location,
    Option,
    SlashCommand,
    TerminalItem,
    TokenUsage,
    ToolCall,
    ToolCallItem,
)
from accord.session.open_enums import (
    COMPACTION_STATUSES,
    FILE_OPERATIONS,
    FINAL_STATUSES,
    NOTICE_SEVERITIES,
    OPTION_CATEGORIES,
    PERMISSION_KINDS,
    PLAN_PRIORITIES,
    PLAN_STATUSES,
    STATES,
    STOP_REASONS,
    TOOL_KINDS,
    TOOL_STATUSES,
)
from accord.session.paths import is_absolute
from accord.session.type_checks import apply_rule, check_block, check_number, check_type, check_types, is_number
from accord.session.value import UNSET

T = TypeVar("T", bound=Struct)

_PATCHES = frozenset(get_args(updates.Patch))
_ROLES = (USER, AGENT, THOUGHT)
_ELICITATIONS = ("form", "url")
_UINT32, _INT64, _UINT64 = 2**32 - 1, 2**63 - 1, 2**64 - 1


def check_command(command: SlashCommand) -> None:
    """A slash command: its name has no slash."""
    apply_rule(command, _command)


def _command(command: SlashCommand) -> None:
    name = command.name
    if not name or name.startswith("/") or any(letter.isspace() for letter in name):
        raise ValueError(f"invalid command name {name!r}: no leading slash, no whitespace")


def check_extension(name: str) -> str:
    """The name of an extension method or notification; ValueError for one of the protocol's (EXT-04, EXT-10)."""
    if not name.startswith("_") or name == "_":
        raise ValueError(f"invalid extension name {name!r}: it must begin with an underscore, such as '_acme/ping'")
    return name


def check_option(option: Option) -> None:
    """One option: a boolean, or a select whose value is one of its choices."""
    apply_rule(option, _option)


def _option(option: Option) -> None:
    if option.category is not None:
        OPTION_CATEGORIES.check(option.category)
    if option.raw is not None:
        return
    if option.kind not in ("select", "boolean"):
        raise ValueError(f"unknown kind of option {option.kind!r}: expected select, boolean")
    if option.kind == "boolean":
        if not isinstance(option.value, bool):
            raise ValueError(f"the option {option.id!r} is a boolean: expected True or False, not {option.value!r}")
        return
    values = [choice.value for choice in option.choices]
    _check_unique(f"choice of the option {option.id!r}", values)
    if values and option.value not in values:
        raise ValueError(f"the option {option.id!r} has no choice {option.value!r}: expected {', '.join(values)}")


def check_token_usage(usage: TokenUsage) -> None:
    """Token counts are integers, not negative."""
    check_type(usage, TokenUsage, "TokenUsage")
    for name in ("total", "input", "output", "thought", "cached_read", "cached_write"):
        value = getattr(usage, name)
        if value is not None or name in ("total", "input", "output"):
            check_number(f"number of {name} tokens", value, 0, _UINT64)
    check_types(usage)


def _check_unique(what: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            raise ValueError(f"duplicate {what} {id!r}: each needs an id of its own")
        seen.add(id)


def _check_line(line: int) -> None:
    if not is_number(line, 1, _UINT32):  # RPC-19
        raise ValueError(f"invalid line {line!r}: lines count from 1")


def _check_permission_options(options: Sequence[requests.PermissionOption]) -> None:
    if not options:
        raise ValueError("a permission request needs at least one option")
    _check_unique("permission option", [option.id for option in options])
    for option in options:
        PERMISSION_KINDS.check(option.kind)


def _check_elicitation(request: requests.ElicitationRequest) -> None:
    if request.mode not in _ELICITATIONS:
        raise ValueError(f"unknown mode of an elicitation {request.mode!r}: expected {', '.join(_ELICITATIONS)}")
    if request.mode == "url" and not (request.url and request.elicitation_id):
        raise ValueError("an elicitation by URL needs the URL and an id")
    if (request.session_id is None) == (request.request_id is None):
        raise ValueError("an elicitation needs the id of a session or the id of a request, and not both")
    if request.tool_call_id is not None and request.session_id is None:
        raise ValueError("an elicitation about a tool call needs the id of the session of the tool call")
    schema = request.schema or {}
    properties = schema.get("properties") or ()
    missing = [name for name in schema.get("required") or () if name not in properties]
    if missing:
        raise ValueError(f"required fields that the form does not have: {', '.join(missing)}")


def _check_role(role: str) -> None:
    if role not in _ROLES:
        raise ValueError(f"unknown role {role!r}: expected {', '.join(_ROLES)}")


def _check_message(patch: updates.MessagePatch) -> None:
    _check_role(patch.role)
    for block in patch.content or ():
        check_block(block)


def _check_message_append(patch: updates.MessageAppend) -> None:
    _check_role(patch.role)
    check_block(patch.content)


def _check_plan(patch: updates.PlanPatch) -> None:
    for entry in patch.plan.entries:
        PLAN_STATUSES.check(entry.status)
        PLAN_PRIORITIES.check(entry.priority)


def _check_commands(patch: updates.CommandsPatch) -> None:
    _check_unique("command", [command.name for command in patch.commands])
    for command in patch.commands:
        if command.raw is None:
            check_command(command)


def _check_options(patch: updates.OptionsPatch) -> None:
    _check_unique("option", [option.id for option in patch.options])
    for option in patch.options:
        check_option(option)


def _check_modes(patch: updates.ModesPatch) -> None:
    modes = patch.modes
    ids = [mode.id for mode in modes.available]
    _check_unique("mode", ids)
    if modes.current not in ids:
        raise ValueError(f"the mode {modes.current!r} is not available: expected {', '.join(ids)}")


def _check_cost(cost: Cost) -> None:
    amount: Any = cost.amount
    is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
    if not (is_number and isfinite(amount) and amount >= 0):
        raise ValueError(f"invalid cost {amount!r}: expected a number that is not negative")
    if not cost.currency:
        raise ValueError(f"invalid currency {cost.currency!r}: expected an ISO 4217 code, such as USD")


def _check_usage(patch: updates.UsagePatch) -> None:
    check_number("used", patch.used, 0, _UINT64)
    check_number("size", patch.size, 0, _UINT64)
    if patch.cost:
        _check_cost(patch.cost)


def _check_notice(patch: updates.NoticePatch) -> None:
    NOTICE_SEVERITIES.check(patch.notice.severity)
    if patch.notice.title == "":
        raise ValueError("a notice needs a title")


def _check_info(patch: updates.InfoPatch) -> None:
    if patch.updated_at:
        try:
            datetime.fromisoformat(patch.updated_at)
        except ValueError:
            raise ValueError(
                f"invalid time {patch.updated_at!r}: expected ISO 8601, such as 2025-01-12T15:00:58Z"
            ) from None


def _check_compaction(patch: updates.CompactionPatch) -> None:
    COMPACTION_STATUSES.check(patch.status)
    for block in patch.summary or ():
        check_block(block)


def _check_summary_block(patch: updates.CompactionAppend) -> None:
    check_block(patch.content)


def _check_state(patch: updates.StatePatch) -> None:
    state = patch.state
    STATES.check(state.state)
    if state.stop_reason is not None and state.stop_reason != "error":  # how a turn that failed ends in v2
        STOP_REASONS.check(state.stop_reason)
    if state.token_usage is not None:
        check_token_usage(state.token_usage)


def _check_raw(name: str, value: Any) -> None:
    """AMB-56: raw input and output are any JSON when they are read, and an object when they are sent."""
    if value is not UNSET and value is not None and not isinstance(value, Mapping | Struct):
        raise ValueError(f"the raw {name} of a tool call must be a JSON object, such as {{'{name}': {value!r}}}")


_CHECKS: Mapping[type[Any], Callable[[Any], None]] = {
    updates.MessagePatch: _check_message,
    updates.MessageAppend: _check_message_append,
    updates.PlanPatch: _check_plan,
    updates.CommandsPatch: _check_commands,
    updates.OptionsPatch: _check_options,
    updates.ModesPatch: _check_modes,
    updates.UsagePatch: _check_usage,
    updates.NoticePatch: _check_notice,
    updates.CompactionPatch: _check_compaction,
    updates.CompactionAppend: _check_summary_block,
    updates.InfoPatch: _check_info,
    updates.StatePatch: _check_state,
}
"""The rules of patches that can be checked without a session."""


class Validator:
    """Validates for one session, whose working directory, terminals, modes and tool calls it asks for."""

    def __init__(
        self,
        absolute: Callable[[str], str],
        check_terminal: Callable[[str], None],
        modes: Callable[[], Iterable[str]] = tuple,
        calls: Callable[[], Mapping[str, ToolCall]] = dict,
    ) -> None:
        self._absolute = absolute
        self._check_terminal = check_terminal
        self._modes = modes
        self._calls = calls

    def patch(self, patch: updates.Patch) -> updates.Patch:
        """The valid patch, or a copy with absolute paths."""
        if type(patch) not in _PATCHES:
            check_type(patch, (), "a patch of accord.session.updates")
        if (check := _CHECKS.get(type(patch))) is not None:
            return apply_rule(patch, check)
        if (rule := self._rules.get(type(patch))) is not None:
            return apply_rule(patch, partial(rule, self))
        check_types(patch)
        return patch

    def request(self, request: requests.AcpRequest) -> requests.AcpRequest:
        """The valid request, or a copy with absolute paths."""
        check_type(request, requests.AcpRequest, "a request of accord.session.requests")
        return apply_rule(request, self._request)

    def _request(self, request: requests.AcpRequest) -> requests.AcpRequest:
        match request:
            case requests.PermissionRequest():
                return self._permission(request)
            case requests.ReadFile():
                if request.line is not None:
                    _check_line(request.line)
                if request.limit is not None:
                    check_number("limit", request.limit, 0, _UINT32)
                return self._complete_path(request, "path")
            case requests.WriteFile():
                return self._complete_path(request, "path")
            case requests.CreateTerminal():
                if request.output_byte_limit is not None:
                    check_number("output limit", request.output_byte_limit, 0, _UINT64)
                return self._complete_path(request, "cwd")
            case requests.ElicitationRequest() if request.raw is None:
                _check_elicitation(request)
                return request
            case _:
                return request

    def _permission(self, request: requests.PermissionRequest) -> requests.PermissionRequest:
        _check_permission_options(request.options)
        subject = request.subject
        if isinstance(subject, requests.ToolCallSubject):
            call = self._tool_call(subject.call)
            return request if call is subject.call else replace(request, subject=replace(subject, call=call))
        if isinstance(subject, requests.CommandSubject):
            return replace(request, subject=self._complete_path(subject, "cwd"))
        return request

    def _tool_call(self, patch: updates.ToolCallPatch) -> updates.ToolCallPatch:
        if patch.kind is not UNSET and patch.kind is not None:
            TOOL_KINDS.check(patch.kind)
        if patch.status is not UNSET:
            self._check_status(patch.id, patch.status)
        _check_raw("input", patch.raw_input)
        _check_raw("output", patch.raw_output)
        changed: dict[str, Any] = {}
        if patch.locations:
            changed["locations"] = [self._location(location) for location in patch.locations]
        if patch.content:
            changed["content"] = [self._item(item) for item in patch.content]
        return replace(patch, **changed) if changed else patch

    def _check_status(self, call_id: str, status: str | None) -> None:
        if status is not None:
            TOOL_STATUSES.check(status)
        call = self._calls().get(call_id)
        if call is not None and call.status in FINAL_STATUSES and status != call.status:  # TOOL-30, AMB-55
            raise ValueError(f"the tool call {call_id!r} has ended as {call.status}: its status can't change any more")

    def _tool_call_append(self, patch: updates.ToolCallAppend) -> updates.ToolCallAppend:
        item = self._item(patch.item)
        return patch if item is patch.item else replace(patch, item=item)

    def _location(self, location: Location) -> Location:
        if location.line is not None:
            _check_line(location.line)
        return self._complete_path(location, "path")

    def _item(self, item: ToolCallItem) -> ToolCallItem:
        if isinstance(item, ContentItem):
            if not is_plain(item.content):
                check_block(item.content)
        elif isinstance(item, TerminalItem):
            self._check_terminal(item.terminal_id)
        elif isinstance(item, Diff):
            return replace(item, changes=[self._file(change) for change in item.changes])
        return item

    def _file(self, change: FileChange) -> FileChange:
        if change.raw is not None:
            return change
        FILE_OPERATIONS.check(change.operation)
        return self._complete_path(self._complete_path(change, "path"), "old_path")

    def _terminal(self, patch: updates.TerminalPatch) -> updates.TerminalPatch:
        if patch.size:
            check_number("columns", patch.size.columns, 1, 65535)
            check_number("rows", patch.size.rows, 1, 65535)
        if patch.exit and patch.exit.code is not None:
            check_number("exit code", patch.exit.code, -_INT64 - 1, _INT64)
        return self._complete_path(patch, "cwd") if patch.cwd else patch

    def _mode(self, patch: updates.ModePatch) -> updates.ModePatch:
        modes = list(self._modes())
        if patch.mode_id not in modes:
            offer = ", ".join(modes) if modes else "none, offer them with agent.option('mode', choices=...)"
            raise ValueError(f"there is no mode {patch.mode_id!r}: the session has {offer}")
        return patch

    def _complete_path(self, struct: T, field: str) -> T:
        path: str | None = getattr(struct, field)
        if path is None or is_absolute(path):
            return struct
        return replace(struct, **{field: self._absolute(path)})

    _rules: ClassVar[Mapping[type[Any], Callable[[Any, Any], Any]]] = {
        updates.ToolCallPatch: _tool_call,
        updates.ToolCallAppend: _tool_call_append,
        updates.TerminalPatch: _terminal,
        updates.ModePatch: _mode,
    }
