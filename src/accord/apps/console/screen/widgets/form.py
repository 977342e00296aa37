"""A form or a link that an agent shows to the user, in the place of the permission bar."""

from __future__ import annotations

from typing import Any, cast

from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Checkbox, Input, Label, Select, SelectionList, Static

from accord.apps.console.sanitising import one_line, visible
from accord.apps.console.screen.asking import Question
from accord.apps.console.screen.drawing.ink import Palette
from accord.apps.console.screen.fields import Field, fields_of, read_field
from accord.session.requests import Elicit, ElicitationAnswer

__all__ = ["FormBar", "LinkBar"]


class _Bar(Vertical):
    def __init__(self, question: Question, place: tuple[int, int], palette: Palette) -> None:
        super().__init__(classes="question")
        assert isinstance(question.asked, Elicit)
        self.question = question
        self.asked = question.asked
        self.palette = palette
        self._place = place

    def put_place(self, place: tuple[int, int]) -> None:
        if place != self._place:
            self._place = place
            for head in self.query(".head").results(Static):  # none before it is composed
                head.update(self.head())

    def head(self) -> Text:
        place, count = self._place
        queue = f" {place} of {count} " if count > 1 else ""
        return Text.assemble(
            (" The agent asks ", self.palette.accent + Style(bold=True, reverse=True)),
            (queue, self.palette.accent),
            " ",
            visible(self.asked.message),
        )

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.question.decline()


class FormBar(_Bar):
    """The fields of a flat JSON Schema object."""

    def compose(self) -> ComposeResult:
        yield Static(self.head(), classes="head", markup=False)
        self._fields = fields_of(self.asked.schema or {})
        with VerticalScroll(can_focus=False, classes="fields"):
            for place, field in enumerate(self._fields):
                label = Text.assemble(one_line(field.title), ("*" if field.is_required else "", self.palette.bad))
                if field.description:
                    label.append(f"  {one_line(field.description)}", self.palette.muted)
                if field.kind != "boolean":
                    yield Label(label, markup=False)
                yield _widget(field, place, label)
        yield Static("", classes="problem", markup=False)
        with Horizontal(classes="buttons"):
            yield Button("Send", id="accept", variant="primary", compact=True)
            yield Button("Decline", id="decline", compact=True)

    @on(Button.Pressed, "#accept")
    @on(Input.Submitted)
    def accept(self) -> None:
        values: dict[str, Any] = {}
        for place, field in enumerate(self._fields):
            try:
                value = read_field(field, _value(self.query_one(f"#field-{place}")))
            except ValueError as error:
                self.query_one(".problem", Static).update(Text(f"{one_line(field.title)}: {error}", self.palette.bad))
                self.query_one(f"#field-{place}").focus()
                return
            if value is not None:
                values[field.name] = value
        self.question.answer(ElicitationAnswer(action="accept", content=values))

    @on(Button.Pressed, "#decline")
    def decline(self) -> None:
        self.question.answer(ElicitationAnswer(action="decline"))


class LinkBar(_Bar):
    """A URL: shown whole, so that it can be judged, and opened only when the user says so."""

    class Opened(Message):
        """The user wants to go there."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

    def compose(self) -> ComposeResult:
        yield Static(self.head(), classes="head", markup=False)
        yield Static(Text(visible(self.asked.url or "no address was given"), self.palette.accent), markup=False)
        with Horizontal(classes="buttons"):
            yield Button("Open in the browser", id="open", variant="primary", compact=True)
            yield Button("Decline", id="decline", compact=True)

    @on(Button.Pressed, "#open")
    def open_link(self) -> None:
        self.post_message(self.Opened(self.asked.url or ""))
        self.question.answer(ElicitationAnswer(action="accept"))

    @on(Button.Pressed, "#decline")
    def decline(self) -> None:
        self.question.answer(ElicitationAnswer(action="decline"))


def _widget(field: Field, place: int, label: Text) -> Input | Select[str] | Checkbox | SelectionList[str]:
    id = f"field-{place}"
    match field.kind:
        case "boolean":
            return Checkbox(label.plain, bool(field.default), id=id, compact=True)
        case "choice":
            chosen = field.default if field.default in dict(field.choices) else Select.NULL
            prompt = [(Text(one_line(name)), value) for value, name in field.choices]
            return Select[str](cast("Any", prompt), value=cast("Any", chosen), id=id, compact=True)
        case "choices":
            default: Any = field.default
            chosen = cast("list[Any]", default) if isinstance(default, list) else []
            return SelectionList[str](
                *[(one_line(name), value, value in chosen) for value, name in field.choices], id=id, compact=True
            )
        case _:
            default = "" if field.default is None else str(field.default)
            return Input(default, id=id, compact=True, password=field.is_secret)


def _value(widget: Any) -> Any:
    match widget:
        case SelectionList():
            return list(cast("SelectionList[str]", widget).selected)
        case Select():
            chosen = cast("Select[str]", widget)
            return None if chosen.is_blank() else chosen.value
        case _:
            return widget.value
