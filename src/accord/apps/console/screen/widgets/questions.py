"""The place above the prompt where questions are asked, one at a time."""

from __future__ import annotations

import time
from typing import cast

from textual.containers import Vertical

from accord.apps.console.screen.asking import Question
from accord.apps.console.screen.drawing.ink import Palette
from accord.apps.console.screen.widgets.form import FormBar, LinkBar
from accord.apps.console.screen.widgets.permission import PermissionBar
from accord.session.requests import Elicit

__all__ = ["QuestionDock"]

_JUST_NOW = 1.0
LOW = 32
"""On a screen with fewer lines, what is not needed to answer makes room."""


class QuestionDock(Vertical):
    """Holds the bar of the question that is asked now."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False
        self._bar: PermissionBar | FormBar | LinkBar | None = None
        self._answered_at = 0.0

    @property
    def question(self) -> Question | None:
        return None if self._bar is None else self._bar.question

    @property
    def has_the_focus(self) -> bool:
        bar, focused = self._bar, self.screen.focused
        return bar is not None and focused is not None and (focused is bar or bar in focused.ancestors)

    def put(self, question: Question | None, place: tuple[int, int], cwd: str, palette: Palette) -> bool:
        """Ask this one; whether it is another one than before."""
        if question is self.question:
            if self._bar is not None:
                self._bar.put_place(place)
            return False
        if self.has_the_focus:
            self._answered_at = time.monotonic()
        if self._bar is not None:
            self._bar.remove()
        self._bar = None if question is None else _bar(question, place, cwd, palette)
        self.display = self._bar is not None
        self.screen.set_class(self._bar is not None, "asking")
        if self._bar is not None:
            if isinstance(self._bar, PermissionBar):
                self._bar.was_answering = time.monotonic() - self._answered_at < _JUST_NOW
            self.mount(self._bar)
            self.call_after_refresh(lambda: self.fit(self.screen.size.height))
        return True

    def on_resize(self) -> None:
        self.fit(self.screen.size.height)

    def fit(self, height: int) -> None:
        """What is asked may take a good half of the screen; what it is about scrolls inside of that."""
        self.screen.set_class(height < LOW, "low")
        room = max(3, height * 6 // 10 - (6 if height < LOW else 8))
        for part in self.query("#detail, .fields"):
            part.styles.max_height = room

    def take_focus(self) -> None:
        """Let the user answer."""
        if isinstance(self._bar, PermissionBar):
            self._bar.focus()
        elif self._bar is not None:
            bar = self._bar
            fields = [cast("Vertical", each) for each in bar.query("*").results() if each.focusable]
            if fields:
                fields[0].focus()


def _bar(question: Question, place: tuple[int, int], cwd: str, palette: Palette) -> PermissionBar | FormBar | LinkBar:
    if not isinstance(question.asked, Elicit):
        return PermissionBar(question, cwd, place, palette)
    kind = LinkBar if question.asked.mode == "url" else FormBar
    return kind(question, place, palette)
