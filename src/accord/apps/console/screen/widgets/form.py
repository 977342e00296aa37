"""A form or a link that an agent shows to the user, in the place of the permission bar.

Law: nothing is sent or opened before the end of what is asked could be seen: of a form, its last field, and all that the agent has
put into the fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Checkbox, Input, Select, SelectionList, Static

from accord.apps.console.sanitizer import exact, exact_line, in_place, one_line
from accord.apps.console.screen.drawing.palette import Ink, Palette
from accord.apps.console.screen.form_fields import Field, fields_of, read_field
from accord.apps.console.screen.key_presses import Presses
from accord.apps.console.screen.session import Question
from accord.apps.console.screen.widgets.lines import FoldedText, has_its_height, rows_on_screen
from accord.apps.console.screen.widgets.permission import QuestionBar, Tightness
from accord.apps.console.screen.widgets.ticks import TickBox, TickList
from accord.local.text import max_cells
from accord.session.requests import ElicitationAnswer, ElicitationRequest

__all__ = ["FormBar", "LinkBar"]

_LONG_MESSAGE = 60
_BESIDE = 8
"""So many cells of a field's line its box and its frame may take; what does not fit beside them is told whole above it."""


class _Bar(QuestionBar):
    KEYS = ""

    def __init__(self, question: Question, presses: Presses, place: tuple[int, int], palette: Palette) -> None:
        super().__init__(question, presses)
        assert isinstance(question.asked, ElicitationRequest)
        self.asked = question.asked
        self.palette = palette
        self._place = place

    def lines_beside(self, tightness: Tightness, width: int) -> int:
        """How many it has besides what scrolls."""
        ink = Ink(self.palette, width)
        problem = self.texts().get(".problem")
        below = 1 + (len(ink.wrapped(problem)) if problem else 0)
        return below + (2 if tightness else 2 + len(ink.wrapped(self.head())))

    def squeeze(self, tightness: Tightness) -> None:
        """Nothing more can be left out; the style sheet takes away the frame."""

    def put_place(self, place: tuple[int, int]) -> None:
        if place != self._place:
            self._place = place
            for head in self.query(".head").results(Static):  # none before it is composed
                head.update(self.head())

    def put_palette(self, palette: Palette) -> None:
        """In other colours; what was filled in stays."""
        self.palette = palette
        for part, text in self.texts().items():
            for each in self.query(part).results(Static):
                each.update(text)

    def on_mount(self) -> None:
        for fields in self.query(VerticalScroll):
            self.watch(fields, "scroll_y", self._look)
            self.watch(fields, "virtual_size", self._look)

    def _look(self) -> None:
        self.call_after_refresh(self.show_what_is_read)

    @property
    def lines_below(self) -> int | None:
        for fields in self.query(VerticalScroll):
            end = max((child.virtual_region.bottom for child in fields.children), default=0)
            if fields.is_mounted and has_its_height(fields) and (end or not fields.children):
                return max(0, end - fields.scroll_offset.y - rows_on_screen(fields))
        return None

    def show_what_is_read(self) -> None:
        below = self.lines_below
        told = f"▼ {below} more line{'s' if below != 1 else ''}" if below else ""
        self.border_title = told if self.is_read else f"{told or '▼ more'}: read to the end first"

    def shows_rest(self) -> bool:
        """Whether there is more to read before anything happens: then the next page is shown, and its first field chosen."""
        if self.is_read:
            return False
        for fields in self.query(VerticalScroll):
            seen, page = fields.scroll_offset.y + rows_on_screen(fields), max(1, fields.size.height - 1)
            fields.scroll_relative(y=page, animate=False)
            bottoms = [(child, child.virtual_region.bottom) for child in fields.children if child.focusable]
            for child in [child for child, bottom in bottoms if seen < bottom <= seen + page][:1]:
                self.screen.set_focus(child, scroll_visible=False)
        self._look()
        return True

    def texts(self) -> dict[str, Text]:
        """What is written in colours, by where it stands."""
        return {
            ".head": self.head(),
            ".message": Text(exact(self.asked.message, tab="    ")),
            ".keys": Text(self.KEYS if self.has_focus_within else "tab to answer", self.palette.muted),
        }

    def head(self) -> Text:
        place, count = self._place
        queue = f" {place} of {count} " if count > 1 else ""
        return Text.assemble(
            (" The agent asks ", self.palette.accent + Style(bold=True, reverse=True)),
            (queue, self.palette.accent),
            "" if self.is_long else f" {exact(self.asked.message, tab='    ')}",
        )

    @property
    def is_long(self) -> bool:
        """Whether what is asked scrolls, so that the answers stay in view."""
        return "\n" in self.asked.message or max_cells(exact(self.asked.message, tab="    ")) > _LONG_MESSAGE

    def message(self) -> Iterator[Static]:
        """What is asked, where the head has no room for it."""
        if self.is_long:
            yield FoldedText(self.texts()[".message"], self.palette, classes="message")

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.question.decline()

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def tell_keys(self) -> None:
        for keys in self.query(".keys").results(Static):
            keys.update(self.texts()[".keys"])

    @property
    def is_meant(self) -> bool:
        """Whether what was pressed can be an answer, and was not for what was here before."""
        return not (self.is_settling or self.presses.is_held("enter"))

    @on(Button.Pressed, "#decline")
    def refuse(self) -> None:
        if self.is_meant:
            self.question.answer(ElicitationAnswer(action="decline"))


class FormBar(_Bar):
    """The fields of a flat JSON Schema object."""

    KEYS = "tab next · enter send · esc cancel"

    def compose(self) -> ComposeResult:
        yield FoldedText(self.head(), self.palette, classes="head")
        self._fields, self._problem = fields_of(self.asked.schema or {}), ""
        with VerticalScroll(can_focus=False, classes="fields"):
            yield from self.message()
            for place, field in enumerate(self._fields):
                yield FoldedText(partial(self._label, field), self.palette, id=f"label-{place}")
                yield _widget(field, place)
        yield Static("", classes="problem empty", markup=False)
        with Horizontal(classes="buttons"):
            yield Button("Send", id="accept", variant="primary", compact=True)
            yield Button("Decline", id="decline", compact=True)
            yield Static(self.texts()[".keys"], classes="keys", markup=False)

    def _label(self, field: Field, width: int) -> Text:
        """What stands above a field: also all that it holds and has no room for, or that could not be seen in it."""
        room = width - _BESIDE
        if field.kind == "boolean" and max_cells(_box_label(field)) <= room:
            return Text("")
        label = Text.assemble(exact_line(field.title), ("*" if field.is_required else "", self.palette.bad))
        if field.description:
            label.append(f"  {exact_line(field.description)}", self.palette.muted)
        for _, name in field.choices:
            if not _fits(name, one_line(name), room):
                label.append(f"\n· {exact_line(name)}", self.palette.muted)
        if not field.choices and not _fits(field.entered, field.entered, room):
            label.append(f"\nby default: {exact_line(field.entered)}", self.palette.muted)
        return label

    def put_palette(self, palette: Palette) -> None:
        super().put_palette(palette)
        for label in self.query(FoldedText):
            label.put_palette(palette)

    def texts(self) -> dict[str, Text]:
        return {**super().texts(), ".problem": Text(self._problem, self.palette.bad)}

    @on(Button.Pressed, "#accept")
    @on(Input.Submitted)
    def accept(self) -> None:
        if not self.is_meant:
            return
        values: dict[str, Any] = {}
        for place, field in enumerate(self._fields):
            try:
                value = read_field(field, _value(self.query_one(f"#field-{place}")))
            except ValueError as error:
                self._problem = f"{one_line(field.title)}: {exact_line(str(error))}"
                problem = self.query_one(".problem", Static)
                problem.update(Text(self._problem, self.palette.bad))
                problem.remove_class("empty")
                self.query_one(f"#field-{place}").focus()
                return
            if value is not None:
                values[field.name] = value
        if self.shows_rest():
            return
        self.question.answer(ElicitationAnswer(action="accept", content=values))


class LinkBar(_Bar):
    """A URL: shown whole, so that it can be judged, and opened only when the user says so."""

    KEYS = "tab next · enter choose · esc cancel"

    class Opened(Message):
        """The user wants to go there."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

    def compose(self) -> ComposeResult:
        yield FoldedText(self.head(), self.palette, classes="head")
        with VerticalScroll(can_focus=False, classes="fields"):
            yield from self.message()
            yield FoldedText(self.texts()[".url"], self.palette, classes="url")
        with Horizontal(classes="buttons"):
            yield Button("Open in the browser", id="open", variant="primary", compact=True)
            yield Button("Decline", id="decline", compact=True)
            yield Static(self.texts()[".keys"], classes="keys", markup=False)

    def texts(self) -> dict[str, Text]:
        url = exact_line(self.asked.url or "no address was given")
        return {**super().texts(), ".url": Text(url, self.palette.accent)}

    def on_key(self, event: events.Key) -> None:
        super().on_key(event)
        if event.key in ("up", "down"):
            event.stop()
            self.query_one(".fields").scroll_relative(y=1 if event.key == "down" else -1, animate=False)

    @on(Button.Pressed, "#open")
    def open_link(self) -> None:
        if not self.is_meant or self.shows_rest():
            return
        self.post_message(self.Opened(self.asked.url or ""))
        self.question.answer(ElicitationAnswer(action="accept"))


class _Signs(Highlighter):
    """Shows what is in a field with a sign for each character that a terminal would obey, or not show."""

    def highlight(self, text: Text) -> None:
        """Nothing of it in particular."""

    def __call__(self, text: str | Text) -> Text:
        plain = text if isinstance(text, str) else text.plain
        return Text(in_place(plain).replace("\n", "\u240a"), no_wrap=True, overflow="ignore", end="")


def _fits(text: str, shown: str, room: int) -> bool:
    """Whether all of a text is seen where it is shown so, in so many cells."""
    return exact_line(text) == shown and max_cells(shown) <= room


def _box_label(field: Field) -> str:
    about = f"  {exact_line(field.description)}" if field.description else ""
    return f"{exact_line(field.title)}{'*' if field.is_required else ''}{about}"


def _widget(field: Field, place: int) -> Input | Select[str] | Checkbox | SelectionList[str]:
    id = f"field-{place}"
    match field.kind:
        case "boolean":
            return TickBox(Content(_box_label(field)), bool(field.default), id=id, compact=True)
        case "choice":
            chosen = str(field.default) if str(field.default) in dict(field.choices) else Select.NULL
            prompt = [(Text(one_line(name)), value) for value, name in field.choices]
            return Select[str](cast("Any", prompt), value=cast("Any", chosen), id=id, compact=True)
        case "choices":
            default: Any = field.default
            chosen = cast("list[Any]", default) if isinstance(default, list) else []
            entries = [(Content(one_line(name)), value, value in chosen) for value, name in field.choices]
            return TickList(*entries, id=id, compact=True)
        case _:
            return Input(field.entered, id=id, compact=True, password=field.is_secret, highlighter=_Signs())


def _value(widget: Any) -> Any:
    match widget:
        case SelectionList():
            return list(cast("SelectionList[str]", widget).selected)
        case Select():
            chosen = cast("Select[str]", widget)
            return None if chosen.is_blank() else chosen.value
        case _:
            return widget.value
