"""Checks of what an author tells or asks, made before anything is told: a mistake is a ValueError at the call.

Law: nothing that came from a peer or out of a store is checked here, and nobody's objects are changed: where a path has
to be completed, a copy is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from accord.session.content import Content, Resource, ResourceLink, Text
from accord.session.entities import (
    AGENT,
    THOUGHT,
    USER,
    Command,
    ContentItem,
    Cost,
    Diff,
    FileChange,
    Location,
    Option,
    TerminalItem,
    TokenUsage,
    ToolCallItem,
)
from accord.session.form import check_form, check_number, is_number
from accord.session.requests import (
    Asked,
    CommandSubject,
    CreateTerminal,
    Elicit,
    PermissionOption,
    ReadFile,
    RequestPermission,
    ToolCallSubject,
    WriteFile,
)
from accord.session.updates import (
    CommandsReport,
    CompactionPatch,
    CompactionPiece,
    MessagePatch,
    MessagePiece,
    ModeReport,
    ModesReport,
    NoticeReport,
    OptionsReport,
    PlanReport,
    Report,
    StateReport,
    TerminalPatch,
    ToolCallPatch,
    ToolCallPiece,
    UsageReport,
)
from accord.session.vocabulary import (
    COMPACTION_STATUSES,
    FILE_OPERATIONS,
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
from accord.session.word import UNSET

__all__ = [
    "Validator",
    "check_block",
    "check_command",
    "check_extension",
    "check_option",
    "check_options_to_choose",
    "check_token_usage",
    "is_absolute",
]

T = TypeVar("T", bound=Struct)

# POSIX, a drive letter, or UNC: the other side's system need not be ours (AMB-46).
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
_ROLES = (USER, AGENT, THOUGHT)
_ELICITATIONS = ("form", "url")
_BLOCKS = get_args(Content)
_UINT32, _UINT64 = 2**32 - 1, 2**64 - 1


def is_absolute(path: str) -> bool:
    """Whether a path is absolute on some system."""
    return _ABSOLUTE.match(path) is not None


def check_block(block: Content) -> None:
    """A block of content: a resource has a text or a blob, a size is not negative. TypeError for anything else."""
    if not isinstance(block, _BLOCKS):
        raise TypeError(f"expected text or a block of content, not {type(block).__name__}")
    if isinstance(block, Resource) and (block.text is None) == (block.blob is None):
        raise ValueError(f"the resource {block.uri!r} must have a text or a blob, and not both")
    if isinstance(block, ResourceLink) and block.size is not None:
        check_number("size", block.size, 0, _UINT64)


def check_command(command: Command) -> None:
    """A slash command: its name is told without the slash."""
    name = command.name
    if not name or name.startswith("/") or any(letter.isspace() for letter in name):
        raise ValueError(f"invalid command name {name!r}: no leading slash, no whitespace")


def check_extension(name: str) -> str:
    """The name of a method or notification of one's own; ValueError for one of the protocol's (EXT-04, EXT-10)."""
    if not name.startswith("_") or name == "_":
        raise ValueError(f"invalid extension name {name!r}: it must begin with an underscore, such as '_acme/ping'")
    return name


def check_option(option: Option) -> None:
    """One setting: a switch that is on or off, or a select whose value is one of its choices."""
    if option.category is not None:
        OPTION_CATEGORIES.check(option.category)
    if option.raw is not None:
        return
    if option.kind == "boolean":
        if not isinstance(option.value, bool):
            raise ValueError(f"the option {option.id!r} is a switch: expected True or False, not {option.value!r}")
        return
    if option.kind != "select":
        raise ValueError(f"unknown kind of option {option.kind!r}: expected select, boolean")
    values = [choice.value for choice in option.choices]
    _check_unique(f"choice of the option {option.id!r}", values)
    if values and option.value not in values:
        raise ValueError(f"the option {option.id!r} has no choice {option.value!r}: expected {', '.join(values)}")


def check_options_to_choose(options: Sequence[PermissionOption]) -> None:
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
    for name in ("total", "input", "output"):
        check_number(f"number of {name} tokens", getattr(usage, name), 0, _UINT64)
    for name in ("thought", "cached_read", "cached_write"):
        value = getattr(usage, name)
        if value is not None:
            check_number(f"number of {name} tokens", value, 0, _UINT64)


def _check_line(line: int) -> None:
    if not is_number(line, 1, _UINT32):  # RPC-19
        raise ValueError(f"invalid line {line!r}: lines count from 1")


def _check_elicitation(asked: Elicit) -> None:
    if asked.mode not in _ELICITATIONS:
        raise ValueError(f"unknown mode of an elicitation {asked.mode!r}: expected {', '.join(_ELICITATIONS)}")
    if asked.mode == "url" and not (asked.url and asked.elicitation_id):
        raise ValueError("an elicitation by URL needs the URL and an id")
    schema = asked.schema or {}
    missing = [name for name in schema.get("required") or () if name not in schema.get("properties", {})]
    if missing:
        raise ValueError(f"required fields that the form does not have: {', '.join(missing)}")


def _check_message(report: MessagePatch) -> None:
    _check_role(report.role)
    for block in report.content or ():
        check_block(block)


def _check_piece(report: MessagePiece) -> None:
    _check_role(report.role)
    check_block(report.content)


def _check_plan(report: PlanReport) -> None:
    for entry in report.plan.entries:
        PLAN_STATUSES.check(entry.status)
        PLAN_PRIORITIES.check(entry.priority)


def _check_commands(report: CommandsReport) -> None:
    _check_unique("command", [command.name for command in report.commands])
    for command in report.commands:
        if command.raw is None:
            check_command(command)


def _check_options(report: OptionsReport) -> None:
    _check_unique("option", [option.id for option in report.options])
    for option in report.options:
        check_option(option)


def _check_modes(report: ModesReport) -> None:
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


def _check_usage(report: UsageReport) -> None:
    check_number("used", report.used, 0, _UINT64)
    check_number("size", report.size, 0, _UINT64)
    if report.cost:
        _check_cost(report.cost)


def _check_notice(report: NoticeReport) -> None:
    NOTICE_SEVERITIES.check(report.notice.severity)


def _check_compaction(report: CompactionPatch) -> None:
    COMPACTION_STATUSES.check(report.status)
    for block in report.summary or ():
        check_block(block)


def _check_compaction_piece(report: CompactionPiece) -> None:
    check_block(report.content)


def _check_state(report: StateReport) -> None:
    state = report.state
    STATES.check(state.state)
    if state.stop_reason is not None and state.stop_reason != "error":  # how a turn that failed ends in v2
        STOP_REASONS.check(state.stop_reason)
    if state.token_usage is not None:
        check_token_usage(state.token_usage)


def _only_checked(check: Callable[[Any], None]) -> Callable[[Any, Any], Any]:
    def checked(validator: Any, report: Any) -> Any:
        check(report)
        return report

    return checked


class Validator:
    """Bound to one session: to what completes a path in it, and to which terminals and modes it has."""

    def __init__(
        self, absolute: Callable[[str], str], check_terminal: Callable[[str], None], modes: Callable[[], Iterable[str]]
    ) -> None:
        self._absolute = absolute
        self._check_terminal = check_terminal
        self._modes = modes

    def report(self, report: Report) -> Report:
        """What may be told: the report, or a copy with complete paths."""
        check = self._rules.get(type(report))
        if check is not None:
            report = check(self, report)
        check_form(report)
        return report

    def request(self, asked: Asked) -> Asked:
        """What may be asked: the request, or a copy with complete paths."""
        match asked:
            case RequestPermission():
                return self._permission(asked)
            case ReadFile():
                if asked.line is not None:
                    _check_line(asked.line)
                if asked.limit is not None:
                    check_number("limit", asked.limit, 0, _UINT32)
                return self._placed(asked, "path")
            case WriteFile():
                return self._placed(asked, "path")
            case CreateTerminal():
                if asked.output_byte_limit is not None:
                    check_number("output limit", asked.output_byte_limit, 0, _UINT64)
                return self._placed(asked, "cwd")
            case Elicit() if asked.raw is None:
                _check_elicitation(asked)
                return asked
            case _:
                return asked

    def _permission(self, asked: RequestPermission) -> RequestPermission:
        check_options_to_choose(asked.options)
        subject = asked.subject
        if isinstance(subject, ToolCallSubject):
            call = self._tool_call(subject.call)
            return asked if call is subject.call else replace(asked, subject=replace(subject, call=call))
        if isinstance(subject, CommandSubject):
            placed = self._placed(subject, "cwd")
            return asked if placed is subject else replace(asked, subject=placed)
        return asked

    def _tool_call(self, patch: ToolCallPatch) -> ToolCallPatch:
        if patch.kind is not UNSET and patch.kind is not None:
            TOOL_KINDS.check(patch.kind)
        if patch.status is not UNSET and patch.status is not None:
            TOOL_STATUSES.check(patch.status)
        changed: dict[str, Any] = {}
        if patch.locations:
            changed["locations"] = [self._location(place) for place in patch.locations]
        if patch.content:
            changed["content"] = [self._item(item) for item in patch.content]
        return replace(patch, **changed) if changed else patch

    def _tool_call_piece(self, piece: ToolCallPiece) -> ToolCallPiece:
        item = self._item(piece.item)
        return piece if item is piece.item else replace(piece, item=item)

    def _location(self, place: Location) -> Location:
        if place.line is not None:
            _check_line(place.line)
        return self._placed(place, "path")

    def _item(self, item: ToolCallItem) -> ToolCallItem:
        if isinstance(item, ContentItem):
            if type(item.content) is not Text:
                check_block(item.content)
        elif isinstance(item, TerminalItem):
            self._check_terminal(item.terminal_id)
        elif isinstance(item, Diff):
            changes = [self._file(change) for change in item.changes]
            return replace(item, changes=changes)
        return item

    def _file(self, change: FileChange) -> FileChange:
        if change.raw is not None:
            return change
        FILE_OPERATIONS.check(change.operation)
        return self._placed(self._placed(change, "path"), "old_path")

    def _terminal(self, patch: TerminalPatch) -> TerminalPatch:
        if patch.size:
            check_number("columns", patch.size.columns, 1, 65535)
            check_number("rows", patch.size.rows, 1, 65535)
        return self._placed(patch, "cwd") if patch.cwd else patch

    def _mode(self, report: ModeReport) -> ModeReport:
        modes = list(self._modes())
        if report.mode_id not in modes:
            offer = ", ".join(modes) if modes else "none, offer them with agent.option('mode', choices=...)"
            raise ValueError(f"there is no mode {report.mode_id!r}: the session has {offer}")
        return report

    def _placed(self, word: T, field: str) -> T:
        path: str | None = getattr(word, field)
        if path is None or is_absolute(path):
            return word
        return replace(word, **{field: self._absolute(path)})

    _rules: ClassVar[Mapping[type[Any], Callable[[Any, Any], Any]]] = {
        ToolCallPatch: _tool_call,
        ToolCallPiece: _tool_call_piece,
        TerminalPatch: _terminal,
        ModeReport: _mode,
        MessagePatch: _only_checked(_check_message),
        MessagePiece: _only_checked(_check_piece),
        PlanReport: _only_checked(_check_plan),
        CommandsReport: _only_checked(_check_commands),
        OptionsReport: _only_checked(_check_options),
        ModesReport: _only_checked(_check_modes),
        UsageReport: _only_checked(_check_usage),
        NoticeReport: _only_checked(_check_notice),
        CompactionPatch: _only_checked(_check_compaction),
        CompactionPiece: _only_checked(_check_compaction_piece),
        StateReport: _only_checked(_check_state),
    }
