"""All files that were changed in a session, each with what was done to it."""

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

from accord.apps.console.file_changes import repeats, short_path, whole_path
from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.apps.console.screen.conversation import Story
from accord.apps.console.screen.drawing.diffs import FileDiff, diff_parts, figures, file_diffs
from accord.apps.console.screen.drawing.palette import Ink, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.widgets.lines import LinesView
from accord.session.entities import Diff, FileChange

__all__ = ["EditFile", "ReviewPage", "changed_files", "changed_paths"]


class EditFile(Message):
    """A file is to be opened in the user's editor."""

    def __init__(self, path: str, line: int | None) -> None:
        super().__init__()
        self.path = path
        self.line = line


def changed_files(story: Story) -> dict[str, list[FileDiff]]:
    """By path, what was done to each, in order; what is only asked for, failed or was cancelled changed nothing."""
    files: dict[str, list[FileDiff]] = {}
    for diff in file_diffs(_changes(story)):
        files.setdefault(whole_path(diff.path, story.cwd), []).append(diff)
    return files


def changed_paths(story: Story) -> set[str]:
    """Only which they are: nothing is compared for it."""
    shown = [change.path for block in _completed(story) for diff in block.shown for change in diff.changes]
    return {whole_path(path, story.cwd) for path in (*shown, *(each.path for each in story.written.changes))}


def _completed(story: Story) -> list[ToolCallBlock]:
    return [block for block in story.calls if block.call.status == "completed"]


def _changes(story: Story) -> Iterator[Diff]:
    """What the calls have shown; what was written through us in its place, which is exact, and what no call has shown."""
    left = list(story.written.changes)
    for block in _completed(story):
        written: list[FileChange] = []
        for diff in block.shown:
            found = next((each for each in (*written, *left) if _is_told_by(diff, each, story.cwd)), None)
            if found is None:
                yield diff
            elif not any(found is each for each in written):
                left.remove(found)
                written.append(found)
                yield Diff(changes=[found])
    yield from (Diff(changes=[each]) for each in left)


def _is_told_by(diff: Diff, written: FileChange, cwd: str) -> bool:
    return len(diff.changes) == 1 and repeats(diff.changes[0], written, cwd)


class ReviewPage(ModalScreen[None]):
    """Files at the left, the changes of the chosen one at the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,f4,q", "dismiss", "Close"),
        ("e", "edit", "Open in $EDITOR"),
        Binding("pageup", "scroll(-1)", "Up", priority=True),  # before the list of files, which knows them too
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
        title = f" {count} changed file{'' if count == 1 else 's'}" if count else " No file was changed yet"
        with Vertical(classes="page wide"):
            yield Static(Text(title, "bold"), classes="title", markup=False)
            with Horizontal(classes="columns"):
                yield OptionList(*[Option(self._line(path)) for path in self._files], markup=False, compact=True)
                yield LinesView(self._parts_of_chosen, self._palette, can_focus=True)
            yield Static(
                Text("↑↓ file · PgUp PgDn scroll · e open in $EDITOR · esc close"), classes="hint", markup=False
            )

    @property
    def _chosen(self) -> str | None:
        place = self.query_one(OptionList).highlighted
        return None if place is None else list(self._files)[place]

    def _line(self, path: str) -> Text:
        diffs = self._files[path]
        added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
        name = Text(f"{exact_line(short_path(path, self._cwd))}  ", no_wrap=True, overflow="ellipsis")
        return name.append(figures(added, removed, self._palette).plain)  # without colours: it may be the chosen line

    @on(OptionList.OptionHighlighted)
    def show_file(self) -> None:
        self.query_one(LinesView).show(self._parts_of_chosen)

    def _parts_of_chosen(self, ink: Ink) -> Iterator[Part]:
        for place, diff in enumerate(self._files.get(self._chosen or "", [])):
            if place:
                yield Part(_rule)
            yield from diff_parts(diff, ink.width)

    def action_scroll(self, step: int) -> None:
        view = self.query_one(LinesView)
        view.scroll_to(y=view.scroll_offset.y + step * max(1, view.size.height - 2), animate=False)

    def action_edit(self) -> None:
        path = self._chosen
        if path is not None:
            lines = [line.number for diff in self._files[path] for hunk in diff.hunks for line in hunk.lines]
            self.post_message(EditFile(path, lines[0] if lines else None))


def _rule(ink: Ink) -> list[Strip]:
    return [ink.strip(Text("─" * ink.width, ink.palette.faint))]
