"""Esc and Ctrl+C: stop the agent or a shell command, copy, close a page, clear the prompt, quit.

Law: the same press never does one thing and then another, however long the key is held down.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer

from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.external_programs import Shell

_AGAIN_SECONDS = 3
REPEAT_SECONDS = 0.1
"""Keyboards repeat a key that is held down faster than this; nobody presses a key so fast."""


class Interrupts:
    """`clear_prompt` clears the prompt so that Up brings it back."""

    def __init__(self, screen: ScreenContext, shell: Shell, clear_prompt: Callable[[], None]) -> None:
        self._screen = screen
        self._shell = shell
        self._clear_prompt = clear_prompt
        self._held_keys = screen.main.questions.held_keys
        self._quit_asked_at = 0.0
        """When Ctrl+C was pressed in an idle, empty prompt, as the last thing that it did."""
        self._pressed_at = 0.0
        self._is_repeating = False
        self._exit: Timer | None = None
        """Quits, unless Ctrl+C comes again as fast as only a key that is held down."""
        self._has_acted = False
        """Ctrl+C has stopped a turn or cleared the prompt, and may still be held down: then it does nothing else."""

    def escape(self) -> None:
        """End the search; else stop the shell command or the turn; kill an agent that is stopping; else move to the prompt."""
        if self._screen.main.search_bar.display:
            self._screen.main.close_search()
        else:
            self._stop()

    def _stop(self) -> None:
        tab, main = self._screen.tab, self._screen.main
        if self._shell.is_running(tab):
            self._screen.tasks.start(self._shell.stop(tab))
        elif tab.is_stopping:
            if not self._held_keys.is_held("escape"):
                tab.kill()
        elif tab.is_busy:
            self._screen.tasks.start(tab.stop())
        elif not main.is_prompt_focused:
            main.focus_prompt()

    def ctrl_c(self) -> None:
        """Copy the selection; close the page; stop; end the search; clear the prompt; or quit, the second time."""
        screen = self._screen
        tab, page, prompt = screen.tab, screen.screen, screen.main.prompt
        self._has_acted = self._has_acted and self._held_keys.is_held("ctrl+c")
        asked_at, self._quit_asked_at = self._quit_asked_at, 0.0
        selection = page.get_selected_text() or (prompt.selected_text if prompt.has_focus else "")
        if selection:
            screen.copy_to_clipboard(selection)
            page.clear_selection()
            screen.tell("Copied.")
        elif page is not screen.main:
            page.dismiss(None)
        elif tab.is_busy or self._shell.is_running(tab):
            self._has_acted = True
            self._stop()
        elif self._has_acted:
            return
        elif screen.main.search_bar.display:
            self._has_acted = True
            screen.main.close_search()
        elif prompt.text:
            self._has_acted = True
            self._clear_prompt()
        else:
            self._quit(asked_at)

    def _quit(self, asked_at: float) -> None:
        """In an idle, empty prompt: the first press asks, the second quits, unless it is the key held down."""
        now = time.monotonic()
        gap, self._pressed_at = now - self._pressed_at, now
        if gap < REPEAT_SECONDS and (self._exit is not None or self._is_repeating):
            if self._exit is not None:
                self._exit.stop()
            self._exit, self._is_repeating = None, True
        elif now - asked_at < _AGAIN_SECONDS:
            self._is_repeating = False
            self._exit = self._screen.main.set_timer(REPEAT_SECONDS, lambda: self._screen.exit(0))
        else:
            self._quit_asked_at, self._is_repeating = now, False
            self._screen.tell("Press Ctrl+C again to quit.")
