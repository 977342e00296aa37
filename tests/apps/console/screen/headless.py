"""What a screen that nobody looks at need not do, and a pilot that knows when it rests: half the time of these tests.

A screen of a test is looked at through the lines that it would show. That those reach a terminal is proved at one, in
test_program.py and its neighbours.
"""

from __future__ import annotations

import asyncio
from typing import Any

from textual import _wait
from textual.css.stylesheet import Stylesheet
from textual.screen import Screen

__all__ = ["install", "with_painting"]

with_painting = Screen._compositor_refresh
_parse_rules = Stylesheet._parse_rules
_known_rules: dict[Any, Any] = {}


def install() -> None:
    """For all screens of this process."""
    # A pilot waits until the process uses no CPU, and looks every 20 ms, twice a key. And on a busy machine a process
    # uses no CPU because it gets none.
    _wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = 1 / 200, 1 / 2000
    _wait.sleep = _rest  # type: ignore[attr-defined]
    Screen._compositor_refresh = _without_painting
    Stylesheet._parse_rules = _parse_rules_once


async def _rest(seconds: float) -> None:
    """Sleep, and then until nobody else on the loop has anything to do."""
    await asyncio.sleep(seconds)
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    for _ in range(1000):
        if not ready:
            return
        await asyncio.sleep(0)


def _without_painting(self: Screen[Any]) -> None:
    if self is self.app.screen:
        self._compositor._dirty_regions.clear()
        self._dirty_widgets.clear()
        self.app._update_mouse_over(self)
    else:
        with_painting(self)


def _parse_rules_once(self: Stylesheet, *given: Any, **named: Any) -> Any:
    key = (tuple(self._variables.items()), given, tuple(named.items()))
    if key not in _known_rules:
        _known_rules[key] = _parse_rules(self, *given, **named)
    return _known_rules[key]
