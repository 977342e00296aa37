"""The place above the prompt where questions are asked, one at a time."""

from __future__ import annotations

from typing import TypeAlias, cast

from textual.containers import Vertical
from textual.geometry import Size
from textual.widget import Widget

from accord.apps.console.always_choices import Keeper
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.key_presses import Presses
from accord.apps.console.screen.session import Question
from accord.apps.console.screen.widgets.form import FormBar, LinkBar
from accord.apps.console.screen.widgets.lines import LinesView
from accord.apps.console.screen.widgets.permission import PermissionBar, Tightness
from accord.session.requests import ElicitationRequest

__all__ = ["QuestionDock"]

Bar: TypeAlias = PermissionBar | FormBar | LinkBar
LOW, LOWEST = 32, 16
"""On a screen with fewer lines, what is not needed to answer makes room."""
_LEAST = 3
"""So many lines of what it is about, at least, as long as anything else can make room."""


class QuestionDock(Vertical):
    """Holds the bar of the question that is asked now."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False
        self._bar: Bar | None = None
        self.presses = Presses()
        """Of the keyboard that answers."""

    @property
    def question(self) -> Question | None:
        return None if self._bar is None else self._bar.question

    @property
    def has_the_focus(self) -> bool:
        bar, focused = self._bar, self.screen.focused
        return bar is not None and focused is not None and (focused is bar or bar in focused.ancestors)

    def put(
        self, question: Question | None, place: tuple[int, int], cwd: str, palette: Palette, keeper: Keeper
    ) -> bool:
        """Ask this one; whether it is another one than before."""
        if question is self.question:
            if self._bar is not None:
                self._bar.put_place(place)
            return False
        if self._bar is not None:
            self._bar.remove()
        self._bar = None if question is None else self._bar_of(question, place, cwd, palette, keeper)
        self.display = self._bar is not None
        self.screen.set_class(self._bar is not None, "asking")
        if self._bar is not None:
            self.mount(self._bar)
            self._bar.call_after_refresh(lambda: self.fit(self.screen.size.height))  # of the bar: it has its parts then
        else:
            self.fit(self.screen.size.height)
        return True

    def _bar_of(self, question: Question, place: tuple[int, int], cwd: str, palette: Palette, keeper: Keeper) -> Bar:
        if not isinstance(question.asked, ElicitationRequest):
            return PermissionBar(question, self.presses, cwd, place, palette, keeper=keeper)
        kind = LinkBar if question.asked.mode == "url" else FormBar
        return kind(question, self.presses, place, palette)

    def settle(self) -> None:
        """The screen is seen again: what was pressed until now was for what has covered it."""
        if self._bar is not None:
            self._bar.settle()

    def put_palette(self, palette: Palette) -> None:
        if self._bar is not None:
            self._bar.put_palette(palette)

    def on_resize(self) -> None:
        self.fit(self.screen.size.height)

    def fit(self, height: int) -> None:
        """What is asked may take a good half of the screen; what it is about scrolls inside of that.

        Whatever else is there, the answers stay in view, and a little of the conversation as long as there is room.
        """
        screen, bar = self.screen, self._bar
        screen.set_class(height < LOW, "low")
        screen.set_class(height < LOWEST, "lowest")
        if bar is None:
            screen.remove_class("tight")
            return
        others = [part for part in screen.query("#tabs, #plan, #queue, #foot") if part.display]
        beside = sum(part.outer_size.height for part in others) + screen.has_class("tight")
        for part in self.query("#detail, .fields"):
            least = min(_LEAST, _lines_of(part, screen.size))
            tightness, room = self._share(bar, height - beside, least, height < LOW)
            screen.set_class(tightness > 0, "tight")
            bar.squeeze(tightness)
            margins = 0 if height < LOW else 2
            others_of_bar = max(6, bar.lines_beside(0, screen.size.width - 6)) + margins
            most = room if tightness else min(room, max(least, height * 6 // 10 - others_of_bar))
            part.styles.max_height = max(1, most)

    def _share(self, bar: Bar, height: int, least: int, low: bool) -> tuple[Tightness, int]:
        """How tight it has to be within so many lines, and how many are then left for what it is about."""
        width = self.screen.size.width - 6
        conversation, margins, frame = 2, 0 if low else 2, 1
        left = height - conversation - margins - bar.lines_beside(0, width)
        if left >= least:
            return 0, left
        height += frame - 1  # the prompt's becomes less, and of the conversation one line stays
        left = height - bar.lines_beside(1, width)
        return (1, left) if left >= least else (2, height - bar.lines_beside(2, width))

    def take_focus(self) -> None:
        """Let the user answer."""
        if isinstance(self._bar, PermissionBar):
            self.screen.set_focus(self._bar)
        elif self._bar is not None:
            bar = self._bar
            fields = [cast("Vertical", each) for each in bar.query("*").results() if each.focusable]
            if fields:
                self.screen.set_focus(fields[0], scroll_visible=False)  # what is asked is read from its beginning
            elif not bar.is_mounted:  # it has only just been put there, and is still empty
                bar.call_after_refresh(self.take_focus)


def _lines_of(part: Widget, size: Size) -> int:
    """How many lines it is about; a view of ours knows them before it has been drawn."""
    if isinstance(part, LinesView) and not part.virtual_size:
        return part.get_content_height(size, size, size.width - 4)
    return part.virtual_size.height
