"""What a client of v1 or the draft has been shown of a session: needed to say in their terms what they have no word for.

Terminals that the agent shows become text inside the tool calls that hold them, several plans become one, and modes are
told beside the mode option. What can only be told whole, again and again, is held back until it has grown by a quarter:
so telling n pieces takes in the order of n, not n². The next patch of the tool call brings what is owed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from accord.dialects.dialect import Dialect
from accord.dialects.options import is_mode_option
from accord.dialects.terminal_meta import ToldTerminal
from accord.session.entities import Exit, Option, Plan, Terminal, TerminalItem, ToolCall
from accord.session.growing import Output

__all__ = ["ShowingDialect", "Shown", "terminal_text"]

TAIL = 32 * 1024
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]"
)


class Shown:
    """One session's part of it."""

    __slots__ = ("_calls", "_owing", "_told", "in_meta", "mode", "options", "plans", "terminals")

    def __init__(self) -> None:
        self.mode: str | None = None
        self.options: Sequence[Option] = ()
        self.plans: dict[str, Plan] = {}
        self.terminals: dict[str, Terminal] = {}
        self.in_meta: dict[str, ToldTerminal] = {}
        """The terminals that the client was told of in `_meta`, and shows itself."""
        self._calls: dict[str, ToolCall] = {}
        self._owing: set[str] = set()
        self._told: dict[tuple[str, str], int] = {}

    def mode_option_lags(self) -> bool:
        """Put the mode that was told into the mode option, and say whether that changed it."""
        for place, option in enumerate(self.options):
            if is_mode_option(option):
                if self.mode is None or option.value == self.mode:
                    return False
                option = replace(option, value=self.mode)
                self.options = [*self.options[:place], option, *self.options[place + 1 :]]
                return True
        return False

    def hold(self, call: ToolCall) -> None:
        """Remember a tool call that shows a terminal."""
        if call.content and any(type(item) is TerminalItem for item in call.content):
            self._calls[call.id] = call
        else:
            self._calls.pop(call.id, None)

    def keep(self, terminal: Terminal) -> None:
        """Remember a terminal as it is now; of one that has ended, no more than is told of it."""
        if terminal.exit is not None and len(terminal.output) > TAIL + 1:
            terminal = replace(terminal, output=Output(terminal.output[-TAIL - 1 :]))
        self.terminals[terminal.id] = terminal

    def calls_with(self, terminal_id: str) -> list[ToolCall]:
        """The tool calls that show a terminal."""
        return [
            call
            for call in self._calls.values()
            if any(type(item) is TerminalItem and item.terminal_id == terminal_id for item in call.content)
        ]

    def output_told(self, terminal: Terminal, whole: bool) -> bool:
        """Whether to tell the output now; if not, the tool calls that show it are owed it."""
        size, told = len(terminal.output), self._told.get(("terminal", terminal.id), 0)
        # Only the tail is told: past it, each time as much has come as would be told.
        if not whole and (size < told * 5 // 4 or (size >= TAIL * 4 and size - told < TAIL)):
            self._owing.update(call.id for call in self.calls_with(terminal.id))
            return False
        self._told["terminal", terminal.id] = size
        return True

    def piece_told(self, call: ToolCall) -> bool:
        """Whether to tell the content now, after one more item; if not, the call is owed it."""
        size, key = len(call.content), ("call", call.id)
        if size < self._told.get(key, 0) * 5 // 4:
            self._owing.add(call.id)
            return False
        self._told[key] = size
        self._owing.discard(call.id)
        return True

    def content_told(self, call: ToolCall, anyway: bool) -> bool:
        """Whether a patch of a call has to tell the content: it does so `anyway`, or the content is owed."""
        owed = call.id in self._owing
        self._owing.discard(call.id)
        if call.finished:
            self._told.pop(("call", call.id), None)
        elif anyway or owed:
            self._told["call", call.id] = len(call.content)
        return anyway or owed


def terminal_text(terminal: Terminal) -> str:
    """The end of the output as plain text, without escape sequences; how it exited is the last line."""
    cut = len(terminal.output) > TAIL
    output = terminal.output[-TAIL:]
    if cut:
        output = output.lstrip(bytes(range(0x80, 0xC0)))  # the rest of a character that was cut in two
    text = codecs.utf_8_decode(output, "replace", terminal.exit is not None)[0]
    text = _ESCAPES.sub("", "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")))
    if cut:
        text = "[earlier output left out]\n" + text
    if terminal.exit is not None:
        text = f"{text.rstrip()}\n[{_ending(terminal.exit)}]".lstrip("\n")
    return text


def _ending(end: Exit) -> str:
    if end.signal:
        return f"signal {end.signal}"
    return "ended" if end.code is None else f"exit code {end.code}"


class ShowingDialect(Dialect):
    """A dialect that has to remember what it showed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._shown: dict[str, Shown] = {}
        self.questions = 0
        """How many tool calls were made up for permission requests."""

    def shown(self, session_id: str) -> Shown:
        """What the client has been shown of a session."""
        shown = self._shown.get(session_id)
        if shown is None:
            shown = self._shown[session_id] = Shown()
        return shown

    def forget_session(self, session_id: str) -> None:
        self._shown.pop(session_id, None)
