"""A one-text widget: the base of the plan, the queue, the completions, the tabs and the status line."""

from __future__ import annotations

from rich.text import Text
from textual.widget import Widget

__all__ = ["Panel"]


class Panel(Widget):
    """Draws a text and is as high as its lines. Hidden while the text is empty."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.content = Text()
        self.add_class("empty")

    def set_text(self, text: Text) -> None:
        if text == self.content and text.spans == self.content.spans:
            return
        is_resized = text.plain.count("\n") != self.content.plain.count("\n") or bool(text) != bool(self.content)
        self.content = text
        self.set_class(not text, "empty")
        self.refresh(layout=is_resized)

    def render(self) -> Text:
        return self.content
