"""The prompt editor. Law: every typed character enters the text, whatever else happens at that moment.

Law: a label stands for a long text that was pasted, on the screen only. The text of the prompt is always whole.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import ClassVar, Protocol

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.message import Message
from textual.widgets import TextArea

from accord.apps.console.sanitizer import exact_in_place
from accord.apps.console.screen.blocks.messages import LONG_CHARACTERS, LONG_LINES
from accord.apps.console.screen.mentions import mention, pasted_file
from accord.apps.console.screen.widgets.vim_keys import VimKeys

PLACEHOLDER = re.compile(r"\[picture [0-9]+, [0-9]+ kB\]")
"""Stands for a pasted picture. Backspace deletes it as a whole."""
_LABEL = re.compile(r"\[pasted [0-9,]+ (?:lines|characters)(?:, [0-9]+)?\]")
_MOST_PASTED, _MOST_BYTES = 100, 32 * 1024 * 1024


class PastedTexts:
    """The long texts that were pasted into this screen, by their labels."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, text: str) -> str:
        """The label to insert for a pasted text; a short text itself."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= LONG_LINES and len(text) <= LONG_CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > LONG_LINES else f"{len(text):,} characters"
        label, number = f"[pasted {size}]", 1
        while self._texts.get(label, text) != text:
            number += 1
            label = f"[pasted {size}, {number}]"
        self._texts[label] = text
        return label

    def expand(self, shown: str) -> str:
        """The whole text of what is shown."""
        return _LABEL.sub(lambda found: self._texts.get(found[0], found[0]), shown) if "[pasted " in shown else shown

    def fold(self, text: str) -> str:
        """The text with labels for the pasted texts in it, the longest first: one may contain another."""
        if len(text) > LONG_LINES:
            for label in sorted(self._texts, key=lambda each: -len(self._texts[each])):
                text = text.replace(self._texts[label], label)
        return text

    def drop_unused(self, shown: str) -> None:
        """Forget the oldest of too many texts, but none of those that are shown."""
        for label in list(self._texts):
            if len(self._texts) <= _MOST_PASTED and sum(map(len, self._texts.values())) <= _MOST_BYTES:
                break
            if label not in shown:
                del self._texts[label]


class PromptHandler(Protocol):
    """Handles the keys of the editor. It is called directly, so that it has finished before the next key."""

    def submit(self, text: str) -> None:
        """Enter was pressed."""
        ...

    def complete(self, key: str) -> bool:
        """Handle a key for the list of completions; returns whether the list is open."""
        ...

    def paste(self) -> None:
        """Paste the content of the clipboard."""
        ...

    def show_keys(self) -> None:
        """Show all keys."""
        ...

    def leave_text(self, step: int) -> None:
        """The cursor would leave the text: `step` is -1 at the top and 1 at the bottom."""
        ...


class PromptEditor(TextArea):
    """Enter sends; Alt+Enter, Shift+Enter, Ctrl+J, or Enter after a backslash starts a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("alt+enter,shift+enter,ctrl+j", "newline", "New line", show=False, id="newline"),
        Binding("ctrl+underscore", "undo", "Undo", show=False),
        Binding("ctrl+d", "delete_or_quit", "Quit if the prompt is empty", show=False),
    ]

    class Quit(Message):
        """Ctrl+D was pressed in an empty editor."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, tab_behavior="focus", compact=True)
        self.cursor_blink = False  # nothing is drawn while nothing happens
        self.placeholder = "Ask for a change, or / for commands"
        self.pasted_texts = PastedTexts()
        self.handler: PromptHandler | None = None
        self.send_keys: Sequence[str] = ("enter",)
        self.vim: VimKeys | None = None
        self.typed_at = 0.0

    def get_line(self, line_index: int) -> Text:
        """The line without control characters, which a file name may contain."""
        text = self.document.get_line(line_index)
        line = Text(exact_in_place(text, tab="\t"), end="", no_wrap=True)
        for start, end in _units(text):
            line.stylize(Style(italic=True, bold=True), start, end)
        return line

    @property
    def text(self) -> str:
        """The whole text, with pasted texts in place of their labels."""
        return self.pasted_texts.expand(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        shown = self.pasted_texts.fold(value)
        self.pasted_texts.drop_unused(shown)
        self.load_text(shown)

    @property
    def selected_text(self) -> str:
        return self.pasted_texts.expand(super().selected_text)

    def insert_pasted(self, text: str) -> None:
        """Insert a text at the cursor, in place of the selection; a long one as a label."""
        label = self.pasted_texts.add(text.replace("\r\n", "\n").replace("\r", "\n"))
        if result := self._replace_via_keyboard(label, *self.selection):
            self.move_cursor(result.end_location)

    def validate_selection(self, selection: Selection) -> Selection:
        """The cursor passes over a label or a picture as over one character."""
        before = self.selection
        return Selection(self._outside(selection.start, before.start), self._outside(selection.end, before.end))

    def _outside(self, location: Location, before: Location) -> Location:
        """Move a location that is in a label or a picture to the end that is farther from where it was before."""
        if (unit := self._unit_at(location)) is None:
            return location
        row, column = location
        start, end = unit
        if before[0] == row and not start < before[1] < end:
            return (row, end if before[1] <= start else start)
        return (row, end if 2 * column > start + end else start)

    def _unit_at(self, location: Location) -> tuple[int, int] | None:
        """The columns of the label or picture that a location is in, not at an end of it."""
        row, column = location
        if not 0 <= row < self.document.line_count:
            return None
        units = _units(self.document.get_line(row))
        return next(((start, end) for start, end in units if start < column < end), None)

    def edit(self, edit: Edit) -> EditResult:
        """Change a label or a picture only as a whole, also if a part of it was meant."""
        top, bottom = sorted((edit.from_location, edit.to_location))
        if top != bottom:
            above, below = self._unit_at(top), self._unit_at(bottom)
            top = top if above is None else (top[0], above[0])
            bottom = bottom if below is None else (bottom[0], below[1])
            edit = Edit(edit.text, top, bottom, edit.maintain_selection_offset)
        return super().edit(edit)

    @property
    def before_cursor(self) -> str:
        """The text of the line up to the cursor."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    @property
    def is_on_first_line(self) -> bool:
        return self.cursor_location[0] == 0

    def replace_before_cursor(self, count: int, text: str) -> None:
        """Replace `count` characters before the cursor."""
        row, column = self.cursor_location
        self.replace(text, (row, column - count), (row, column))

    def set_text(self, text: str) -> None:
        """Replace the text, with the cursor at the end."""
        self.text = text
        self.move_cursor(self.document.end)

    def action_newline(self) -> None:
        self.insert("\n")

    def action_delete_or_quit(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.Quit())

    async def _on_key(self, event: events.Key) -> None:
        # Textual calls the handler of the base class after this one.
        if event.character == "?" and not self.text and self.handler is not None:
            event.stop()
            event.prevent_default()
            self.handler.show_keys()
            return
        if event.is_printable or event.key == "backspace":
            self.typed_at = time.monotonic()
        is_command = self.vim is not None and self.vim.is_normal and event.is_printable
        if self.vim is not None and is_command:
            self._take_step(self.vim, event.character or "")
        if is_command or (not event.is_printable and await self._handle(event.key)):
            event.stop()
            event.prevent_default()

    def use_vim(self) -> None:
        """Have the modes and keys of vim, beginning with insert mode."""
        self.vim = VimKeys()
        self.border_title = self.vim.label

    def _take_step(self, vim: VimKeys, character: str) -> None:
        """Do what a character means in vim's normal mode."""
        step = vim.press(character, self.document.lines, self.cursor_location)
        if step is not None and step.start is not None:
            self.history.checkpoint()  # each command is undone by itself
            self.replace(step.text, step.start, step.end, maintain_selection_offset=False)
        if step is not None and step.cursor is not None:
            self.move_cursor(step.cursor)
        for _ in range(0 if step is None else step.undo):
            self.undo()
        if step is not None and step.leaves and self.handler is not None:
            self.handler.leave_text(step.leaves)
        self.border_title = vim.label

    def _escape(self) -> bool:
        """Esc goes to vim's normal mode; returns False if it has another meaning."""
        vim = self.vim
        if vim is None or (vim.is_normal and not vim.is_pending):
            return False
        self.history.checkpoint()
        self.move_cursor(vim.escape(self.cursor_location))
        self.border_title = vim.label
        return True

    async def _handle(self, key: str) -> bool:
        """Handle a key at once, before later keys; returns whether it was handled."""
        handler = self.handler
        is_at_end = self.cursor_location[0] == self.document.line_count - 1
        is_completion = handler is not None and key in ("up", "down", "enter", "escape") and handler.complete(key)
        if is_completion or (key == "escape" and self._escape()):
            pass
        elif handler is not None and key in self.send_keys:
            self._enter(handler)
        elif handler is not None and key == "up" and self.is_on_first_line and self.selection.is_empty:
            handler.leave_text(-1)
        elif handler is not None and key == "down" and is_at_end and self.selection.is_empty:
            handler.leave_text(1)
        else:
            bound = self.screen.active_bindings.get(key)
            if bound is None or bound.node is not self:
                return False
            await self.run_action(bound.binding.action)
        return True

    def action_paste(self) -> None:
        if self.handler is not None:
            self.handler.paste()

    async def _on_paste(self, event: events.Paste) -> None:
        self.typed_at = time.monotonic()
        event.prevent_default()
        event.stop()
        path = pasted_file(event.text)
        if not event.text:  # some terminals send this to paste a picture
            self.action_paste()
        elif path is not None:
            self.insert(f"{mention(path)} ")
        else:
            self.insert_pasted(event.text)

    def _enter(self, handler: PromptHandler) -> None:
        if self.before_cursor.endswith("\\"):
            self.replace_before_cursor(1, "\n")
            return
        self.typed_at = 0.0  # the user is not typing any more
        handler.submit(self.text)
        if self.vim is not None and not self.text:
            self.vim.insert()
            self.border_title = self.vim.label


def _units(line: str) -> list[tuple[int, int]]:
    """The columns of the labels and pictures in a line."""
    return [found.span() for each in (PLACEHOLDER, _LABEL) for found in each.finditer(line)] if "[" in line else []
