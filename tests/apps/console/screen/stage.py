"""The screen with an agent behind it, driven by keys and read as text."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from os import kill
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from accord.apps.console.screen import keys
from accord.apps.console.screen.app import ScreenApp
from accord.apps.console.screen.context import ScreenOptions
from accord.apps.console.screen.widgets import permission_bar
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.session.requests import PermissionRequest
from tests.apps.console.screen import headless

headless.install()

PATIENCE = 120
"""Seconds until a test gives up: many times what a busy machine needs."""


class Stage:
    """What a test sees of a screen."""

    def __init__(self, app: ScreenApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot
        self.copied: list[str] = []
        self.titles: list[str] = []

    @property
    def tab(self) -> Any:
        return self.app.tab

    @property
    def lines(self) -> list[str]:
        """What is on the screen now, from top to bottom."""
        return [strip.text.rstrip() for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def conversation(self) -> str:
        """All of the conversation, also what is out of sight."""
        canvas = self.app.conversation._canvas
        assert canvas is not None
        return "\n".join(line.text.rstrip() for block in self.tab.conversation.blocks for line in block.lines(canvas))

    @property
    def prompt(self) -> str:
        return self.app.prompt.text

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        names = {" ": "space", "\n": "ctrl+j"}
        await self.pilot.press(*[names.get(letter, letter) for letter in text])

    async def send(self, text: str) -> None:
        self.app.prompt.set_text(text)
        await self.press("enter")

    async def until(self, is_so: Callable[[], Any]) -> None:
        await self._wait(is_so)
        self._paint()
        await self.pilot.pause()

    async def shows(self, *texts: str) -> None:
        """Wait until all of them are on the screen."""

        def are_there() -> bool:
            self._paint()
            return all(text in self.text for text in texts)

        await self._wait(are_there, texts)

    async def _wait(self, is_so: Callable[[], Any], awaited: Any = "what was waited for") -> None:
        """Not for ever: the hang guard of a test ends whatever runs just then, and that is rarely the test."""
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline, f"{awaited} did not come; there is:\n{self.text}"
            await self.pilot.pause()

    def _paint(self) -> None:
        """What the next frame would show; if that is nothing new, painting it again costs more than the whole test."""
        if self.app.conversation._timer is not None:
            self.app.conversation.paint()

    async def settled(self) -> None:
        """Wait until nothing moves any more, as a person does before a click."""
        before = None
        while before != (before := self.lines):
            await self.pilot.pause(1 / 30)

    async def idle(self) -> None:
        await self.until(lambda: self.tab.is_open and not self.tab.is_busy and not self.tab.queue)

    async def asked(self) -> PermissionRequest:
        """Wait for a question, and until its bar is drawn and takes keys."""
        dock = self.app.main.questions

        def is_drawn() -> bool:
            bar = dock._bar
            if bar is None or bar.question is not self.tab.questions.first or not bar.size:
                return False
            self.app.screen._compositor.render_strips()  # as each frame does
            return all(view._fits() for view in bar.query(LinesView) if view.size)

        await self.until(is_drawn)
        await self.pilot.pause()
        assert dock.question is not None
        return dock.question.request  # type: ignore[return-value]


def is_there(pid: int) -> bool:
    """Whether there is such a process."""
    with suppress(ProcessLookupError):
        kill(pid, 0)
        return True
    return False


@asynccontextmanager
async def opened(
    target: Any,
    cwd: Path,
    *,
    size: tuple[int, int] = (100, 36),
    ready: bool = True,
    settling: float = 0.0,
    held: float = 0.0,
    **given: Any,
) -> AsyncIterator[Stage]:
    """A screen in memory: a question takes its first key, and a key does what it does again, as soon as these say."""
    usual = permission_bar.SETTLING, keys.HELD, keys.REPEATING
    permission_bar.SETTLING, keys.HELD, keys.REPEATING = settling, held, held
    try:
        app = ScreenApp(ScreenOptions(target=target, name="tester", cwd=cwd, **{"theme": "accord-dark", **given}))
        async with app.run_test(size=size, notifications=True) as pilot:
            stage = Stage(app, pilot)
            app.copy_to_clipboard = stage.copied.append  # pyright: ignore[reportAttributeAccessIssue]  # positional only
            app.screen_refresh._set_title = stage.titles.append
            if ready:
                await stage.until(lambda: app.tab.is_open)
            yield stage
        assert app.tasks.bugs == []
    finally:
        permission_bar.SETTLING, keys.HELD, keys.REPEATING = usual
