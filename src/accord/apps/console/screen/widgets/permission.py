"""The permission bar: what the agent wants to do, in full, and the answers.

Law: only a key meant for it answers it, and only who could see the end of what is asked can allow it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from accord.apps.console.always_choices import Keeper, has_always, reach_of_always
from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.drawing.palette import Ink, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.drawing.permission_text import kind_and_title, permission_parts
from accord.apps.console.screen.drawing.raw_input import named_parts
from accord.apps.console.screen.key_presses import Presses
from accord.apps.console.screen.session import Question
from accord.apps.console.screen.widgets.lines import LinesView
from accord.local.text import max_cells
from accord.session.requests import PermissionAnswer, PermissionOption, PermissionRequest

__all__ = ["SETTLING", "PermissionBar", "QuestionBar", "Tightness", "keys_of"]

Tightness: TypeAlias = Literal[0, 1, 2]
"""How little room there is: 1 without frames, 2 without hints either."""

_LETTERS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "d"}
_GAP = "   "
_LONGEST_ANSWER = 160
"""In letters; a longer name is told whole among the rest."""
_MOST_ROWS = 5
"""On a low screen; if the answers need more, their names are told among the rest, too."""
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
        if rows and max_cells(rows[-1].plain + _GAP + answer.plain) <= width:
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
        self._is_read = False
        self.settle()

    @property
    def lines_below(self) -> int | None:
        """How many lines of what is asked are below those that can be seen now; None before that is known."""
        raise NotImplementedError

    def show_what_is_read(self) -> None:
        """Tell whether there is more to read, and whether it can be allowed."""

    @property
    def is_read(self) -> bool:
        """Whether the end of what is asked could be seen, now or before: if not, nothing is allowed."""
        self._is_read = self._is_read or self.lines_below == 0
        return self._is_read

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
        self,
        question: Question,
        presses: Presses,
        cwd: str,
        place: tuple[int, int],
        palette: Palette,
        *,
        keeper: Keeper,
    ) -> None:
        super().__init__(question, presses)
        assert isinstance(question.asked, PermissionRequest)
        self._asked = question.asked
        self._cwd = cwd
        self._place = place
        self._palette = palette
        self._always = reach_of_always(self._asked, keeper, forgets=True) if has_always(self._asked) else ""
        self._tightness: Tightness = 0
        self._told = "", False

    def compose(self) -> ComposeResult:
        yield Static(self._head(), classes="head", markup=False)
        yield LinesView(self._detail, self._palette, id="detail")
        yield Static(self._answers(), classes="answers", markup=False)
        yield Static(self._hint(), classes="hint", markup=False)

    def _detail(self, ink: Ink) -> Iterator[Part]:
        """All that it is about; also what has no room elsewhere."""
        if self._tightness and max_cells(self._title().plain) > ink.width:
            kind, title = kind_and_title(self._asked)
            yield Part(
                lambda ink: [ink.strip(line) for line in ink.exact_lines(Text(f"{kind}  {title}", Style(bold=True)))]
            )
        yield from permission_parts(self._asked, self._cwd, ink)
        for option, shown in zip(self._asked.options, self._names(self._tightness, self._width), strict=True):
            if shown != exact_line(option.name):
                yield from named_parts(f"answer {self._asked.options.index(option) + 1}", option.name)
        if self._tightness == 2 and self._always:
            yield Part(lambda ink: ink.wrapped(Text(self._always, ink.palette.muted)))

    @property
    def _width(self) -> int:
        return self.screen.size.width - 6

    def lines_beside(self, tightness: Tightness, width: int) -> int:
        """How many it has besides what it is about."""
        ink = Ink(self._palette, width)
        answers = len(self._rows(tightness, width))
        if tightness == 2:
            return 2 + answers
        hint = len(ink.wrapped(self._hint(is_told=True)))
        return (2 if tightness else 2 + len(ink.exact_lines(self._title()))) + answers + hint

    def squeeze(self, tightness: Tightness) -> None:
        """Take less room, or more again."""
        if tightness != self._tightness:
            self._tightness = tightness
            for hint in self.query(".hint"):
                hint.display = tightness < 2
            self._update(".head", ".answers")
            for detail in self.query(LinesView):
                detail.show(self._detail)

    def put_place(self, place: tuple[int, int]) -> None:
        """More questions have come, or gone."""
        if place != self._place:
            self._place = place
            self._update(".head")

    def put_palette(self, palette: Palette) -> None:
        """In other colours; what it is about is told by whoever tells all such views."""
        self._palette = palette
        self._update(".head", ".answers", ".hint")

    def on_resize(self) -> None:
        self._update(".head", ".answers")

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._update(".hint")

    def _update(self, *names: str) -> None:
        texts = {".head": self._head, ".answers": self._answers, ".hint": self._hint}
        for name in names:
            for part in self.query(name).results(Static):  # none before it is composed
                part.update(texts[name]())

    @on(LinesView.Moved)
    def look(self) -> None:
        """Once it is laid out: before, what is in view is not yet what somebody sees."""
        self.call_after_refresh(self.show_what_is_read)

    @property
    def lines_below(self) -> int | None:
        return next((detail.lines_below for detail in self.query(LinesView)), None)

    def show_what_is_read(self) -> None:
        below = self.lines_below
        told = f"▼ {below} more line{'s' if below != 1 else ''}" if below else ""
        if not self.is_read:
            told = f"{told or '▼ more lines'}: scroll to the end before you allow it"
        if (told, self._is_read) != self._told:
            self._told = told, self._is_read
            self.border_title = told
            self._update(".answers", ".hint")

    def _head(self) -> Text:
        if self._tightness:
            return self._title()
        return Text("\n").join(Ink(self._palette, self._width).exact_lines(self._title()))

    def _title(self) -> Text:
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
        return Text("\n").join(self._rows(self._tightness, self._width))

    def _rows(self, tightness: Tightness, width: int) -> list[Text]:
        """The answers beside each other where there is room for all of them, else a line each."""
        answers = self._each_answer(self._names(tightness, width))
        beside = Text(_GAP).join(answers)
        if max_cells(beside.plain) <= width:
            return [beside]
        ink = Ink(self._palette, width)
        return [line for row in (in_rows(answers, width) if tightness else answers) for line in ink.exact_lines(row)]

    def _names(self, tightness: Tightness, width: int) -> list[str]:
        """What the answers are called beside their keys: cut to a line each on a low screen, where it must be to none."""
        names = [exact_line(option.name, _LONGEST_ANSWER) for option in self._asked.options]
        if tightness:
            names = [exact_line(name, max(8, width - 8)) if max_cells(name) > width - 8 else name for name in names]
            if len(in_rows(self._each_answer(names), width)) > _MOST_ROWS:
                return ["" for _ in names]
        return names

    def _each_answer(self, names: Sequence[str]) -> list[Text]:
        palette = self._palette
        answers: list[Text] = []
        options = self._asked.options
        for place, (option, (number, letter), name) in enumerate(zip(options, keys_of(options), names, strict=True)):
            style = palette.good if option.kind.startswith("allow") else palette.bad
            if not option.kind.startswith(("allow", "reject")):
                style = palette.accent
            if not self._is_read and _gives_way(option):
                style = palette.muted
            key = " ".join(filter(None, [number, letter])) or ("" if name else str(place + 1))
            answer = Text(f" {key} ", style + Style(bold=True, reverse=True))
            answers.append(Text.assemble(answer, f" {name}" if name else ""))
            answers[-1].stylize(Style(meta={"option": option.id}))
        return answers

    def _hint(self, *, is_told: bool = False) -> Text:
        lines = [self._always] if self._always else []
        is_told = is_told or self.has_focus
        keys = "press a key above · esc cancel · ↑↓ scroll · tab to the prompt" if is_told else "tab to answer"
        if is_told and not self._is_read:
            keys = "↓ PgDn End show the rest · esc cancel · tab to the prompt"
        return Text("\n".join([*lines, keys]), self._palette.muted)

    def on_key(self, event: events.Key) -> None:
        scrolls = {"up": -1, "down": 1}
        if event.key == "escape":
            event.stop()
            self.question.decline()
        elif event.key in scrolls:
            event.stop()
            self.scroll_detail(scrolls[event.key])
        elif event.key in ("home", "end"):
            event.stop()
            self._scroll_to_edge(event.key)

    def on_click(self, event: events.Click) -> None:
        option_id = event.style.meta.get("option")
        options = [option for option in self._asked.options if option.id == option_id]
        if options and not self.is_settling:
            self._choose(options[0])

    def scroll_detail(self, lines: int) -> None:
        """Show more of what it is about."""
        detail = self.query_one(LinesView)
        detail.scroll_to(y=detail.scroll_offset.y + lines, animate=False)

    def scroll_page(self, step: int) -> None:
        self.scroll_detail(step * max(1, self.query_one(LinesView).size.height - 1))

    def _scroll_to_edge(self, key: str) -> None:
        detail = self.query_one(LinesView)
        if key == "end":
            detail.follow()
        else:
            detail.scroll_to(y=0, animate=False)

    def typed(self, character: str) -> bool:
        """Whether this was for the question; if not, it belongs into the prompt."""
        if self.presses.is_held(character):  # it has answered the question before, or scrolled what is above
            return True
        if self.is_settling or self.question.answered.done():
            return False
        option = self._option(character)
        if option is not None:
            self._choose(option)
        return option is not None

    def _choose(self, option: PermissionOption) -> None:
        if self.is_read or not _gives_way(option):
            self.question.answer(PermissionAnswer(outcome="selected", option_id=option.id))
        else:
            self.show_what_is_read()

    def _option(self, key: str) -> PermissionOption | None:
        for option, keys in zip(self._asked.options, keys_of(self._asked.options), strict=True):
            if key.lower() in keys:
                return option
        return None


def _gives_way(option: PermissionOption) -> bool:
    """Whether choosing it may let something happen."""
    return not option.kind.startswith("reject")
