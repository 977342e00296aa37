"""A page to choose from a list, filtered by what is typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from accord.apps.console.sanitizer import one_line

_HEIGHT = 45
"""The most lines of the list, in percent of the terminal."""
_WIDEST_TITLE, _WIDEST_LINE = 30, 66
"""Cells. If all titles, or the lines with a column, are at most so wide, the details after the titles are in a column."""


class Entry(msgspec.Struct, frozen=True):
    """One line of the list."""

    id: str
    title: str
    detail: str = ""


class ChoicePage(ModalScreen[str | None]):
    """Returns the id of the chosen entry, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss(None)", "Close"),
        ("down", "move(1)", "Down"),
        ("up", "move(-1)", "Up"),
    ]
    AUTO_FOCUS = "Input, OptionList"
    hint = "type to search · Enter choose · Esc close"

    def __init__(self, title: str, entries: Sequence[Entry], *, current: str | None = None) -> None:
        super().__init__()
        self._title = title
        self._entries = list(entries)
        self._current = current
        self._matches: list[Entry] = []
        detailed = [entry for entry in entries if entry.detail]
        title_width = max((cell_len(_shown(entry.title)) for entry in detailed), default=0)
        width = title_width + max((cell_len(_shown(entry.detail)) for entry in detailed), default=0)
        self._column = title_width if title_width <= _WIDEST_TITLE or width <= _WIDEST_LINE else 0
        """The width of the titles, if the details are in a column."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="page"):
            yield Static(Text(one_line(self._title), "bold"), classes="title", markup=False)
            yield from self.compose_search()
            yield OptionList(markup=False, compact=True)
            yield Static(Text(self.hint), classes="hint", markup=False)

    def compose_search(self) -> ComposeResult:
        yield Input(placeholder="search", compact=True)

    def on_mount(self) -> None:
        fields = self.query(Input)
        self.query_one(OptionList).can_focus = not fields
        self._set_height()
        self._filter("".join(field.value for field in fields))

    def on_resize(self) -> None:
        self._set_height()

    def _set_height(self) -> None:
        """Fixed, so that the field does not move."""
        most = self.size.height * _HEIGHT // 100
        self.query_one(OptionList).styles.height = max(1, min(len(self._entries), most))

    @property
    def selected(self) -> Entry | None:
        index = self.query_one(OptionList).highlighted
        return None if index is None or index >= len(self._matches) else self._matches[index]

    @on(Input.Changed)
    def filter(self, event: Input.Changed) -> None:
        self._filter(event.value)

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def choose(self) -> None:
        if self.selected is not None:
            self.dismiss_with(self.selected)

    def dismiss_with(self, entry: Entry) -> None:
        """Enter was pressed."""
        self.dismiss(entry.id)

    def action_move(self, step: int) -> None:
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        self._matches = [
            entry
            for entry in self._entries
            if all(word in f"{entry.title} {entry.detail}".casefold() for word in words)
        ]
        options = self.query_one(OptionList)
        options.set_options([Option(self._line(entry)) for entry in self._matches])
        if text and not self._matches:
            options.add_option(Option(Text("  no match"), disabled=True))
        if self._matches:
            ids = [entry.id for entry in self._matches]
            options.highlighted = ids.index(self._current) if self._current in ids else 0

    def _line(self, entry: Entry) -> Text:
        mark = "● " if entry.id == self._current else "  "
        line = Text(f"{mark}{_shown(entry.title)}", no_wrap=True, overflow="ellipsis")
        if not entry.detail:
            return line
        line.pad_right(max(0, self._column + len(mark) - line.cell_len))
        return line.append(f"  {_shown(entry.detail)}", "dim")


class QuestionPage(ChoicePage):
    """A question with a few answers, which nobody has to search."""

    hint = "↑↓ select · Enter choose · Esc close"

    def compose_search(self) -> ComposeResult:
        return iter(())


def _shown(text: str) -> str:
    return one_line(text, 200)
