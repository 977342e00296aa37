"""The permission bar: what the agent wants to do, in full, and the answers. Law: only a key meant for it answers it."""

from __future__ import annotations

import time

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from accord.apps.console.sanitising import one_line
from accord.apps.console.screen.asking import Question
from accord.apps.console.screen.drawing.ink import Palette
from accord.apps.console.screen.drawing.permissions import draw_permission, kind_and_title, reach_of_always
from accord.apps.console.screen.widgets.lines import LinesView
from accord.session.requests import PermissionAnswer, PermissionOption, RequestPermission

__all__ = ["PermissionBar", "keys_of"]

_LETTERS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "d"}
SETTLING = 0.3
"""For so many seconds after it has appeared, a key was still meant for what was there before."""


def keys_of(options: list[PermissionOption]) -> list[tuple[str, str | None]]:
    """For each option its number and, for the first of its kind, its letter."""
    taken: set[str] = set()
    keys: list[tuple[str, str | None]] = []
    for place, option in enumerate(options):
        letter = _LETTERS.get(option.kind)
        keys.append((str(place + 1) if place < 9 else "", letter if letter not in taken else None))
        if letter is not None:
            taken.add(letter)
    return keys


class PermissionBar(Vertical, can_focus=True):
    """One question. It never takes the focus away from somebody who is writing."""

    class TypedElsewhere(Message):
        """A character that is no answer: it belongs into the prompt."""

        def __init__(self, character: str) -> None:
            super().__init__()
            self.character = character

    def __init__(self, question: Question, cwd: str, place: tuple[int, int], palette: Palette) -> None:
        super().__init__(classes="question")
        assert isinstance(question.asked, RequestPermission)
        self.question = question
        self._asked = question.asked
        self._cwd = cwd
        self._place = place
        self._palette = palette
        self._came_at = time.monotonic()
        self.was_answering = False
        """Whether it came in the place of another question that had the focus."""

    def compose(self) -> ComposeResult:
        yield Static(self._head(), classes="head", markup=False)
        yield LinesView(lambda ink: draw_permission(self._asked, self._cwd, ink), self._palette, id="detail")
        yield Static(self._answers(), classes="answers", markup=False)
        yield Static(self._hint(), classes="hint", markup=False)

    def put_place(self, place: tuple[int, int]) -> None:
        """More questions have come, or gone."""
        if place != self._place:
            self._place = place
            for head in self.query(".head").results(Static):  # none before it is composed
                head.update(self._head())

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        for hint in self.query(".hint").results(Static):
            hint.update(self._hint())

    def _head(self) -> Text:
        palette = self._palette
        kind, title = kind_and_title(self._asked)
        place, count = self._place
        queue = f" {place} of {count} " if count > 1 else ""
        return Text.assemble(
            (" Permission ", palette.warning + Style(bold=True, reverse=True)),
            (queue, palette.warning),
            f" {kind}  ",
            (title, Style(bold=True)),
        )

    def _answers(self) -> Text:
        palette = self._palette
        answers: list[Text] = []
        for option, (number, letter) in zip(self._asked.options, keys_of(self._asked.options), strict=True):
            style = palette.good if option.kind.startswith("allow") else palette.bad
            if not option.kind.startswith(("allow", "reject")):
                style = palette.accent
            key = " ".join(filter(None, [number, letter]))
            answer = Text(f" {key} ", style + Style(bold=True, reverse=True))
            answers.append(Text.assemble(answer, f" {one_line(option.name, 200)}"))
        beside = Text("   ").join(answers)
        return beside if beside.cell_len <= self.screen.size.width - 6 else Text("\n").join(answers)

    def _hint(self) -> Text:
        has_always = any(option.kind.endswith("_always") for option in self._asked.options)
        lines = [reach_of_always(self._asked)] if has_always else []
        keys = "esc neither · ↑↓ scroll · tab to the prompt" if self.has_focus else "tab to answer"
        return Text("\n".join([*lines, keys]), self._palette.muted)

    def on_key(self, event: events.Key) -> None:
        scrolls = {"up": -1, "down": 1}
        if event.key == "escape":
            event.stop()
            self.question.decline()
        elif event.key in scrolls:
            event.stop()
            self.scroll_detail(scrolls[event.key])
        elif event.character is not None and event.is_printable:
            event.stop()
            self._typed(event.character)

    def scroll_detail(self, lines: int) -> None:
        """Show more of what it is about."""
        detail = self.query_one(LinesView)
        detail.scroll_to(y=detail.scroll_offset.y + lines, animate=False)

    def scroll_page(self, step: int) -> None:
        self.scroll_detail(step * max(1, self.query_one(LinesView).size.height - 1))

    def _typed(self, character: str) -> None:
        settling = time.monotonic() - self._came_at < SETTLING
        if settling and self.was_answering:
            return  # the key that answered the one before, held a moment too long
        option = None if settling else self._option(character)
        if option is None:
            self.post_message(self.TypedElsewhere(character))
        else:
            self.question.answer(PermissionAnswer(outcome="selected", option_id=option.id))

    def _option(self, key: str) -> PermissionOption | None:
        for option, keys in zip(self._asked.options, keys_of(self._asked.options), strict=True):
            if key.lower() in keys:
                return option
        return None
