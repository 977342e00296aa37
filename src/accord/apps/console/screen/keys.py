"""Where what is typed belongs. Law: all of it is written, in its order, whatever has the focus or takes it meanwhile.

Each part of a Textual screen has a queue of its own, so a key could overtake those that another part has still to handle.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import events
from textual.message_pump import MessagePump
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Select, TextArea

from accord.apps.console.screen.widgets.permission import PermissionBar

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Keyboard"]

_PATIENCE = 1.0


class Keyboard:
    """The keyboard of a screen."""

    def __init__(self, app: Console) -> None:
        self._app = app

    async def takes(self, event: events.Key | events.Paste) -> bool:
        """Whether it has done what it is for; if not, it goes to what has the focus now, maybe another than before."""
        app = self._app
        await asyncio.sleep(0)  # what the key before has begun may open a page
        if app.focused is None:  # a page that has only just been opened
            await _is_there(app.screen)
            await _caught_up(app.screen)
        if isinstance(event, events.Key) and not event.is_printable:
            await _caught_up(app.prompt)
            return isinstance(app.focused, Input) and await self._did(event.key, app.focused)
        focused = app.focused
        if isinstance(focused, Input | TextArea):
            return False
        if isinstance(event, events.Key):
            if isinstance(focused, PermissionBar) and focused.typed(event.character or ""):
                return True
            if _searches(focused) or event.key in app.screen.active_bindings:
                return False
        self._turn_to_text()
        return False

    async def _did(self, key: str, field: Input) -> bool:
        """Whether the key means something in a field or around it. It is done now: what was typed after it must find it done."""
        await _caught_up(field)
        app = self._app
        if app.screen is not app.main:
            return await app.does(key)
        bound = app.screen.active_bindings.get(key)  # what is around it there takes keys in other ways, too
        return bound is not None and bound.node is field and await app.run_action(bound.binding.action, field)

    def _turn_to_text(self) -> None:
        """To the field of a page that has one; else to the prompt, and from a page without one back to it."""
        app, page = self._app, self._app.screen
        fields = [field for field in page.query(Input) if field.focusable] if page is not app.main else []
        if fields:
            page.set_focus(fields[0])
            return
        if page is not app.main and isinstance(page, ModalScreen):
            page.dismiss(None)
        app.prompting.focus()


def _searches(widget: Widget | None) -> bool:
    """A list of choices that is open finds them by their letters."""
    return widget is not None and any(isinstance(each, Select) for each in widget.ancestors_with_self)


async def _is_there(page: Widget) -> None:
    """Wait until it has its parts."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _PATIENCE
    while not page.is_mounted and loop.time() < end:  # noqa: ASYNC110  # Textual tells nobody
        await asyncio.sleep(0.002)


async def _caught_up(pump: MessagePump) -> None:
    """Wait until it has handled what it has been told so far."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if pump.is_running and pump.call_later(lambda: done.done() or done.set_result(None)):
        await asyncio.wait((done,), timeout=_PATIENCE)
