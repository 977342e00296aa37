"""Fallbacks for clients of v1 and the v2 draft, which have no updates for display terminals, several plans and mode options.

Display terminals become text inside the tool calls that contain them, several plans become one, and modes are sent
beside the mode option. Content that can only be sent whole is sent again only after it has grown by a quarter: so n
pieces cost in the order of n, not n². The next patch of the tool call sends the rest.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.options import current_mode, is_mode_option
from accord.dialects.all_versions.paths_and_lines import display_path
from accord.dialects.all_versions.updates import UpdateConverter
from accord.dialects.dialect import Dialect, UpdatesToWire
from accord.dialects.display_state import TAIL, DisplayDialect, DisplayState
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema.all_versions import Terminal as WireTerminal
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import (
    ContentItem,
    Diff,
    Exit,
    FileChange,
    Option,
    Terminal,
    TerminalItem,
    ToolCallItem,
)
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

CUT_NOTE = "[earlier output left out]\n"
_ESCAPES = (  # compiled when first used
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]"
)
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))


def output_tail(terminal: Terminal) -> tuple[bytes, bool]:
    """The end of the output, beginning with a whole character, and whether it is not all."""
    if len(terminal.output) <= TAIL:
        return bytes(terminal.output), False
    return terminal.output[-TAIL:].lstrip(_CONTINUATION_BYTES), True


def terminal_text(terminal: Terminal) -> str:
    """The end of the output as plain text, without escape sequences; the exit status is the last line."""
    output, is_cut = output_tail(terminal)
    text = codecs.utf_8_decode(output, "replace", terminal.exit is not None)[0]
    text = re.sub(_ESCAPES, "", "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")))
    if is_cut:
        text = CUT_NOTE + text
    if terminal.exit is not None:
        text = f"{text.rstrip()}\n[{_exit_text(terminal.exit)}]".lstrip("\n")
    return text


def _exit_text(status: Exit) -> str:
    if status.signal:
        return f"signal {status.signal}"
    return "ended" if status.code is None else f"exit code {status.code}"


class DisplayUpdates:
    """Converts updates with fallbacks; for the updates, items and options of one version."""

    def __init__(
        self,
        updates: UpdateConverter,
        items: ItemWriter,
        options_to_wire: Callable[[Dialect, Iterable[Option]], list[Any]],
        *,
        tool_call: type[Any],
        options: type[Any],
        mode: type[Any],
    ) -> None:
        self._updates = updates
        self._items = items
        self._options_to_wire = options_to_wire
        self._tool_call = tool_call
        self._options = options
        self._mode = mode
        self.to_wire: UpdatesToWire = {
            **updates.to_wire,
            TerminalChanged: self.terminal_changed,
            TerminalOutput: self.terminal_output,
            OptionsChanged: self._options_changed,
            ModeChanged: self._mode_changed,
            NoticeShown: self._notice_shown,
            CompactionChanged: self._compaction_changed,
            StateChanged: _state_changed,
        }

    def terminal_changed(self, dialect: DisplayDialect, session_id: str, update: TerminalChanged) -> list[Any]:
        return self._terminal(dialect, session_id, update.terminal, whole=True)

    def terminal_output(self, dialect: DisplayDialect, session_id: str, update: TerminalOutput) -> list[Any]:
        return self._terminal(dialect, session_id, update.terminal, whole=False)

    def _terminal(self, dialect: DisplayDialect, session_id: str, terminal: Terminal, whole: bool) -> list[Any]:
        display = dialect.displays[session_id]
        if terminal.id not in display.terminals:
            dialect.record_loss("display-terminal", terminal.id)
        display.track_terminal(terminal)
        if not display.send_output_now(terminal, whole):
            return []
        return [
            self._tool_call(tool_call_id=call.id, content=self._items.to_wire(dialect, session_id, call.content))
            for call in display.calls_with(terminal.id)
        ]

    def _options_changed(self, dialect: DisplayDialect, session_id: str, update: OptionsChanged) -> list[Any]:
        """All options, and the mode if they changed it."""
        options = self._options_to_wire(dialect, update.options)
        wire_updates = [self._options(config_options=options, meta=update.patch.meta)]
        display = dialect.displays[session_id]
        display.options = update.options
        mode = current_mode(update.options)
        if display.mode is not None and mode is not None and mode != display.mode:
            display.mode = mode
            wire_updates.append(self._mode(current_mode_id=mode))
        return wire_updates

    def _mode_changed(self, dialect: DisplayDialect, session_id: str, update: ModeChanged) -> list[Any]:
        """The mode, and all options if the mode option has to follow it."""
        wire_updates: list[Any] = []
        display = dialect.displays[session_id]
        if update.mode_id != display.mode:
            display.mode = update.mode_id
            wire_updates.append(self._mode(current_mode_id=update.mode_id, meta=update.patch.meta))
        if _update_mode_option(display):
            wire_updates.append(self._options(config_options=self._options_to_wire(dialect, display.options)))
        return wire_updates

    def _notice_shown(self, dialect: Dialect, session_id: str, update: NoticeShown) -> list[Any]:
        if not dialect.client.notices:
            dialect.record_loss("notice", session_id)
            return []
        return self._updates.notice_to_wire(dialect, session_id, update)

    def _compaction_changed(self, dialect: Dialect, session_id: str, update: CompactionChanged) -> list[Any]:
        if not dialect.client.compaction:
            dialect.record_loss("compaction", update.compaction.id)
            return []
        return self._updates.compaction_to_wire(dialect, session_id, update)


def _update_mode_option(state: DisplayState) -> bool:
    """Give the mode option the current mode; whether that changed it."""
    for index, option in enumerate(state.options):
        if is_mode_option(option):
            if state.mode is None or option.value == state.mode:
                return False
            option = replace(option, value=state.mode)
            state.options = [*state.options[:index], option, *state.options[index + 1 :]]
            return True
    return False


def _state_changed(dialect: Dialect, session_id: str, update: StateChanged) -> list[Any]:
    if update.state.state not in ("idle", "running"):
        dialect.record_loss("state", session_id)
    if update.state.background:
        dialect.record_loss("background", session_id)
    return []


class ItemWriter:
    """Writes the content of tool calls; for the schema of one version, its diffs and its content blocks."""

    def __init__(self, schema: Any, diff: type[Any], blocks: ContentConverter) -> None:
        self._content = schema.Content
        self._text_block = schema.TextContent
        self._diff = diff
        self._blocks = blocks

    def to_wire(self, dialect: DisplayDialect, session_id: str, items: Iterable[ToolCallItem]) -> list[Any]:
        """The items, in order; a diff becomes as many as it has files."""
        wire_items: list[Any] = []
        for item in items:
            if type(item) is ContentItem:  # nearly always, and quicker than a match
                block = self._blocks.to_wire(dialect, item.content)
                wire_items.append(self._content(content=block, meta=unset_if_none(item.meta)))
            elif isinstance(item, Diff):
                wire_items.extend(self._files(dialect, item))
            elif isinstance(item, TerminalItem):
                wire_items.append(self._terminal_item(dialect, session_id, item))
            elif isinstance(item, Unknown):
                block = self._blocks.unknown_to_wire(dialect, item)
                wire_items.append(block if isinstance(block, UnknownOnWire) else self._content(content=block))
        return wire_items

    def _terminal_item(self, dialect: DisplayDialect, session_id: str, item: TerminalItem) -> Any:
        display = dialect.displays[session_id]
        is_announced = item.terminal_id in display.announced
        terminal = None if is_announced else display.terminals.get(item.terminal_id)
        if terminal is not None:
            return self._text_item(terminal_text(terminal))
        if is_announced or dialect.client.terminals:
            return WireTerminal(terminal_id=item.terminal_id, meta=unset_if_none(item.meta))
        dialect.record_loss("client-terminal", item.terminal_id)  # AMB-18
        return self._text_item(f"[terminal {item.terminal_id}]")

    def _text_item(self, text: str) -> Any:
        return self._content(content=self._text_block(text=text))

    def _files(self, dialect: Dialect, diff: Diff) -> Iterator[Any]:
        """For each file a diff with the text before and after, or a line that describes the change."""
        partial: dict[str, tuple[str | None, str | None]] = {}
        if diff.patch is not None:
            from accord.session.diffs import texts_of_patch  # noqa: PLC0415  # not loaded when an agent starts

            partial = texts_of_patch(diff.patch)
        for change in diff.changes:
            old_text, new_text = change.old_text, change.new_text
            deleted = change.operation == "delete"
            simple = deleted or change.operation in ("add", "modify")
            if simple and (old_text if deleted else new_text) is None and change.path in partial:
                dialect.record_loss("diff-partial", change.path)
                old_text, new_text = partial[change.path]
            if not simple or (old_text if deleted else new_text) is None:
                dialect.record_loss("diff-operation", change.path)
                origin = f"{change.old_path} → " if change.old_path else ""
                yield self._text_item(f"{change.operation}: {origin}{change.path}")
                continue
            if deleted:
                dialect.record_loss("diff-delete", change.path)
            if change.file_type not in (None, "text") or change.mime_type is not None:
                dialect.record_loss("diff-details", change.path)
            yield self._diff(
                path=change.path,
                old_text=None if change.operation == "add" else old_text,
                new_text=new_text or "",
                meta=unset_if_none(change.meta if change.meta is not None else diff.meta),
            )


def diff_from_wire(dialect: Dialect, item: Any) -> Diff:
    """A changed file; without an old text it is a new one."""
    old_text = none_if_unset(item.old_text)
    change = FileChange(
        operation="add" if old_text is None else "modify",
        path=display_path(dialect, item.path, "content"),
        old_text=old_text,
        new_text=item.new_text,
    )
    return Diff(changes=[change], meta=none_if_unset(item.meta))
