"""The permission bar: what the agent wants to do, in full, and the answers.

Law: only a key press meant for the question answers it, and nothing is allowed until the end of the question was visible.
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

from accord.apps.console.permission_flags import ChoiceOwner, always_scope, offers_always
from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.drawing.permission_text import kind_and_title, named_parts, permission_parts
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.apps.console.screen.keys import HeldKeys
from accord.apps.console.screen.questions import Question
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.local.text import max_cells
from accord.session.requests import PermissionAnswer, PermissionOption, PermissionRequest

Tightness: TypeAlias = Literal[0, 1, 2]
"""How little room there is: 1 without frames, 2 without hints as well."""

_LETTERS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "d"}
_ANSWER_KEYS = {*"yand123456789"}
_GAP = "   "
_LONGEST_ANSWER = 160
"""In characters; a longer name is shown in full among the details."""
_MOST_ROWS = 5
"""On a low screen; if the answers need more rows, their names move to the details."""
SETTLING = 0.3
"""For this many seconds after a question has appeared, key presses were meant for what was there before."""


def keys_of(options: list[PermissionOption]) -> list[tuple[str, str | None]]:
    """For each option its number and, for the first of its kind, its letter."""
    used: set[str] = set()
    keys: list[tuple[str, str | None]] = []
    for index, option in enumerate(options):
        letter = _LETTERS.get(option.kind)
        keys.append((str(index + 1) if index < 9 else "", letter if letter not in used else None))
        if letter is not None:
            used.add(letter)
    return keys


def in_rows(answers: Sequence[Text], width: int) -> list[Text]:
    """Arrange the answers in as few rows as possible."""
    rows: list[Text] = []
    for answer in answers:
        if rows and max_cells(rows[-1].plain + _GAP + answer.plain) <= width:
            rows[-1].append(_GAP).append_text(answer)
        else:
            rows.append(answer)
    return rows


class QuestionBar(Vertical):
    """A question to the user. It never takes the focus while the user is typing."""

    def __init__(self, question: Question, held_keys: HeldKeys) -> None:
        super().__init__(classes="question")
        self.question = question
        self.held_keys = held_keys
        self._is_read = False
        self.settle()

    @property
    def lines_below(self) -> int | None:
        """The number of lines below the visible ones; None until that is known."""
        raise NotImplementedError

    def update_title(self) -> None:
        """Show whether there is more to read."""

    @property
    def is_read(self) -> bool:
        """Whether the end of the question is or was visible: if not, nothing can be allowed."""
        self._is_read = self._is_read or self.lines_below == 0
        return self._is_read

    def settle(self) -> None:
        """The question has become visible, maybe again."""
        self._visible_since = time.monotonic()

    @property
    def is_settling(self) -> bool:
        """Whether key presses are not answers yet."""
        return time.monotonic() - self._visible_since < SETTLING


class PermissionBar(QuestionBar, can_focus=True):
    """A permission request."""

    def __init__(
        self,
        question: Question,
        held_keys: HeldKeys,
        cwd: str,
        position: tuple[int, int],
        palette: Palette,
        *,
        keeper: ChoiceOwner,
        keys: KeyBindings,
    ) -> None:
        super().__init__(question, held_keys)
        assert isinstance(question.request, PermissionRequest)
        self._request = question.request
        self._cwd = cwd
        self._position = position
        self._palette = palette
        self._keys = keys
        forget = f"Forget ({keys.hint('command_palette')})"
        self._scope = always_scope(self._request, keeper, forget) if offers_always(self._request) else ""
        """What an answer for always covers."""
        self._tightness: Tightness = 0
        self._title_state = "", False
        self._selected: int | None = None
        """The index of the answer that Enter gives. No answer is selected until the user selects one."""
        self._reason = ""
        """Why the last key did nothing."""

    def compose(self) -> ComposeResult:
        yield Static(self._head(), classes="head", markup=False)
        yield LinesView(self._detail, self._palette, id="detail")
        yield Static(self._answers(), classes="answers", markup=False)
        yield Static(self._hint(), classes="hint", markup=False)

    def _detail(self, canvas: Canvas) -> Iterator[Part]:
        """The details, and everything that has no room elsewhere."""
        if self._tightness and max_cells(self._title().plain) > canvas.width:
            kind, title = kind_and_title(self._request)
            yield Part(
                lambda canvas: [
                    canvas.strip(line) for line in canvas.exact_lines(Text(f"{kind}  {title}", Style(bold=True)))
                ]
            )
        yield from permission_parts(self._request, self._cwd, canvas)
        for option, shown in zip(self._request.options, self._names(self._tightness, self._width), strict=True):
            if shown != exact_line(option.name):
                yield from named_parts(f"answer {self._request.options.index(option) + 1}", option.name)
        if self._tightness == 2 and self._scope:
            yield Part(lambda canvas: canvas.wrap(Text(self._scope, canvas.palette.muted)))

    @property
    def _width(self) -> int:
        return self.screen.size.width - 6

    def lines_beside(self, tightness: Tightness, width: int) -> int:
        """The number of lines besides the details."""
        canvas = Canvas(self._palette, width)
        answers = len(self._rows(tightness, width))
        if tightness == 2:
            return 2 + answers
        hint = len(canvas.wrap(self._hint(is_focused=True)))
        return (2 if tightness else 2 + len(canvas.exact_lines(self._title()))) + answers + hint

    def squeeze(self, tightness: Tightness) -> None:
        """Take less room, or more."""
        if tightness != self._tightness:
            self._tightness = tightness
            for hint in self.query(".hint"):
                hint.display = tightness < 2
            self._update(".head", ".answers")
            for detail in self.query(LinesView):
                detail.show(self._detail)

    def set_position(self, position: tuple[int, int]) -> None:
        """The number of open questions has changed."""
        if position != self._position:
            self._position = position
            self._update(".head")

    def set_palette(self, palette: Palette) -> None:
        """Change the colours, except those of the details."""
        self._palette = palette
        self._update(".head", ".answers", ".hint")

    def on_resize(self) -> None:
        self._update(".head", ".answers")

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._update(".hint")

    def _update(self, *selectors: str) -> None:
        texts = {".head": self._head, ".answers": self._answers, ".hint": self._hint}
        for selector in selectors:
            for part in self.query(selector).results(Static):  # none before it is composed
                part.update(texts[selector]())

    @on(LinesView.Moved)
    def update_title_later(self) -> None:
        """After the layout: before, the visible lines are not known."""
        self.call_after_refresh(self.update_title)

    @property
    def lines_below(self) -> int | None:
        return next((detail.lines_below for detail in self.query(LinesView)), None)

    def update_title(self) -> None:
        below = self.lines_below
        title = f"▼ {below} more line{'s' if below != 1 else ''}" if below else ""
        if not self.is_read:
            title = f"{title or '▼ more lines'}: scroll to the end before you allow it"
        if (title, self._is_read) != self._title_state:
            self._title_state = title, self._is_read
            self.border_title = title
            self._update(".answers", ".hint")

    def _head(self) -> Text:
        if self._tightness:
            return self._title()
        return Text("\n").join(Canvas(self._palette, self._width).exact_lines(self._title()))

    def _title(self) -> Text:
        palette = self._palette
        kind, title = kind_and_title(self._request)
        number, total = self._position
        position = f" {number} of {total} " if total > 1 else ""
        return Text.assemble(
            (" Permission ", palette.warning + Style(bold=True, reverse=True)),
            (position, palette.warning),
            f" {kind}  ",
            (title, Style(bold=True)),
        )

    def _answers(self) -> Text:
        return Text("\n").join(self._rows(self._tightness, self._width))

    def _rows(self, tightness: Tightness, width: int) -> list[Text]:
        """The answers in one row if they fit, else one row each."""
        answers = self._each_answer(self._names(tightness, width))
        one_row = Text(_GAP).join(answers)
        if max_cells(one_row.plain) <= width:
            return [one_row]
        canvas = Canvas(self._palette, width)
        return [line for row in (in_rows(answers, width) if tightness else answers) for line in canvas.exact_lines(row)]

    def _names(self, tightness: Tightness, width: int) -> list[str]:
        """The names of the answers: on a low screen cut to one line each, or left out."""
        names = [exact_line(option.name, _LONGEST_ANSWER) for option in self._request.options]
        if tightness:
            names = [exact_line(name, max(8, width - 8)) if max_cells(name) > width - 8 else name for name in names]
            if len(in_rows(self._each_answer(names), width)) > _MOST_ROWS:
                return ["" for _ in names]
        return names

    def _each_answer(self, names: Sequence[str]) -> list[Text]:
        palette = self._palette
        answers: list[Text] = []
        options = self._request.options
        for index, (option, (number, letter), name) in enumerate(zip(options, keys_of(options), names, strict=True)):
            style = palette.good if option.kind.startswith("allow") else palette.bad
            if not option.kind.startswith(("allow", "reject")):
                style = palette.accent
            if not self._is_read and _may_allow(option):
                style = palette.muted
            key = " ".join(filter(None, [number, letter])) or ("" if name else str(index + 1))
            is_selected = index == self._selected
            answer = Text(f"{'▸' if is_selected else ' '}{key} ", style + Style(bold=True, reverse=True))
            name_style = Style(bold=True, underline=True) if is_selected else Style()
            answers.append(Text.assemble(answer, " " if name else "", (name, name_style)))
            answers[-1].stylize(Style(meta={"option": option.id}))
        return answers

    def _hint(self, *, is_focused: bool = False) -> Text:
        lines = [self._scope] if self._scope else []
        is_focused = is_focused or self.has_focus
        move = self._keys.hint("next_focus")
        keys = f"press a key above, or ↑↓ and Enter · Esc cancel · {move} to the prompt"
        if not self._is_read:
            rest = " ".join(filter(None, ["↓", self._keys.label("scroll_down"), "End"]))
            keys = f"{rest} show the rest · Esc cancel · {move} to the prompt"
        keys = keys if is_focused else f"{move} to answer"
        last = Text(self._reason, self._palette.warning) if self._reason else Text(keys, self._palette.muted)
        return Text("\n").join([*(Text(line, self._palette.muted) for line in lines), last])

    def explain(self, reason: str) -> None:
        """Say in one line why a key did nothing; the next key removes it."""
        if reason and self._tightness == 2:  # no room for hints
            self.notify(reason, severity="warning", markup=False)
        elif reason != self._reason:
            self._reason = reason
            self._update(".hint")

    def on_key(self, event: events.Key) -> None:
        self.explain("")
        moves = {"left": -1, "right": 1, "up": -1, "down": 1}
        if event.key == "escape":
            event.stop()
            self.question.cancel()
        elif event.key == "enter":
            event.stop()
            self._confirm()
        elif event.key in moves:
            event.stop()
            self._move(event.key, moves[event.key])
        elif event.key in ("home", "end"):
            event.stop()
            self._scroll_to_edge(event.key)
        elif event.key not in self.screen.active_bindings:
            self.explain(f"{event.key} is not the key of an answer")

    def _move(self, key: str, step: int) -> None:
        """Down goes through the details and then through the answers, and Up back; Left and Right are for the answers."""
        detail, last = self.query_one(LinesView), len(self._request.options) - 1
        if key == "down" and self._selected is None and self.lines_below:
            self.scroll_detail(1)
        elif key == "up" and self._selected is None:
            self.scroll_detail(-1)
        elif key == "up" and self._selected == 0 and detail.max_scroll_y:
            self._select(None)
        else:
            index = self._selected
            self._select((0 if step > 0 else last) if index is None else min(max(index + step, 0), last))

    def _select(self, index: int | None) -> None:
        self._selected = index
        self._update(".answers")

    def _confirm(self) -> None:
        """Enter: give the selected answer."""
        if self.held_keys.is_held("enter"):
            self.explain("Enter is held down: release it, then answer")
        elif self.is_settling:
            self.explain("too early: the question has just appeared")
        elif self._selected is None:
            self.explain("no answer is selected: ↑↓ select one, or press its key")
        else:
            self._choose(self._request.options[self._selected])

    def on_click(self, event: events.Click) -> None:
        option_id = event.style.meta.get("option")
        options = [option for option in self._request.options if option.id == option_id]
        if options and self.is_settling:
            self.explain("too early: the question has just appeared")
        elif options:
            self._choose(options[0])

    def scroll_detail(self, lines: int) -> None:
        """Scroll the details."""
        detail = self.query_one(LinesView)
        detail.scroll_to(y=detail.scroll_offset.y + lines, animate=False)

    def scroll_page(self, step: int) -> None:
        self.explain("")
        self.scroll_detail(step * max(1, self.query_one(LinesView).size.height - 1))

    def _scroll_to_edge(self, key: str) -> None:
        detail = self.query_one(LinesView)
        if key == "end":
            detail.follow()
        else:
            detail.scroll_to(y=0, animate=False)

    def type_character(self, character: str) -> bool:
        """Answer with a character; returns False if it belongs into the prompt."""
        self.explain("")
        if self.held_keys.is_held(character):
            self.explain(f"{character} is held down and has answered the question before: release it")
            return True
        if self.is_settling or self.question.is_answered:
            return False
        option = self._option(character)
        if option is not None:
            self._choose(option)
        elif character in _ANSWER_KEYS:
            self.explain(
                f"no answer has the key {character}: it went into the prompt · {self._keys.hint('next_focus')} to answer"
            )
        return option is not None

    def _choose(self, option: PermissionOption) -> None:
        if self.is_read or not _may_allow(option):
            self.question.answer(PermissionAnswer(outcome="selected", option_id=option.id))
        else:
            self.update_title()
            self.explain("you can allow it when you have seen its last line: End shows it")

    def _option(self, key: str) -> PermissionOption | None:
        for option, keys in zip(self._request.options, keys_of(self._request.options), strict=True):
            if key.lower() in keys:
                return option
        return None


def _may_allow(option: PermissionOption) -> bool:
    """Whether the option may allow the action."""
    return not option.kind.startswith("reject")
