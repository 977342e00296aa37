"""The review page (F4): all files changed in a session, with their diffs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from accord.apps.console.file_changes import absolute_path, is_same_change, short_path
from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.apps.console.screen.conversation import Conversation
from accord.apps.console.screen.drawing.diffs import change_counts, diff_parts
from accord.apps.console.screen.drawing.hunks import FileDiff, file_diffs
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.session.entities import Diff, FileChange


class EditFile(Message):
    """The user wants to open a file in the editor."""

    def __init__(self, path: str, line: int | None) -> None:
        super().__init__()
        self.path = path
        self.line = line


def changed_files(conversation: Conversation) -> dict[str, list[FileDiff]]:
    """The diffs of each changed file, by path. Calls that are pending, failed or cancelled changed nothing."""
    files: dict[str, list[FileDiff]] = {}
    for diff in file_diffs(_changes(conversation)):
        files.setdefault(absolute_path(diff.path, conversation.cwd), []).append(diff)
    return files


def changed_paths(conversation: Conversation) -> set[str]:
    """The paths of the changed files. Cheap: no texts are compared."""
    paths = [change.path for block in _completed(conversation) for diff in block.all_diffs for change in diff.changes]
    return {
        absolute_path(path, conversation.cwd)
        for path in (*paths, *(each.path for each in conversation.written.changes))
    }


def _completed(conversation: Conversation) -> list[ToolCallBlock]:
    return [block for block in conversation.calls if block.call.status == "completed"]


def _changes(conversation: Conversation) -> Iterator[Diff]:
    """The diffs of the calls, replaced by exact ones for files written through the client, and writes without a diff."""
    unmatched = list(conversation.written.changes)
    for block in _completed(conversation):
        matched: list[FileChange] = []
        for diff in block.all_diffs:
            write = next(
                (each for each in (*matched, *unmatched) if _is_same_change(diff, each, conversation.cwd)), None
            )
            if write is None:
                yield diff
            elif not any(write is each for each in matched):
                unmatched.remove(write)
                matched.append(write)
                yield Diff(changes=[write])
    yield from (Diff(changes=[each]) for each in unmatched)


def _is_same_change(diff: Diff, written: FileChange, cwd: str) -> bool:
    return len(diff.changes) == 1 and is_same_change(diff.changes[0], written, cwd)


class ReviewPage(ModalScreen[None]):
    """Files at the left, the diffs of the selected one at the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,f4,q", "dismiss", "Close"),
        ("e", "edit", "Open in $EDITOR"),
        Binding("pageup", "scroll(-1)", "Up", priority=True),  # before the list of files, which has the same keys
        Binding("pagedown", "scroll(1)", "Down", priority=True),
    ]
    AUTO_FOCUS = "OptionList"

    def __init__(self, files: dict[str, list[FileDiff]], cwd: str, palette: Palette) -> None:
        super().__init__()
        self._files = files
        self._cwd = cwd
        self._palette = palette

    def compose(self) -> ComposeResult:
        count = len(self._files)
        title = f"{count} changed file{'' if count == 1 else 's'}" if count else "No files changed yet"
        hint = "Esc close"
        with Vertical(classes="page wide" if count else "page"):
            yield Static(Text(title, "bold"), classes="title", markup=False)
            if count:
                hint = "↑↓ file · PgUp PgDn scroll · e open in $EDITOR · Esc close"
                with Horizontal(classes="columns"):
                    yield OptionList(*[Option(self._line(path)) for path in self._files], markup=False, compact=True)
                    yield LinesView(self._diff_parts, self._palette, can_focus=True)
            yield Static(Text(hint), classes="hint", markup=False)

    @property
    def _selected(self) -> str | None:
        index = self.query_one(OptionList).highlighted if self._files else None
        return None if index is None else list(self._files)[index]

    def _line(self, path: str) -> Text:
        diffs = self._files[path]
        added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
        name = Text(f"{exact_line(short_path(path, self._cwd))}  ", no_wrap=True, overflow="ellipsis")
        return name.append(
            change_counts(added, removed, self._palette).plain
        )  # without colours, because it may be selected

    @on(OptionList.OptionHighlighted)
    def show_file(self) -> None:
        self.query_one(LinesView).show(self._diff_parts)

    def _diff_parts(self, canvas: Canvas) -> Iterator[Part]:
        for index, diff in enumerate(self._files.get(self._selected or "", [])):
            if index:
                yield Part(_rule)
            yield from diff_parts(diff, canvas)

    def action_scroll(self, step: int) -> None:
        for view in self.query(LinesView):
            view.scroll_to(y=view.scroll_offset.y + step * max(1, view.size.height - 2), animate=False)

    def action_edit(self) -> None:
        path = self._selected
        if path is not None:
            lines = [line.number for diff in self._files[path] for hunk in diff.hunks for line in hunk.lines]
            self.post_message(EditFile(path, lines[0] if lines else None))


def _rule(canvas: Canvas) -> list[Strip]:
    return [canvas.strip(Text("─" * canvas.width, canvas.palette.faint))]
