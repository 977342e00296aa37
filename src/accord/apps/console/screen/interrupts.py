"""Esc and Ctrl+C: stop the agent or a shell command, copy, close a page, clear the prompt, quit.

Law: the same press never stops a turn and then does something else, however long the key is held down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from textual.screen import Screen

from accord.apps.console.screen.background_tasks import BackgroundTasks, Notify
from accord.apps.console.screen.external_programs import Shell
from accord.apps.console.screen.main_screen import MainScreen
from accord.apps.console.screen.session import SessionTab

__all__ = ["Interrupts"]

_AGAIN_SECONDS = 3


class Interrupts:
    """`current` gives the tab on the screen, `top` the page on top; the other functions are the last resorts of Ctrl+C."""

    def __init__(
        self,
        main: MainScreen,
        shell: Shell,
        tasks: BackgroundTasks,
        *,
        current: Callable[[], SessionTab],
        top: Callable[[], Screen[Any]],
        copy: Callable[[str], None],
        clear_prompt: Callable[[], None],
        leave: Callable[[int], None],
        notify: Notify,
    ) -> None:
        self._main = main
        self._shell = shell
        self._tasks = tasks
        self._current = current
        self._top = top
        self._copy = copy
        self._clear_prompt = clear_prompt
        self._leave = leave
        self._notify = notify
        self._held_keys = main.questions.held_keys
        self._last_ctrl_c = 0.0
        self._has_stopped = False
        """Ctrl+C has stopped a turn, and may still be held down: then it does nothing else."""

    def escape(self) -> None:
        """Stop the shell command or the turn; kill an agent that is stopping; else move to the prompt."""
        tab = self._current()
        if self._shell.is_running(tab):
            self._tasks.start(self._shell.stop(tab))
        elif tab.is_stopping:
            if not self._held_keys.is_held("escape"):
                tab.kill()
        elif tab.is_busy:
            self._tasks.start(tab.stop())
        elif not self._main.is_prompt_focused:
            self._main.focus_prompt()

    def ctrl_c(self) -> None:
        """Copy the selection; else close the page; else stop; else clear the prompt; else quit, the second time."""
        tab, page, prompt = self._current(), self._top(), self._main.prompt
        self._has_stopped = self._has_stopped and self._held_keys.is_held("ctrl+c")
        selection = page.get_selected_text() or (prompt.selected_text if prompt.has_focus else "")
        if selection:
            self._copy(selection)
            page.clear_selection()
            self._notify("Copied.")
        elif page is not self._main:
            page.dismiss(None)
        elif tab.is_busy or self._shell.is_running(tab):
            self._has_stopped = True
            self.escape()
        elif self._has_stopped:
            return
        elif prompt.text:
            self._clear_prompt()
        elif time.monotonic() - self._last_ctrl_c < _AGAIN_SECONDS:
            self._leave(0)
        else:
            self._last_ctrl_c = time.monotonic()
            self._notify("Press Ctrl-C again to quit.")
