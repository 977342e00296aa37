"""The undo page: the turns to go back to, with a preview of what would change in the files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import ClassVar

import msgspec
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.drawing.diffs import diff_parts, file_heading
from accord.apps.console.screen.drawing.hunks import FileDiff, file_diffs
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.session_files import MEMORY, Comparison, named_lines, summary
from accord.errors import CheckpointFailed
from accord.local.checkpoint_log import CheckpointedTurn
from accord.local.checkpoints import Change, Checkpoints
from accord.session.entities import Diff, FileChange

_LONGEST_PROMPT = 200
_MOST_DIFFS = 100
_LONGEST_DIFF = 256 * 1024
_LONGEST_DIFFS = 2 * 1024 * 1024
_SPECIAL_MODES = {0o120000: "link", 0o100755: "executable"}


class Preview(msgspec.Struct):
    """What going back to a turn would change, with the diffs that are short enough to be shown."""

    comparison: Comparison
    diffs: list[FileDiff]


def read_diffs(checkpoints: Checkpoints, changes: Sequence[Change]) -> list[FileDiff]:
    """The diffs from what is there now to what was there. Blocks."""
    diffs: list[FileDiff] = []
    length = 0
    for change in changes[:_MOST_DIFFS]:
        files = [file for file in (change.new, change.old) if file is not None]
        contents = checkpoints.read(files) if length <= _LONGEST_DIFFS else []
        length += sum(map(len, contents))
        is_text = all(len(each) <= _LONGEST_DIFF and b"\0" not in each for each in contents)
        diffs.append(_diff(change, [each.decode(errors="replace") for each in contents] if is_text else []))
    return diffs


def _diff(change: Change, texts: Sequence[str]) -> FileDiff:
    """`texts`: that of now, then that of the checkpoint, as far as there are such files; none if it can't be shown."""
    now = texts[0] if change.new is not None and texts else None
    then = texts[-1] if change.old is not None and texts else None
    (diff,) = file_diffs(
        [Diff(changes=[FileChange(operation="modify", path=change.path, old_text=now, new_text=then)])]
    )
    modes = [_SPECIAL_MODES.get(each.mode, "plain file") for each in (change.new, change.old) if each is not None]
    diff.kind = " → ".join(dict.fromkeys(modes)) if set(modes) != {"plain file"} else ""
    diff.operation = "removed" if change.old is None else "brought back" if change.new is None else "changed back"
    return diff


class UndoPage(ModalScreen[str | None]):
    """Turns at the left, the latest first, and what the selected one would change at the right.

    Returns the index of the chosen turn, or None.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss(None)", "Close"),
        Binding("pageup", "scroll(-1)", "Up", priority=True),  # before the list, which has the same keys
        Binding("pagedown", "scroll(1)", "Down", priority=True),
    ]
    AUTO_FOCUS = "OptionList"

    def __init__(
        self,
        turns: Sequence[CheckpointedTurn],
        load: Callable[[CheckpointedTurn], Awaitable[Preview]],
        cwd: str,
        palette: Palette,
    ) -> None:
        super().__init__()
        self._turns = turns
        self._load = load
        self._cwd = cwd
        self._palette = palette

    def compose(self) -> ComposeResult:
        with Vertical(classes="page wide"):
            yield Static(Text("Go back to the files before a turn", "bold"), classes="title", markup=False)
            with Horizontal(classes="columns"):
                yield OptionList(*[Option(_line(turn)) for turn in self._turns], markup=False, compact=True)
                yield LinesView(lambda _: [], self._palette, can_focus=True)
            hint = f"↑↓ turn · PgUp PgDn scroll · Enter go back · Esc close\n{MEMORY}"
            yield Static(Text(hint), classes="hint", markup=False)

    @on(OptionList.OptionHighlighted)
    def show_turn(self, event: OptionList.OptionHighlighted) -> None:
        self._show_text("comparing…")
        self.run_worker(self._show(self._turns[event.option_index]), exclusive=True)

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(str(event.option_index))

    async def _show(self, turn: CheckpointedTurn) -> None:
        try:
            preview = await self._load(turn)
        except CheckpointFailed as error:
            self._show_text(str(error))
        else:
            self.query_one(LinesView).show(partial(preview_parts, turn.text, preview, self._cwd))

    def _show_text(self, text: str) -> None:
        self.query_one(LinesView).show(lambda _: [Part(partial(_wrapped, Text(text)))])

    def action_scroll(self, step: int) -> None:
        view = self.query_one(LinesView)
        view.scroll_to(y=view.scroll_offset.y + step * max(1, view.size.height - 2), animate=False)


def _line(turn: CheckpointedTurn) -> Text:
    then = datetime.fromtimestamp(turn.time).astimezone()
    is_today = then.date() == datetime.now().astimezone().date()
    when = then.strftime("%H:%M" if is_today else "%d %b %H:%M")
    return Text(f"{when}  {one_line(turn.text)}", no_wrap=True, overflow="ellipsis")


def preview_parts(prompt: str, preview: Preview, cwd: str, canvas: Canvas) -> Iterator[Part]:
    """The prompt of the turn, a summary, what needs attention, and all diffs."""
    palette = canvas.palette
    yield Part(partial(_wrapped, Text(f"Before “{one_line(prompt, _LONGEST_PROMPT)}”", palette.text)))
    conflicts = {each.path: each.warning or "edited since" for each in preview.comparison.conflicts}
    texts = [Text(summary(preview.comparison.changes), palette.heading)]
    for title, names, style in (
        ("You are asked before these are overwritten:", conflicts, palette.warning),
        ("Not saved then, and left as they are:", preview.comparison.omitted, palette.muted),
    ):
        texts += [Text(line, style) for line in named_lines(title, names, cwd)]
    for text in texts:
        yield Part(partial(_wrapped, text))
    for diff in preview.diffs:
        yield Part(_rule)
        yield Part(partial(_heading, diff, cwd))
        yield from diff_parts(diff, canvas)
    if len(preview.comparison.changes) > len(preview.diffs):
        rest = f"… and {len(preview.comparison.changes) - len(preview.diffs)} more files"
        yield Part(partial(_wrapped, Text(rest, palette.muted)))


def _wrapped(text: Text, canvas: Canvas) -> list[Strip]:
    return [canvas.strip(line) for line in canvas.exact_lines(text)]


def _heading(diff: FileDiff, cwd: str, canvas: Canvas) -> list[Strip]:
    return canvas.fold(file_heading(diff, cwd, canvas.palette))


def _rule(canvas: Canvas) -> list[Strip]:
    return [canvas.strip(Text("─" * canvas.width, canvas.palette.faint))]
