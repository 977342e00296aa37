"""Where the user writes. Law: a typed character is in the text, whatever else happens at that moment."""

from __future__ import annotations

import time
from typing import ClassVar, Protocol

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from accord.apps.console.sanitizer import in_place
from accord.apps.console.screen.mentions import pasted_file, quoted
from accord.apps.console.screen.pasted_pictures import token_at_end

__all__ = ["PromptEditor", "Writing"]


class Writing(Protocol):
    """What becomes of what is written. It is called at once, before the next key is handled."""

    def sent(self, text: str) -> None:
        """The user has pressed Enter."""
        ...

    def steer(self, key: str) -> bool:
        """Whether the key was for the list of completions."""
        ...

    def paste(self) -> None:
        """What is in the clipboard is to be put in."""
        ...

    def edge(self, step: int) -> None:
        """The cursor would leave the text: `step` is -1 at the top and 1 at the bottom."""
        ...


class PromptEditor(TextArea):
    """Enter sends, Shift+Enter, Ctrl+J or a backslash before Enter begin a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+enter,alt+enter,ctrl+j", "newline", "New line", show=False),
        Binding("ctrl+underscore", "undo", "Undo", show=False),
        Binding("ctrl+d", "leave", "Quit when there is no text", show=False),
    ]

    class Leave(Message):
        """The end of input, in an empty editor."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, tab_behavior="focus", compact=True)
        self.cursor_blink = False  # nothing moves while nothing happens
        self.placeholder = "Ask for a change, or / for commands"
        self.writing: Writing | None = None
        self.typed_at = 0.0

    def get_line(self, line_index: int) -> Text:
        """As it is shown: a name that an agent or a repository has chosen may be in it."""
        return Text(in_place(self.document.get_line(line_index), tab="\t"), end="", no_wrap=True)

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
        if event.is_printable or event.key == "backspace":
            self.typed_at = time.monotonic()
        if not event.is_printable and await self._does(event.key):
            event.stop()
            event.prevent_default()

    async def _does(self, key: str) -> bool:
        """Whether the key means something here. It is done now: what was typed after it must find it done."""
        writing = self.writing
        is_at_end = self.cursor_location[0] == self.document.line_count - 1
        if writing is not None and key in ("up", "down", "enter", "escape") and writing.steer(key):
            pass
        elif writing is not None and key == "enter":
            self._enter(writing)
        elif writing is not None and key == "up" and self.is_on_first_line and self.selection.is_empty:
            writing.edge(-1)
        elif writing is not None and key == "down" and is_at_end and self.selection.is_empty:
            writing.edge(1)
        else:
            bound = self.screen.active_bindings.get(key)
            if bound is None or bound.node is not self:
                return False
            await self.run_action(bound.binding.action)
        return True

    def action_delete_left(self) -> None:
        length = token_at_end(self.before_cursor) if self.selection.is_empty else 0
        if length:
            self.replace_before_cursor(length, "")
        else:
            super().action_delete_left()

    def action_paste(self) -> None:
        if self.writing is not None:
            self.writing.paste()

    async def _on_paste(self, event: events.Paste) -> None:
        self.typed_at = time.monotonic()
        path = pasted_file(event.text)
        if not event.text:  # as some terminals say that a picture is to be pasted
            event.prevent_default()
            event.stop()
            self.action_paste()
        elif path is not None:  # else the editor itself takes it, after us
            event.prevent_default()
            event.stop()
            self.insert(f"{quoted(path)} ")

    def _enter(self, writing: Writing) -> None:
        if self.before_cursor.endswith("\\"):
            self.replace_before_cursor(1, "\n")
            return
        self.typed_at = 0.0  # whoever has sent something is ready for an answer
        writing.sent(self.text)
