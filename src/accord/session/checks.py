"""Checks single reports, requests and registrations by the rules that their types can't express.

Each is a ValueError that names what is allowed, for a mistake of the author's. Types are checked by `form`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any

from msgspec import Struct

from accord.session.entities import AGENT, THOUGHT, USER, Cost, Option, SlashCommand, TokenUsage
from accord.session.form import check_block, check_form, check_number, check_type, checked, is_number
from accord.session.requests import ElicitationRequest, PermissionOption
from accord.session.updates import (
    CommandsPatch,
    CompactionAppend,
    CompactionPatch,
    InfoPatch,
    MessageAppend,
    MessagePatch,
    ModesPatch,
    NoticePatch,
    OptionsPatch,
    PlanPatch,
    StatePatch,
    UsagePatch,
)
from accord.session.value import UNSET
from accord.session.vocabulary import (
    COMPACTION_STATUSES,
    NOTICE_SEVERITIES,
    OPTION_CATEGORIES,
    PERMISSION_KINDS,
    PLAN_PRIORITIES,
    PLAN_STATUSES,
    STATES,
    STOP_REASONS,
)

__all__ = [
    "CHECKS",
    "check_answers",
    "check_command",
    "check_elicitation",
    "check_extension",
    "check_line",
    "check_option",
    "check_raw",
    "check_token_usage",
]

_ROLES = (USER, AGENT, THOUGHT)
_ELICITATIONS = ("form", "url")
_UINT32, _UINT64 = 2**32 - 1, 2**64 - 1


def check_command(command: SlashCommand) -> None:
    """A slash command: its name is told without the slash."""
    checked(command, _command)


def _command(command: SlashCommand) -> SlashCommand:
    name = command.name
    if not name or name.startswith("/") or any(letter.isspace() for letter in name):
        raise ValueError(f"invalid command name {name!r}: no leading slash, no whitespace")
    return command


def check_extension(name: str) -> str:
    """The name of a method or notification of one's own; ValueError for one of the protocol's (EXT-04, EXT-10)."""
    if not name.startswith("_") or name == "_":
        raise ValueError(f"invalid extension name {name!r}: it must begin with an underscore, such as '_acme/ping'")
    return name


def check_option(option: Option) -> None:
    """One setting: a switch that is on or off, or a select whose value is one of its choices."""
    checked(option, _option)


def _option(option: Option) -> Option:
    if option.category is not None:
        OPTION_CATEGORIES.check(option.category)
    if option.raw is not None:
        return option
    if option.kind == "boolean":
        if not isinstance(option.value, bool):
            raise ValueError(f"the option {option.id!r} is a switch: expected True or False, not {option.value!r}")
        return option
    if option.kind != "select":
        raise ValueError(f"unknown kind of option {option.kind!r}: expected select, boolean")
    values = [choice.value for choice in option.choices]
    _check_unique(f"choice of the option {option.id!r}", values)
    if values and option.value not in values:
        raise ValueError(f"the option {option.id!r} has no choice {option.value!r}: expected {', '.join(values)}")
    return option


def check_answers(options: Sequence[PermissionOption]) -> None:
    """The answers that a permission request offers: at least one, each by an id of its own."""
    if not options:
        raise ValueError("a permission request needs at least one option")
    _check_unique("permission option", [option.id for option in options])
    for option in options:
        PERMISSION_KINDS.check(option.kind)


def _check_role(role: str) -> None:
    if role not in _ROLES:
        raise ValueError(f"unknown role {role!r}: expected {', '.join(_ROLES)}")


def _check_unique(what: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            raise ValueError(f"duplicate {what} {id!r}: each needs an id of its own")
        seen.add(id)


def check_token_usage(usage: TokenUsage) -> None:
    """Token counts are whole numbers that are not negative."""
    check_type(usage, TokenUsage, "TokenUsage")
    for name in ("total", "input", "output"):
        check_number(f"number of {name} tokens", getattr(usage, name), 0, _UINT64)
    for name in ("thought", "cached_read", "cached_write"):
        value = getattr(usage, name)
        if value is not None:
            check_number(f"number of {name} tokens", value, 0, _UINT64)
    check_form(usage)


def check_line(line: int) -> None:
    """A line, counted from 1."""
    if not is_number(line, 1, _UINT32):  # RPC-19
        raise ValueError(f"invalid line {line!r}: lines count from 1")


def check_elicitation(asked: ElicitationRequest) -> None:
    """A question by form or URL, which belongs to a session or to a request."""
    if asked.mode not in _ELICITATIONS:
        raise ValueError(f"unknown mode of an elicitation {asked.mode!r}: expected {', '.join(_ELICITATIONS)}")
    if asked.mode == "url" and not (asked.url and asked.elicitation_id):
        raise ValueError("an elicitation by URL needs the URL and an id")
    if (asked.session_id is None) == (asked.request_id is None):
        raise ValueError("an elicitation needs the id of a session or a request that it belongs to, and not both")
    if asked.tool_call_id is not None and asked.session_id is None:
        raise ValueError("an elicitation about a tool call needs the id of the session of the tool call")
    schema = asked.schema or {}
    properties = schema.get("properties") or ()
    missing = [name for name in schema.get("required") or () if name not in properties]
    if missing:
        raise ValueError(f"required fields that the form does not have: {', '.join(missing)}")


def _check_message(report: MessagePatch) -> None:
    _check_role(report.role)
    for block in report.content or ():
        check_block(block)


def _check_piece(report: MessageAppend) -> None:
    _check_role(report.role)
    check_block(report.content)


def _check_plan(report: PlanPatch) -> None:
    for entry in report.plan.entries:
        PLAN_STATUSES.check(entry.status)
        PLAN_PRIORITIES.check(entry.priority)


def _check_commands(report: CommandsPatch) -> None:
    _check_unique("command", [command.name for command in report.commands])
    for command in report.commands:
        if command.raw is None:
            check_command(command)


def _check_options(report: OptionsPatch) -> None:
    _check_unique("option", [option.id for option in report.options])
    for option in report.options:
        check_option(option)


def _check_modes(report: ModesPatch) -> None:
    modes = report.modes
    ids = [mode.id for mode in modes.available]
    _check_unique("mode", ids)
    if modes.current not in ids:
        raise ValueError(f"the mode {modes.current!r} is not one of those that are available: {', '.join(ids)}")


def _check_cost(cost: Cost) -> None:
    amount: Any = cost.amount
    is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
    if not (is_number and isfinite(amount) and amount >= 0):
        raise ValueError(f"invalid cost {amount!r}: expected a number that is not negative")
    if not cost.currency:
        raise ValueError(f"invalid currency {cost.currency!r}: expected an ISO 4217 code, such as USD")


def _check_usage(report: UsagePatch) -> None:
    check_number("used", report.used, 0, _UINT64)
    check_number("size", report.size, 0, _UINT64)
    if report.cost:
        _check_cost(report.cost)


def _check_notice(report: NoticePatch) -> None:
    NOTICE_SEVERITIES.check(report.notice.severity)
    if report.notice.title == "":
        raise ValueError("a notice needs a title")


def _check_info(report: InfoPatch) -> None:
    if report.updated_at:
        try:
            datetime.fromisoformat(report.updated_at)
        except ValueError:
            raise ValueError(
                f"invalid time {report.updated_at!r}: expected ISO 8601, such as 2025-01-12T15:00:58Z"
            ) from None


def check_raw(what: str, value: Any) -> None:
    """AMB-56: what is raw is any JSON when it is read, and an object when it is sent."""
    if value is not UNSET and value is not None and not isinstance(value, Mapping | Struct):
        raise ValueError(f"the raw {what} of a tool call must be a JSON object, such as {{'{what}': {value!r}}}")


def _check_compaction(report: CompactionPatch) -> None:
    COMPACTION_STATUSES.check(report.status)
    for block in report.summary or ():
        check_block(block)


def _check_compaction_piece(report: CompactionAppend) -> None:
    check_block(report.content)


def _check_state(report: StatePatch) -> None:
    state = report.state
    STATES.check(state.state)
    if state.stop_reason is not None and state.stop_reason != "error":  # how a turn that failed ends in v2
        STOP_REASONS.check(state.stop_reason)
    if state.token_usage is not None:
        check_token_usage(state.token_usage)


CHECKS: Mapping[type[Any], Callable[[Any], None]] = {
    MessagePatch: _check_message,
    MessageAppend: _check_piece,
    PlanPatch: _check_plan,
    CommandsPatch: _check_commands,
    OptionsPatch: _check_options,
    ModesPatch: _check_modes,
    UsagePatch: _check_usage,
    NoticePatch: _check_notice,
    CompactionPatch: _check_compaction,
    CompactionAppend: _check_compaction_piece,
    InfoPatch: _check_info,
    StatePatch: _check_state,
}
"""By type of report, those that need no session to be checked."""
