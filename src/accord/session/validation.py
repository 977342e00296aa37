"""Checks of what an author tells or asks, made before anything is told: a mistake is a ValueError at the call.

Each word is held against its rules, here and in `checks`, and against its types in `form`.

Law: nothing that came from a peer or out of a store is checked here, and nobody's objects are changed: where a path has
to be completed, a copy is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from accord.session.checks import CHECKS, check_answers, check_elicitation, check_line, check_raw
from accord.session.content import is_plain
from accord.session.entities import (
    ContentItem,
    Diff,
    FileChange,
    Location,
    TerminalItem,
    ToolCall,
    ToolCallItem,
)
from accord.session.form import check_block, check_form, check_number, check_type, checked
from accord.session.requests import (
    AcpRequest,
    CommandSubject,
    CreateTerminal,
    ElicitationRequest,
    PermissionRequest,
    ReadFile,
    ToolCallSubject,
    WriteFile,
)
from accord.session.updates import ModePatch, Patch, TerminalPatch, ToolCallAppend, ToolCallPatch
from accord.session.value import UNSET
from accord.session.vocabulary import ENDINGS, FILE_OPERATIONS, TOOL_KINDS, TOOL_STATUSES

__all__ = ["Validator", "is_absolute", "is_relative"]

T = TypeVar("T", bound=Struct)

# POSIX, a drive letter, or UNC: the other side's system need not be ours (AMB-46).
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
_REPORTS = get_args(Patch)
_UINT32, _INT64, _UINT64 = 2**32 - 1, 2**63 - 1, 2**64 - 1


def is_absolute(path: str) -> bool:
    """Whether a path is absolute on some system."""
    return _ABSOLUTE.match(path) is not None


def is_relative(command: str) -> bool:
    """Whether a command is a path that is not absolute. A bare name is not a path: whoever starts it looks it up (AMB-46)."""
    return not is_absolute(command) and ("/" in command or "\\" in command)


def _only_checked(check: Callable[[Any], None]) -> Callable[[Any, Any], Any]:
    def checked(validator: Any, report: Any) -> Any:
        check(report)
        return report

    return checked


class Validator:
    """Bound to one session: to what completes a path in it, and to which terminals, modes and tool calls it has."""

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

    def report(self, report: Patch) -> Patch:
        """What may be told: the report, or a copy with complete paths."""
        check_type(report, _REPORTS, "a report of accord.session.updates")
        check = self._rules.get(type(report))
        if check is None:
            check_form(report)
            return report
        return checked(report, partial(check, self))

    def request(self, asked: AcpRequest) -> AcpRequest:
        """What may be asked: the request, or a copy with complete paths."""
        check_type(asked, AcpRequest, "a request of accord.session.requests")
        return checked(asked, self._request, "asked")

    def _request(self, asked: AcpRequest) -> AcpRequest:
        match asked:
            case PermissionRequest():
                return self._permission(asked)
            case ReadFile():
                if asked.line is not None:
                    check_line(asked.line)
                if asked.limit is not None:
                    check_number("limit", asked.limit, 0, _UINT32)
                return self._placed(asked, "path")
            case WriteFile():
                return self._placed(asked, "path")
            case CreateTerminal():
                if asked.output_byte_limit is not None:
                    check_number("output limit", asked.output_byte_limit, 0, _UINT64)
                return self._placed(asked, "cwd")
            case ElicitationRequest() if asked.raw is None:
                check_elicitation(asked)
                return asked
            case _:
                return asked

    def _permission(self, asked: PermissionRequest) -> PermissionRequest:
        check_answers(asked.options)
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
        if patch.status is not UNSET:
            self._check_status(patch.id, patch.status)
        check_raw("input", patch.raw_input)
        check_raw("output", patch.raw_output)
        changed: dict[str, Any] = {}
        if patch.locations:
            changed["locations"] = [self._location(place) for place in patch.locations]
        if patch.content:
            changed["content"] = [self._item(item) for item in patch.content]
        return replace(patch, **changed) if changed else patch

    def _check_status(self, call_id: str, status: str | None) -> None:
        if status is not None:
            TOOL_STATUSES.check(status)
        call = self._calls().get(call_id)
        if call is not None and call.status in ENDINGS and status != call.status:  # TOOL-30, AMB-55
            raise ValueError(f"the tool call {call_id!r} has ended as {call.status}: its status can't change any more")

    def _tool_call_piece(self, piece: ToolCallAppend) -> ToolCallAppend:
        item = self._item(piece.item)
        return piece if item is piece.item else replace(piece, item=item)

    def _location(self, place: Location) -> Location:
        if place.line is not None:
            check_line(place.line)
        return self._placed(place, "path")

    def _item(self, item: ToolCallItem) -> ToolCallItem:
        if isinstance(item, ContentItem):
            if not is_plain(item.content):
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
        if patch.exit and patch.exit.code is not None:
            check_number("exit code", patch.exit.code, -_INT64 - 1, _INT64)
        return self._placed(patch, "cwd") if patch.cwd else patch

    def _mode(self, report: ModePatch) -> ModePatch:
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
        ToolCallAppend: _tool_call_piece,
        TerminalPatch: _terminal,
        ModePatch: _mode,
        **{kind: _only_checked(check) for kind, check in CHECKS.items()},
    }
