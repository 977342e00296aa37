"""Where the user writes. Law: a typed character is in the text, whatever else happens at that moment."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from accord.apps.console.screen.mentions import pasted_file, quoted

__all__ = ["PromptEditor"]


class PromptEditor(TextArea):
    """Enter sends, Shift+Enter, Ctrl+J or a backslash before Enter begin a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+enter,alt+enter,ctrl+j", "newline", "New line", show=False),
        Binding("ctrl+d", "leave", "Quit when there is no text", show=False),
    ]

    class Sent(Message):
        """The user has pressed Enter."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Leave(Message):
        """The end of input, in an empty editor."""

    class Edge(Message):
        """The cursor would leave the text: `step` is -1 at the top and 1 at the bottom."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Steering(Message):
        """A key for the list of completions, which is open."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, tab_behavior="focus", compact=True)
        self.cursor_blink = False  # nothing moves while nothing happens
        self.placeholder = "Ask for a change, or / for commands"
        self.is_completing = False
        self.typed_at = 0.0

    @property
    def before_cursor(self) -> str:
        """The text of the line up to the cursor, which completions go by."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    @property
    def is_on_first_line(self) -> bool:
        return self.cursor_location[0] == 0

    def replace_before_cursor(self, count: int, text: str) -> None:
        """Put a text in the place of so many characters before the cursor."""
        row, column = self.cursor_location
        self.replace(text, (row, column - count), (row, column))

    def take(self, text: str) -> None:
        """Another text altogether, the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def action_newline(self) -> None:
        self.insert("\n")

    def action_leave(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.Leave())

    async def _on_key(self, event: events.Key) -> None:
        # What is not for us goes on to the editor that this one is made of: Textual calls its handler after ours.
        key = event.key
        if event.is_printable or key == "backspace":
            self.typed_at = time.monotonic()
        if self.is_completing and key in ("up", "down", "tab", "enter", "escape"):
            event.stop()
            event.prevent_default()
            self.post_message(self.Steering(key))
        elif key == "enter":
            event.stop()
            event.prevent_default()
            self._enter()
        elif key == "up" and self.is_on_first_line and self.selection.is_empty:
            event.stop()
            event.prevent_default()
            self.post_message(self.Edge(-1))
        elif key == "down" and self.cursor_location[0] == self.document.line_count - 1 and self.selection.is_empty:
            event.stop()
            event.prevent_default()
            self.post_message(self.Edge(1))

    async def _on_paste(self, event: events.Paste) -> None:
        self.typed_at = time.monotonic()
        path = pasted_file(event.text)
        if path is not None:  # else the editor itself takes it, after us
            event.prevent_default()
            event.stop()
            self.insert(f"{quoted(path)} ")

    def _enter(self) -> None:
        if self.before_cursor.endswith("\\"):
            self.replace_before_cursor(1, "\n")
            return
        self.typed_at = 0.0  # whoever has sent something is ready for an answer
        self.post_message(self.Sent(self.text))
