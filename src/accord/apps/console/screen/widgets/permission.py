"""The permission bar: what the agent wants to do, in full, and the answers. Law: only a key meant for it answers it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from accord.apps.console.sanitising import one_line
from accord.apps.console.screen.asking import Question
from accord.apps.console.screen.drawing.ink import Ink, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.drawing.permissions import kind_and_title, permission_parts, reach_of_always
from accord.apps.console.screen.presses import Presses
from accord.apps.console.screen.widgets.lines import LinesView
from accord.session.requests import PermissionAnswer, PermissionOption, RequestPermission

__all__ = ["SETTLING", "PermissionBar", "QuestionBar", "Tightness", "keys_of"]

Tightness: TypeAlias = Literal[0, 1, 2]
"""How little room there is: 1 without frames, 2 without hints either."""

_LETTERS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "d"}
_GAP = "   "
SETTLING = 0.3
"""For so many seconds after a question has come into view, what is pressed was still meant for what was there before."""


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


def in_rows(answers: Sequence[Text], width: int) -> list[Text]:
    """As few lines as they need, each answer whole where it can be."""
    rows: list[Text] = []
    for answer in answers:
        if rows and rows[-1].cell_len + len(_GAP) + answer.cell_len <= width:
            rows[-1].append(_GAP).append_text(answer)
        else:
            rows.append(answer)
    return rows


class QuestionBar(Vertical):
    """Something that is asked. It never takes the focus away from somebody who is writing."""

    def __init__(self, question: Question, presses: Presses) -> None:
        super().__init__(classes="question")
        self.question = question
        self.presses = presses
        self.settle()

    def settle(self) -> None:
        """It has come into view, maybe again."""
        self._came_at = time.monotonic()

    @property
    def is_settling(self) -> bool:
        """Whether nothing that is pressed now can be an answer yet."""
        return time.monotonic() - self._came_at < SETTLING


class PermissionBar(QuestionBar, can_focus=True):
    """What the agent wants to do."""

    def __init__(
        self, question: Question, presses: Presses, cwd: str, place: tuple[int, int], palette: Palette
    ) -> None:
        super().__init__(question, presses)
        assert isinstance(question.asked, RequestPermission)
        self._asked = question.asked
        self._cwd = cwd
        self._place = place
        self._palette = palette
        self._tightness: Tightness = 0

    def compose(self) -> ComposeResult:
        yield Static(self._head(), classes="head", markup=False)
        yield LinesView(self._detail, self._palette, id="detail")
        yield Static(self._answers(), classes="answers", markup=False)
        yield Static(self._hint(), classes="hint", markup=False)

    def _detail(self, ink: Ink) -> Iterator[Part]:
        """All that it is about; also what has no room elsewhere."""
        if self._tightness and self._head().cell_len > ink.width:
            yield Part(lambda ink: ink.wrapped(Text(kind_and_title(self._asked)[1], Style(bold=True))))
        yield from permission_parts(self._asked, self._cwd, ink)
        if self._tightness == 2 and self._has_always:
            yield Part(lambda ink: ink.wrapped(Text(reach_of_always(self._asked), ink.palette.muted)))

    def lines_beside(self, tightness: Tightness, width: int) -> int:
        """How many it has besides what it is about."""
        ink = Ink(self._palette, width)
        answers = len(self._rows(tightness, width))
        if tightness == 2:
            return 2 + answers
        hint = len(ink.wrapped(self._hint(is_told=True)))
        return (2 if tightness else 2 + len(ink.wrapped(self._head()))) + answers + hint

    def squeeze(self, tightness: Tightness) -> None:
        """Take less room, or more again."""
        if tightness != self._tightness:
            self._tightness = tightness
            for hint in self.query(".hint"):
                hint.display = tightness < 2
            self._update_answers()
            for detail in self.query(LinesView):
                detail.show(self._detail)

    def put_place(self, place: tuple[int, int]) -> None:
        """More questions have come, or gone."""
        if place != self._place:
            self._place = place
            for head in self.query(".head").results(Static):  # none before it is composed
                head.update(self._head())

    def put_palette(self, palette: Palette) -> None:
        """In other colours; what it is about is told by whoever tells all such views."""
        self._palette = palette
        for name, text in ((".head", self._head), (".answers", self._answers), (".hint", self._hint)):
            for part in self.query(name).results(Static):
                part.update(text())

    def on_resize(self) -> None:
        self._update_answers()

    def _update_answers(self) -> None:
        for part in self.query(".answers").results(Static):
            part.update(self._answers())

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
        return Text("\n").join(self._rows(self._tightness, self.screen.size.width - 6))

    def _rows(self, tightness: Tightness, width: int) -> list[Text]:
        """The answers beside each other where there is room for all of them, else a line each."""
        answers = self._each_answer()
        beside = Text(_GAP).join(answers)
        if beside.cell_len <= width:
            return [beside]
        return in_rows(answers, width) if tightness else answers

    def _each_answer(self) -> list[Text]:
        palette = self._palette
        answers: list[Text] = []
        for option, (number, letter) in zip(self._asked.options, keys_of(self._asked.options), strict=True):
            style = palette.good if option.kind.startswith("allow") else palette.bad
            if not option.kind.startswith(("allow", "reject")):
                style = palette.accent
            key = " ".join(filter(None, [number, letter]))
            answer = Text(f" {key} ", style + Style(bold=True, reverse=True))
            answers.append(Text.assemble(answer, f" {one_line(option.name, 200)}"))
            answers[-1].stylize(Style(meta={"option": option.id}))
        return answers

    @property
    def _has_always(self) -> bool:
        return any(option.kind.endswith("_always") for option in self._asked.options)

    def _hint(self, *, is_told: bool = False) -> Text:
        lines = [reach_of_always(self._asked)] if self._has_always else []
        is_told = is_told or self.has_focus
        keys = "press a key above · esc cancel · ↑↓ scroll · tab to the prompt" if is_told else "tab to answer"
        return Text("\n".join([*lines, keys]), self._palette.muted)

    def on_key(self, event: events.Key) -> None:
        scrolls = {"up": -1, "down": 1}
        if event.key == "escape":
            event.stop()
            self.question.decline()
        elif event.key in scrolls:
            event.stop()
            self.scroll_detail(scrolls[event.key])

    def on_click(self, event: events.Click) -> None:
        option_id = event.style.meta.get("option")
        if option_id is not None and not self.is_settling:
            self.question.answer(PermissionAnswer(outcome="selected", option_id=option_id))

    def scroll_detail(self, lines: int) -> None:
        """Show more of what it is about."""
        detail = self.query_one(LinesView)
        detail.scroll_to(y=detail.scroll_offset.y + lines, animate=False)

    def scroll_page(self, step: int) -> None:
        self.scroll_detail(step * max(1, self.query_one(LinesView).size.height - 1))

    def typed(self, character: str) -> bool:
        """Whether this was for the question; if not, it belongs into the prompt."""
        if self.presses.is_held(character):  # it has answered the question before, or scrolled what is above
            return True
        if self.is_settling or self.question.answered.done():
            return False
        option = self._option(character)
        if option is not None:
            self.question.answer(PermissionAnswer(outcome="selected", option_id=option.id))
        return option is not None

    def _option(self, key: str) -> PermissionOption | None:
        for option, keys in zip(self._asked.options, keys_of(self._asked.options), strict=True):
            if key.lower() in keys:
                return option
        return None
