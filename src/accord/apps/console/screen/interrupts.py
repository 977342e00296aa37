"""Esc and Ctrl+C: stop the agent or a shell command, copy, close a page, clear the prompt, quit.

Law: the same press never stops a turn and then does something else, however long the key is held down.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.external_programs import Shell

_AGAIN_SECONDS = 3


class Interrupts:
    """`clear_prompt` clears the prompt so that Up brings it back."""

    def __init__(self, screen: ScreenContext, shell: Shell, clear_prompt: Callable[[], None]) -> None:
        self._screen = screen
        self._shell = shell
        self._clear_prompt = clear_prompt
        self._held_keys = screen.main.questions.held_keys
        self._quit_asked_at = 0.0
        """When Ctrl+C was pressed in an idle, empty prompt, as the last thing that Ctrl+C did."""
        self._has_stopped = False
        """Ctrl+C has stopped a turn, and may still be held down: then it does nothing else."""

    def escape(self) -> None:
        """Stop the shell command or the turn; kill an agent that is stopping; else move to the prompt."""
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
        """Copy the selection; else close the page; else stop; else clear the prompt; else quit, the second time."""
        screen = self._screen
        tab, page, prompt = screen.tab, screen.screen, screen.main.prompt
        is_held, before = self._held_keys.is_held("ctrl+c"), self._quit_asked_at
        self._has_stopped = self._has_stopped and is_held
        self._quit_asked_at = before if is_held else 0.0
        selection = page.get_selected_text() or (prompt.selected_text if prompt.has_focus else "")
        if selection:
            screen.copy_to_clipboard(selection)
            page.clear_selection()
            screen.tell("Copied.")
        elif page is not screen.main:
            page.dismiss(None)
        elif tab.is_busy or self._shell.is_running(tab):
            self._has_stopped = True
            self.escape()
        elif self._has_stopped:
            return
        elif prompt.text:
            self._clear_prompt()
        elif is_held:
            return
        elif time.monotonic() - before < _AGAIN_SECONDS:
            screen.exit(0)
        else:
            self._quit_asked_at = time.monotonic()
            screen.tell("Press Ctrl-C again to quit.")
