"""The prompt editor. Law: every typed character enters the text, whatever else happens at that moment."""

from __future__ import annotations

import re
import time
from typing import ClassVar, Protocol

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from accord.apps.console.sanitizer import exact_in_place
from accord.apps.console.screen.mentions import mention, pasted_file

PLACEHOLDER = re.compile(r"\[picture [0-9]+, [0-9]+ kB\]")
"""Stands for a pasted picture. Backspace deletes it as a whole."""


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
        Binding("shift+enter,alt+enter,ctrl+j", "newline", "New line", show=False),
        Binding("ctrl+underscore", "undo", "Undo", show=False),
        Binding("ctrl+d", "delete_or_quit", "Quit if the prompt is empty", show=False),
    ]

    class Quit(Message):
        """Ctrl+D was pressed in an empty editor."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, tab_behavior="focus", compact=True)
        self.cursor_blink = False  # nothing is drawn while nothing happens
        self.placeholder = "Ask for a change, or / for commands"
        self.handler: PromptHandler | None = None
        self.typed_at = 0.0

    def get_line(self, line_index: int) -> Text:
        """The line without control characters, which a file name may contain."""
        return Text(exact_in_place(self.document.get_line(line_index), tab="\t"), end="", no_wrap=True)

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
        if not event.is_printable and await self._handle(event.key):
            event.stop()
            event.prevent_default()

    async def _handle(self, key: str) -> bool:
        """Handle a key at once, before later keys; returns whether it was handled."""
        handler = self.handler
        is_at_end = self.cursor_location[0] == self.document.line_count - 1
        if handler is not None and key in ("up", "down", "enter", "escape") and handler.complete(key):
            pass
        elif handler is not None and key == "enter":
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

    def action_delete_left(self) -> None:
        matches = list(PLACEHOLDER.finditer(self.before_cursor))
        if self.selection.is_empty and matches and matches[-1].end() == len(self.before_cursor):
            self.replace_before_cursor(len(matches[-1][0]), "")
        else:
            super().action_delete_left()

    def action_paste(self) -> None:
        if self.handler is not None:
            self.handler.paste()

    async def _on_paste(self, event: events.Paste) -> None:
        self.typed_at = time.monotonic()
        path = pasted_file(event.text)
        if not event.text:  # some terminals send this to paste a picture
            event.prevent_default()
            event.stop()
            self.action_paste()
        elif path is not None:  # any other text is inserted by the base class
            event.prevent_default()
            event.stop()
            self.insert(f"{mention(path)} ")

    def _enter(self, handler: PromptHandler) -> None:
        if self.before_cursor.endswith("\\"):
            self.replace_before_cursor(1, "\n")
            return
        self.typed_at = 0.0  # the user is not typing any more
        handler.submit(self.text)
