"""Routes typed keys to the right widget, and detects keys that are held down.

Law: everything that is typed arrives, in order, whatever has the focus or takes it meanwhile. Each Textual widget has its
own message queue, so a key could overtake earlier keys that another widget has not handled yet.

Law: a key that acts once per press does not act again while it is held down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Protocol, cast, runtime_checkable

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import Keys
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input, Select, TextArea

_TIMEOUT = 1.0
HELD, REPEATING = 0.8, 0.2
"""A key that arrives again within this many seconds is held down: keyboards repeat a key after 0.25 to 0.66 s, and many
times a second from then on. Slower repetition is separate presses."""


_MODIFIED_ENTER = {"shift+\r": "shift+enter", "\r": "alt+enter"}
"""Enter with Shift and with Alt, in Textual's names for what xterm's modifyOtherKeys sends (`CSI 27;2;13~`)."""


def recognize_alt_enter() -> None:
    """Textual takes Alt+Enter for Enter in terminals that send Esc and Enter. Ctrl+J is the same: a new line."""
    cast("dict[str, object]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)


def modified_enter(event: events.Key) -> events.Key:
    """The event; or, for Enter with a modifier that xterm has sent, one with the usual name of that key."""
    name = _MODIFIED_ENTER.get(event.key)
    return event if name is None else events.Key(name, None)


class HeldKeys:
    """Tracks the last key events. A terminal reports neither repetition nor the release of a key."""

    def __init__(self) -> None:
        self._key: str = ""
        self._pressed_at = 0.0
        self._held: str = ""
        self._held_at = 0.0

    def record(self, key: str) -> None:
        """Record a key event: a press or a repetition."""
        now = monotonic()
        longest = REPEATING if key == self._held else HELD
        if key == self._key and now - self._pressed_at < longest:
            self._held, self._held_at = key, now
        elif key == self._held:
            self._held = ""
        self._key, self._pressed_at = key, now

    def is_held(self, key: str) -> bool:
        """Whether the last event of this key was a repetition. Other keys may have come since."""
        return key == self._held and monotonic() - self._held_at < HELD


@runtime_checkable
class TakesCharacters(Protocol):
    """A widget that is not a text field but takes some characters."""

    def type_character(self, character: str) -> bool:
        """Returns False if the character belongs into the prompt."""
        ...


class KeyRouter:
    """`top` gives the page on top. `run_bindings` runs the action of a key at the focus; it returns whether there is one."""

    def __init__(
        self,
        main: Screen[Any],
        prompt: Widget,
        *,
        top: Callable[[], Screen[Any]],
        run_bindings: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._main = main
        self._prompt = prompt
        self._top = top
        self._run_bindings = run_bindings

    async def handle(self, event: events.Key | events.Paste) -> bool:
        """Returns True if the event is done; if not, it goes to the current focus, which may have changed."""
        await asyncio.sleep(0)  # the previous key may open a page
        if self._top().focused is None:  # a page that was just opened
            await _mounted(self._top())
            await _idle(self._top())
        if isinstance(event, events.Key) and not event.is_printable:
            await _idle(self._prompt)
            field = self._top().focused
            return isinstance(field, Input) and await self._handle_in_field(event.key, field)
        focused = self._top().focused
        if isinstance(focused, Input | TextArea):
            return False
        if isinstance(event, events.Key):
            if isinstance(focused, TakesCharacters) and focused.type_character(event.character or ""):
                return True
            if _is_select(focused) or event.key in self._top().active_bindings:
                return False
        self._focus_text()
        return False

    async def _handle_in_field(self, key: str, field: Input) -> bool:
        """Run the binding of a key in or around a field at once, before later keys; returns whether there is one."""
        await _idle(field)
        if not self._main.is_active:
            return await self._run_bindings(key)
        bound = self._main.active_bindings.get(key)  # the widgets around it handle keys in other ways, too
        if bound is None or bound.node is not field:
            return False
        await field.run_action(bound.binding.action)
        return True

    def _focus_text(self) -> None:
        """Focus the field of a page; close a page without one, and focus the prompt."""
        page = self._top()
        if page is not self._main:
            fields = [field for field in page.query(Input) if field.focusable]
            if fields:
                page.set_focus(fields[0])
                return
            if isinstance(page, ModalScreen):
                page.dismiss(None)
        self._main.set_focus(self._prompt)


def _is_select(widget: Widget | None) -> bool:
    """Whether it is in a list of choices, which searches for typed letters."""
    return widget is not None and any(isinstance(each, Select) for each in widget.ancestors_with_self)


async def _mounted(page: Widget) -> None:
    """Wait until the page has its widgets."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _TIMEOUT
    while not page.is_mounted and loop.time() < end:  # noqa: ASYNC110  # Textual has no event for it
        await asyncio.sleep(0.002)


async def _idle(pump: MessagePump) -> None:
    """Wait until all messages so far are handled."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if pump.is_running and pump.call_later(lambda: done.done() or done.set_result(None)):
        await asyncio.wait((done,), timeout=_TIMEOUT)
