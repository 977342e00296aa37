"""Shows clients of v1 and the v2 draft what their version has no update for: display terminals, several plans, mode options.

Terminals that the agent shows become text inside the tool calls that hold them, several plans become one, and modes are
told beside the mode option. What can only be told whole, again and again, is held back until it has grown by a quarter:
so telling n pieces takes in the order of n, not n². The next patch of the tool call brings what is owed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.options import current_mode, is_mode_option
from accord.dialects.all_versions.paths_and_lines import noted
from accord.dialects.all_versions.updates import UpdateConverter
from accord.dialects.dialect import Dialect, UpdatesToWire
from accord.dialects.terminal_meta import AnnouncedTerminal
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.diffs import texts_of_patch
from accord.session.entities import (
    ContentItem,
    Diff,
    Exit,
    FileChange,
    Option,
    Plan,
    PlanEntry,
    Terminal,
    TerminalItem,
    ToolCall,
    ToolCallItem,
)
from accord.session.snapshots import SnapshotBytes
from accord.session.updates import (
    CompactionChanged,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
)
from accord.session.value import Unknown

__all__ = [
    "DisplayDialect",
    "DisplayState",
    "DisplayUpdates",
    "ItemWriter",
    "diff_from_wire",
    "supported_entries",
    "terminal_text",
    "track_plan",
]

TAIL = 32 * 1024
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]"
)


class DisplayState:
    """One session's part of it."""

    __slots__ = ("_calls", "_owing", "_told", "in_meta", "mode", "options", "plans", "terminals")

    def __init__(self) -> None:
        self.mode: str | None = None
        self.options: Sequence[Option] = ()
        self.plans: dict[str, Plan] = {}
        self.terminals: dict[str, Terminal] = {}
        self.in_meta: dict[str, AnnouncedTerminal] = {}
        """The terminals that the client was told of in `_meta`, and shows itself."""
        self._calls: dict[str, ToolCall] = {}
        self._owing: set[str] = set()
        self._told: dict[tuple[str, str], int] = {}

    def mode_option_lags(self) -> bool:
        """Put the mode that was told into the mode option, and say whether that changed it."""
        for place, option in enumerate(self.options):
            if is_mode_option(option):
                if self.mode is None or option.value == self.mode:
                    return False
                option = replace(option, value=self.mode)
                self.options = [*self.options[:place], option, *self.options[place + 1 :]]
                return True
        return False

    def hold(self, call: ToolCall) -> None:
        """Remember a tool call that shows a terminal."""
        if call.content and any(type(item) is TerminalItem for item in call.content):
            self._calls[call.id] = call
        else:
            self._calls.pop(call.id, None)

    def keep(self, terminal: Terminal) -> None:
        """Remember a terminal as it is now; of one that has ended, no more than is told of it."""
        if terminal.exit is not None and len(terminal.output) > TAIL + 1:
            terminal = replace(terminal, output=SnapshotBytes(terminal.output[-TAIL - 1 :]))
        self.terminals[terminal.id] = terminal

    def calls_with(self, terminal_id: str) -> list[ToolCall]:
        """The tool calls that show a terminal."""
        return [
            call
            for call in self._calls.values()
            if any(type(item) is TerminalItem and item.terminal_id == terminal_id for item in call.content)
        ]

    def output_told(self, terminal: Terminal, whole: bool) -> bool:
        """Whether to tell the output now; if not, the tool calls that show it are owed it."""
        size, sent = len(terminal.output), self._told.get(("terminal", terminal.id), 0)
        # Only the tail is told: past it, each time as much has come as would be told.
        if not whole and (size < sent * 5 // 4 or (size >= TAIL * 4 and size - sent < TAIL)):
            self._owing.update(call.id for call in self.calls_with(terminal.id))
            return False
        self._told["terminal", terminal.id] = size
        return True

    def piece_told(self, call: ToolCall) -> bool:
        """Whether to tell the content now, after one more item; if not, the call is owed it."""
        size, key = len(call.content), ("call", call.id)
        if size < self._told.get(key, 0) * 5 // 4:
            self._owing.add(call.id)
            return False
        self._told[key] = size
        self._owing.discard(call.id)
        return True

    def content_told(self, call: ToolCall, anyway: bool) -> bool:
        """Whether a patch of a call has to tell the content: it does so `anyway`, or the content is owed."""
        owed = call.id in self._owing
        self._owing.discard(call.id)
        if call.finished:
            self._told.pop(("call", call.id), None)
        elif anyway or owed:
            self._told["call", call.id] = len(call.content)
        return anyway or owed


def terminal_text(terminal: Terminal) -> str:
    """The end of the output as plain text, without escape sequences; how it exited is the last line."""
    cut = len(terminal.output) > TAIL
    output = terminal.output[-TAIL:]
    if cut:
        output = output.lstrip(bytes(range(0x80, 0xC0)))  # the rest of a character that was cut in two
    text = codecs.utf_8_decode(output, "replace", terminal.exit is not None)[0]
    text = _ESCAPES.sub("", "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")))
    if cut:
        text = "[earlier output left out]\n" + text
    if terminal.exit is not None:
        text = f"{text.rstrip()}\n[{_ending(terminal.exit)}]".lstrip("\n")
    return text


def _ending(end: Exit) -> str:
    if end.signal:
        return f"signal {end.signal}"
    return "ended" if end.code is None else f"exit code {end.code}"


class DisplayDialect(Dialect):
    """A dialect that has to remember what it showed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._shown: dict[str, DisplayState] = {}
        self.questions = 0
        """How many tool calls were made up for permission requests."""

    def shown(self, session_id: str) -> DisplayState:
        """What the client has been shown of a session."""
        shown = self._shown.get(session_id)
        if shown is None:
            shown = self._shown[session_id] = DisplayState()
        return shown

    def forget_session(self, session_id: str) -> None:
        self._shown.pop(session_id, None)


class DisplayUpdates:
    """Bound to the updates of one version, and to how it writes items and options."""

    def __init__(
        self,
        alike: UpdateConverter,
        items: ItemWriter,
        options_to_wire: Callable[[Dialect, Iterable[Option]], list[Any]],
        *,
        tool_call: type[Any],
        options: type[Any],
        mode: type[Any],
    ) -> None:
        self._alike = alike
        self._items = items
        self._options_to_wire = options_to_wire
        self._tool_call = tool_call
        self._options = options
        self._mode = mode
        self.to_wire: UpdatesToWire = {
            **alike.to_wire,
            TerminalChanged: self.terminal_changed,
            TerminalOutput: self.terminal_output,
            OptionsChanged: self.options_changed,
            ModeChanged: self.mode_changed,
            NoticeShown: self.notice_shown,
            CompactionChanged: self.compaction_changed,
            StateChanged: _state_changed,
        }

    def terminal_changed(self, dialect: DisplayDialect, session_id: str, change: TerminalChanged) -> list[Any]:
        return self._terminal_told(dialect, session_id, change.terminal, whole=True)

    def terminal_output(self, dialect: DisplayDialect, session_id: str, change: TerminalOutput) -> list[Any]:
        return self._terminal_told(dialect, session_id, change.terminal, whole=False)

    def _terminal_told(self, dialect: DisplayDialect, session_id: str, terminal: Terminal, whole: bool) -> list[Any]:
        shown = dialect.shown(session_id)
        if terminal.id not in shown.terminals:
            dialect.lose("display-terminal", terminal.id)
        shown.keep(terminal)
        if not shown.output_told(terminal, whole):
            return []
        return [
            self._tool_call(tool_call_id=call.id, content=self._items.to_wire(dialect, session_id, call.content))
            for call in shown.calls_with(terminal.id)
        ]

    def options_changed(self, dialect: DisplayDialect, session_id: str, change: OptionsChanged) -> list[Any]:
        """All options, and the mode if they changed it."""
        options = self._options_to_wire(dialect, change.options)
        updates = [self._options(config_options=options, meta=change.patch.meta)]
        shown = dialect.shown(session_id)
        shown.options = change.options
        mode = current_mode(change.options)
        if shown.mode is not None and mode is not None and mode != shown.mode:
            shown.mode = mode
            updates.append(self._mode(current_mode_id=mode))
        return updates

    def mode_changed(self, dialect: DisplayDialect, session_id: str, change: ModeChanged) -> list[Any]:
        """The mode, and all options if one of them has to follow it."""
        updates: list[Any] = []
        shown = dialect.shown(session_id)
        if change.mode_id != shown.mode:
            shown.mode = change.mode_id
            updates.append(self._mode(current_mode_id=change.mode_id, meta=change.patch.meta))
        if shown.mode_option_lags():
            updates.append(self._options(config_options=self._options_to_wire(dialect, shown.options)))
        return updates

    def notice_shown(self, dialect: Dialect, session_id: str, change: NoticeShown) -> list[Any]:
        if not dialect.client.notices:
            dialect.lose("notice", session_id)
            return []
        return self._alike.notice_shown(dialect, session_id, change)

    def compaction_changed(self, dialect: Dialect, session_id: str, change: CompactionChanged) -> list[Any]:
        if not dialect.client.compaction:
            dialect.lose("compaction", change.compaction.id)
            return []
        return self._alike.compaction_changed(dialect, session_id, change)


def _state_changed(dialect: Dialect, session_id: str, change: StateChanged) -> list[Any]:
    if change.state.state not in ("idle", "running"):
        dialect.lose("state", session_id)
    if change.state.background:
        dialect.lose("background", session_id)
    return []


def track_plan(dialect: DisplayDialect, session_id: str, plan: Plan) -> bool:
    """Remember a plan, and say whether to tell it: one that cannot be told still takes the place of one that was."""
    plans = dialect.shown(session_id).plans
    if plan.raw is None:
        plans[plan.id] = plan
        return True
    dialect.lose("plan-type", plan.id)
    return plans.pop(plan.id, None) is not None


def supported_entries(dialect: Dialect, plan: Plan) -> Iterator[PlanEntry]:
    """The entries, each with a status that v1 and the draft have; but for those that were cancelled."""
    for entry in plan.entries:
        if entry.status in ("pending", "in_progress", "completed"):
            yield entry
        elif entry.status == "cancelled":
            dialect.lose("plan-entry", plan.id)
        else:
            dialect.lose("plan-status", plan.id)
            yield replace(entry, status="in_progress")


class ItemWriter:
    """Bound to the schema of one version, its diffs and its content blocks."""

    def __init__(self, schema: Any, diff: type[Any], content: ContentConverter) -> None:
        self._content = schema.Content
        self._text_block = schema.TextContent
        self._terminal = schema.Terminal
        self._diff = diff
        self._block_to_wire = content.to_wire
        self._closed_by = content.closed_by

    def to_wire(self, dialect: DisplayDialect, session_id: str, items: Iterable[ToolCallItem]) -> list[Any]:
        """The items, in order; a diff becomes as many as it has files."""
        written: list[Any] = []
        for item in items:
            if type(item) is ContentItem:  # nearly always, and quicker than a match
                block = self._block_to_wire(dialect, item.content)
                written.append(self._content(content=block, meta=unset_if_none(item.meta)))
            elif isinstance(item, Diff):
                written.extend(self._files(dialect, item))
            elif isinstance(item, TerminalItem):
                written.append(self._terminal_item(dialect, session_id, item))
            elif isinstance(item, Unknown):
                written.append(self._unknown_item(dialect, item))
        return written

    def _unknown_item(self, dialect: Dialect, item: Unknown) -> Any:
        """As it came; where types are closed and it came from elsewhere, its type as text."""
        if self._closed_by in (None, item.version):
            return UnknownOnWire(item.tag, item.raw)
        dialect.lose("content-type", item.tag)
        return self._text_item(f"[{item.tag}]")

    def _terminal_item(self, dialect: DisplayDialect, session_id: str, item: TerminalItem) -> Any:
        shown = dialect.shown(session_id)
        is_told = item.terminal_id in shown.in_meta
        terminal = None if is_told else shown.terminals.get(item.terminal_id)
        if terminal is not None:
            return self._text_item(terminal_text(terminal))
        if is_told or dialect.client.terminals:
            return self._terminal(terminal_id=item.terminal_id, meta=unset_if_none(item.meta))
        dialect.lose("client-terminal", item.terminal_id)  # AMB-18
        return self._text_item(f"[terminal {item.terminal_id}]")

    def _text_item(self, text: str) -> Any:
        return self._content(content=self._text_block(text=text))

    def _files(self, dialect: Dialect, diff: Diff) -> Iterator[Any]:
        """For each file a diff that shows its text before and after, or a line that says what happened."""
        partial = {} if diff.patch is None else texts_of_patch(diff.patch)
        for change in diff.changes:
            old_text, new_text = change.old_text, change.new_text
            deleted = change.operation == "delete"
            simple = deleted or change.operation in ("add", "modify")
            if simple and (old_text if deleted else new_text) is None and change.path in partial:
                dialect.lose("diff-partial", change.path)
                old_text, new_text = partial[change.path]
            if not simple or (old_text if deleted else new_text) is None:
                dialect.lose("diff-operation", change.path)
                yield self._text_item(_described(change))
                continue
            if deleted:
                dialect.lose("diff-delete", change.path)
            if change.file_type not in (None, "text") or change.mime_type is not None:
                dialect.lose("diff-details", change.path)
            yield self._diff(
                path=change.path,
                old_text=None if change.operation == "add" else old_text,
                new_text=new_text or "",
                meta=unset_if_none(change.meta if change.meta is not None else diff.meta),
            )


def _described(change: FileChange) -> str:
    origin = f"{change.old_path} → " if change.old_path else ""
    return f"{change.operation}: {origin}{change.path}"


def diff_from_wire(dialect: Dialect, item: Any) -> Diff:
    """A changed file; without an old text it is a new one."""
    old_text = none_if_unset(item.old_text)
    change = FileChange(
        operation="add" if old_text is None else "modify",
        path=noted(dialect, item.path, "content"),
        old_text=old_text,
        new_text=item.new_text,
    )
    return Diff(changes=[change], meta=none_if_unset(item.meta))
