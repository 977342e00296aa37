"""The form and link bars: forms and links of the agent, in the place of the permission bar.

Law: nothing is sent or opened until the end of the question was visible: of a form, its last field and all values that the
agent has filled in.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from rich.highlighter import Highlighter
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Button, Checkbox, Input, Select, SelectionList, Static
from textual.widgets.option_list import OptionDoesNotExist

from accord.apps.console.forms import Field, fields_of, read_field
from accord.apps.console.sanitizer import exact, exact_in_place, exact_line, one_line
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.apps.console.screen.keys import HeldKeys
from accord.apps.console.screen.questions import Question
from accord.apps.console.screen.widgets.lines_view import FoldedText, has_final_height, visible_rows
from accord.apps.console.screen.widgets.permission_bar import QuestionBar, Tightness
from accord.local.text import max_cells
from accord.session.requests import ElicitationAnswer, ElicitationRequest

_LONG_MESSAGE = 60
_BOX_WIDTH = 8
"""The cells of a line that the box and frame of a field may take. A text that does not fit is shown in full above it."""
_CHECK_MARK = "✓"


class _Bar(QuestionBar):
    KEYS = ""
    """The keys of this kind of question, beside the one that moves the focus."""

    def __init__(
        self, question: Question, held_keys: HeldKeys, position: tuple[int, int], palette: Palette, keys: KeyBindings
    ) -> None:
        super().__init__(question, held_keys)
        self._keys = keys
        assert isinstance(question.request, ElicitationRequest)
        self.request = question.request
        self.palette = palette
        self._position = position

    def lines_beside(self, tightness: Tightness, width: int) -> int:
        """The number of lines besides those that scroll."""
        canvas = Canvas(self.palette, width)
        problem = self.texts().get(".problem")
        below = 1 + (len(canvas.wrap(problem)) if problem else 0)
        return below + (2 if tightness else 2 + len(canvas.wrap(self.head())))

    def squeeze(self, tightness: Tightness) -> None:
        """Nothing to do: the style sheet removes the frame."""

    def set_position(self, position: tuple[int, int]) -> None:
        if position != self._position:
            self._position = position
            for head in self.query(".head").results(Static):  # none before it is composed
                head.update(self.head())

    def set_palette(self, palette: Palette) -> None:
        """Change the colours; the values of the fields stay."""
        self.palette = palette
        for selector, text in self.texts().items():
            for each in self.query(selector).results(Static):
                each.update(text)

    def on_mount(self) -> None:
        for fields in self.query(VerticalScroll):
            self.watch(fields, "scroll_y", self._update_title_later)
            self.watch(fields, "virtual_size", self._update_title_later)

    def _update_title_later(self) -> None:
        self.call_after_refresh(self.update_title)

    @property
    def lines_below(self) -> int | None:
        for fields in self.query(VerticalScroll):
            end = max((child.virtual_region.bottom for child in fields.children), default=0)
            if fields.is_mounted and has_final_height(fields) and (end or not fields.children):
                return max(0, end - fields.scroll_offset.y - visible_rows(fields))
        return None

    def update_title(self) -> None:
        below = self.lines_below
        title = f"▼ {below} more line{'s' if below != 1 else ''}" if below else ""
        self.border_title = title if self.is_read else f"{title or '▼ more'}: read to the end first"

    def show_unread(self) -> bool:
        """If there is more to read, show the next page and focus its first field; returns whether there was."""
        if self.is_read:
            return False
        for fields in self.query(VerticalScroll):
            end, page = fields.scroll_offset.y + visible_rows(fields), max(1, fields.size.height - 1)
            fields.scroll_relative(y=page, animate=False)
            bottoms = [(child, child.virtual_region.bottom) for child in fields.children if child.focusable]
            for child in [child for child, bottom in bottoms if end < bottom <= end + page][:1]:
                self.screen.set_focus(child, scroll_visible=False)
        self._update_title_later()
        return True

    def texts(self) -> dict[str, Text]:
        """The texts that depend on the palette, by the selector of their widgets."""
        return {
            ".head": self.head(),
            ".message": Text(exact(self.request.message, tab="    ")),
            ".keys": Text(self._key_hint(), self.palette.muted),
        }

    def _key_hint(self) -> str:
        move = self._keys.hint("next_focus")
        return f"{move} next · {self.KEYS}" if self.has_focus_within else f"{move} to answer"

    def head(self) -> Text:
        number, total = self._position
        position = f" {number} of {total} " if total > 1 else ""
        return Text.assemble(
            (" The agent asks ", self.palette.accent + Style(bold=True, reverse=True)),
            (position, self.palette.accent),
            "" if self.is_long else f" {exact(self.request.message, tab='    ')}",
        )

    @property
    def is_long(self) -> bool:
        """Whether the message scrolls with the fields, so that the buttons stay visible."""
        return "\n" in self.request.message or max_cells(exact(self.request.message, tab="    ")) > _LONG_MESSAGE

    def message(self) -> Iterator[Static]:
        """The message, if it is too long for the heading."""
        if self.is_long:
            yield FoldedText(self.texts()[".message"], self.palette, classes="message")

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.question.cancel()

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def show_keys(self) -> None:
        for keys in self.query(".keys").results(Static):
            keys.update(self.texts()[".keys"])

    @property
    def accepts_answer(self) -> bool:
        """Whether a key press is an answer, and was not meant for what was here before."""
        return not (self.is_settling or self.held_keys.is_held("enter"))

    @on(Button.Pressed, "#decline")
    def refuse(self) -> None:
        if self.accepts_answer:
            self.question.answer(ElicitationAnswer(action="decline"))


class FormBar(_Bar):
    """The fields of a flat JSON Schema object."""

    KEYS = "Enter send · Esc cancel"

    def compose(self) -> ComposeResult:
        yield FoldedText(self.head(), self.palette, classes="head")
        self._fields, self._problem = fields_of(self.request.schema or {}), ""
        with VerticalScroll(can_focus=False, classes="fields"):
            yield from self.message()
            for index, field in enumerate(self._fields):
                yield FoldedText(partial(self._label, field), self.palette, id=f"label-{index}")
                yield _widget(field, index)
        yield Static("", classes="problem empty", markup=False)
        with Horizontal(classes="buttons"):
            yield Button("Send", id="accept", variant="primary", compact=True)
            yield Button("Decline", id="decline", compact=True)
            yield Static(self.texts()[".keys"], classes="keys", markup=False)

    def _label(self, field: Field, width: int) -> Text:
        """The label above a field, with all values that the field is too narrow for or would hide."""
        room = width - _BOX_WIDTH
        if field.kind == "boolean" and max_cells(_box_label(field)) <= room:
            return Text("")
        label = Text.assemble(exact_line(field.title), ("*" if field.is_required else "", self.palette.bad))
        if field.description:
            label.append(f"  {exact_line(field.description)}", self.palette.muted)
        for _, name in field.choices:
            if not _fits(name, one_line(name), room):
                label.append(f"\n· {exact_line(name)}", self.palette.muted)
        if not field.choices and not _fits(field.initial_text, field.initial_text, room):
            label.append(f"\ndefault: {exact_line(field.initial_text)}", self.palette.muted)
        return label

    def set_palette(self, palette: Palette) -> None:
        super().set_palette(palette)
        for label in self.query(FoldedText):
            label.set_palette(palette)

    def texts(self) -> dict[str, Text]:
        return {**super().texts(), ".problem": Text(self._problem, self.palette.bad)}

    @on(Button.Pressed, "#accept")
    @on(Input.Submitted)
    def accept(self) -> None:
        if not self.accepts_answer:
            return
        values: dict[str, Any] = {}
        for index, field in enumerate(self._fields):
            try:
                value = read_field(field, _value(self.query_one(f"#field-{index}")))
            except ValueError as error:
                self._problem = f"{one_line(field.title)}: {exact_line(str(error))}"
                problem = self.query_one(".problem", Static)
                problem.update(Text(self._problem, self.palette.bad))
                problem.remove_class("empty")
                self.query_one(f"#field-{index}").focus()
                return
            if value is not None:
                values[field.name] = value
        if self.show_unread():
            return
        self.question.answer(ElicitationAnswer(action="accept", content=values))


class LinkBar(_Bar):
    """A URL, shown in full, and opened only if the user says so."""

    KEYS = "Enter choose · Esc cancel"

    class Opened(Message):
        """The user wants to open the URL."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

    def compose(self) -> ComposeResult:
        yield FoldedText(self.head(), self.palette, classes="head")
        with VerticalScroll(can_focus=False, classes="fields"):
            yield from self.message()
            yield FoldedText(self.texts()[".url"], self.palette, classes="url")
        with Horizontal(classes="buttons"):
            yield Button("Open in browser", id="open", variant="primary", compact=True)
            yield Button("Decline", id="decline", compact=True)
            yield Static(self.texts()[".keys"], classes="keys", markup=False)

    def texts(self) -> dict[str, Text]:
        url = exact_line(self.request.url or "no URL given")
        return {**super().texts(), ".url": Text(url, self.palette.accent)}

    def on_key(self, event: events.Key) -> None:
        super().on_key(event)
        if event.key in ("up", "down"):
            event.stop()
            self.query_one(".fields").scroll_relative(y=1 if event.key == "down" else -1, animate=False)

    @on(Button.Pressed, "#open")
    def open_link(self) -> None:
        if not self.accepts_answer or self.show_unread():
            return
        self.post_message(self.Opened(self.request.url or ""))
        self.question.answer(ElicitationAnswer(action="accept"))


class _ControlPictures(Highlighter):
    """Shows a symbol in place of each control or invisible character in a field."""

    def highlight(self, text: Text) -> None:
        """Not used: `__call__` does the work."""

    def __call__(self, text: str | Text) -> Text:
        plain = text if isinstance(text, str) else text.plain
        return Text(exact_in_place(plain).replace("\n", "\u240a"), no_wrap=True, overflow="ignore", end="")


def _fits(text: str, shown: str, room: int) -> bool:
    """Whether `shown`, in this many cells, shows the whole text."""
    return exact_line(text) == shown and max_cells(shown) <= room


def _box_label(field: Field) -> str:
    description = f"  {exact_line(field.description)}" if field.description else ""
    return f"{exact_line(field.title)}{'*' if field.is_required else ''}{description}"


class CheckMarkBox(Checkbox):
    """A check box that shows its state with a mark; Textual's differs in colour only."""

    BUTTON_INNER = " "

    def watch_value(self) -> None:
        self.BUTTON_INNER = _CHECK_MARK if self.value else " "  # pyright: ignore[reportConstantRedefinition]  # Textual reads it
        super().watch_value()


class CheckMarkList(SelectionList[str]):
    """A selection list that shows the state of each entry with a mark."""

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        try:
            choice = self.get_option_at_index(self.scroll_offset.y + y)
        except OptionDoesNotExist:
            return strip
        left, box, *rest = strip
        mark = _CHECK_MARK if choice.value in self.selected else " "
        return Strip([left, Segment(mark, box.style), *rest])


def _widget(field: Field, index: int) -> Input | Select[str] | Checkbox | SelectionList[str]:
    id = f"field-{index}"
    match field.kind:
        case "boolean":
            return CheckMarkBox(Content(_box_label(field)), bool(field.default), id=id, compact=True)
        case "choice":
            value = str(field.default) if str(field.default) in dict(field.choices) else Select.NULL
            choices = [(Text(one_line(name)), value) for value, name in field.choices]
            return Select[str](cast("Any", choices), value=cast("Any", value), id=id, compact=True)
        case "choices":
            default: Any = field.default
            values = cast("list[Any]", default) if isinstance(default, list) else []
            entries = [(Content(one_line(name)), value, value in values) for value, name in field.choices]
            return CheckMarkList(*entries, id=id, compact=True)
        case _:
            return Input(
                field.initial_text, id=id, compact=True, password=field.is_secret, highlighter=_ControlPictures()
            )


def _value(widget: Any) -> Any:
    match widget:
        case SelectionList():
            return list(cast("SelectionList[str]", widget).selected)
        case Select():
            select = cast("Select[str]", widget)
            return None if select.is_blank() else select.value
        case _:
            return widget.value
