"""The question dock above the prompt: shows one question at a time, and fits it into the screen."""

from __future__ import annotations

from typing import TypeAlias, cast

from textual.containers import Vertical
from textual.geometry import Size
from textual.widget import Widget

from accord.apps.console.permission_flags import ChoiceOwner
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.apps.console.screen.keys import HeldKeys
from accord.apps.console.screen.questions import Question
from accord.apps.console.screen.widgets.form_bar import FormBar, LinkBar
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.screen.widgets.permission_bar import PermissionBar, Tightness
from accord.session.requests import ElicitationRequest

Bar: TypeAlias = PermissionBar | FormBar | LinkBar
LOW, LOWEST = 32, 16
"""On a screen with fewer lines, parts that are not needed to answer are hidden."""
_LEAST = 3
"""The least number of lines for the details, as long as other parts can be hidden."""


class QuestionDock(Vertical):
    """Holds the bar of the current question."""

    def __init__(self, keys: KeyBindings, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keys = keys
        self.display = False
        self._bar: Bar | None = None
        self.held_keys = HeldKeys()
        """Which key is held down: a held key answers only one question."""

    @property
    def question(self) -> Question | None:
        return None if self._bar is None else self._bar.question

    @property
    def has_the_focus(self) -> bool:
        bar, focused = self._bar, self.screen.focused
        return bar is not None and focused is not None and (focused is bar or bar in focused.ancestors)

    def set_question(
        self, question: Question | None, position: tuple[int, int], cwd: str, palette: Palette, keeper: ChoiceOwner
    ) -> bool:
        """Show a question, or none; returns whether it is another one than before."""
        if question is self.question:
            if self._bar is not None:
                self._bar.set_position(position)
            return False
        if self._bar is not None:
            self._bar.remove()
        self._bar = None if question is None else self._make_bar(question, position, cwd, palette, keeper)
        self.display = self._bar is not None
        self.screen.set_class(self._bar is not None, "asking")
        if self._bar is not None:
            self.mount(self._bar)
            self._bar.call_after_refresh(lambda: self.fit(self.screen.size.height))  # after the bar is composed
        else:
            self.fit(self.screen.size.height)
        return True

    def _make_bar(
        self, question: Question, position: tuple[int, int], cwd: str, palette: Palette, keeper: ChoiceOwner
    ) -> Bar:
        if not isinstance(question.request, ElicitationRequest):
            return PermissionBar(question, self.held_keys, cwd, position, palette, keeper=keeper, keys=self._keys)
        kind = LinkBar if question.request.mode == "url" else FormBar
        return kind(question, self.held_keys, position, palette, self._keys)

    def settle(self) -> None:
        """The screen is visible again: earlier key presses were meant for what covered it."""
        if self._bar is not None:
            self._bar.settle()

    def set_palette(self, palette: Palette) -> None:
        if self._bar is not None:
            self._bar.set_palette(palette)

    def on_resize(self) -> None:
        self.fit(self.screen.size.height)

    def fit(self, height: int) -> None:
        """Give the question at most a good half of the screen; its details scroll.

        The answers always stay visible, and a little of the conversation as long as there is room.
        """
        screen, bar = self.screen, self._bar
        screen.set_class(height < LOW, "low")
        screen.set_class(height < LOWEST, "lowest")
        if bar is None:
            screen.remove_class("tight")
            return
        others = [part for part in screen.query("#tabs, #new-text, #search, #plan, #queue, #foot") if part.display]
        used = sum(part.outer_size.height for part in others) + screen.has_class("tight")
        for part in self.query("#detail, .fields"):
            least = min(_LEAST, _lines_of(part, screen.size))
            tightness, room = self._share(bar, height - used, least, height < LOW)
            screen.set_class(tightness > 0, "tight")
            bar.squeeze(tightness)
            margins = 0 if height < LOW else 2
            others_of_bar = max(6, bar.lines_beside(0, screen.size.width - 6)) + margins
            most = room if tightness else min(room, max(least, height * 6 // 10 - others_of_bar))
            part.styles.max_height = max(1, most)

    def _share(self, bar: Bar, height: int, least: int, low: bool) -> tuple[Tightness, int]:
        """How tight the bar must be within this many lines, and the number of lines left for its details."""
        width = self.screen.size.width - 6
        conversation, margins = 2, 0 if low else 2
        left = height - conversation - margins - bar.lines_beside(0, width)
        if left >= least:
            return 0, left
        left = height - bar.lines_beside(1, width)  # the prompt loses a frame, and one line of the conversation stays
        return (1, left) if left >= least else (2, height - bar.lines_beside(2, width))

    def take_focus(self) -> None:
        """Move the focus to the question."""
        if isinstance(self._bar, PermissionBar):
            self.screen.set_focus(self._bar)
        elif self._bar is not None:
            bar = self._bar
            fields = [cast("Vertical", each) for each in bar.query("*").results() if each.focusable]
            if fields:
                self.screen.set_focus(fields[0], scroll_visible=False)  # the question is read from its beginning
            elif not bar.is_mounted:  # not composed yet
                bar.call_after_refresh(self.take_focus)


def _lines_of(part: Widget, size: Size) -> int:
    """The number of lines of the details. A `LinesView` knows it before it is drawn."""
    if isinstance(part, LinesView) and not part.virtual_size:
        return part.get_content_height(size, size, size.width - 4)
    return part.virtual_size.height
