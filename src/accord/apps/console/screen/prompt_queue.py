"""The queue of prompts that wait for the running turn, and when the next one is sent.

Law: prompts are sent one at a time, in their order. After the user has stopped a turn the queue is held: nothing is sent
until the user sends something.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["PromptQueue"]


class PromptQueue:
    """`can_send` says whether the session can take a prompt now; `send` sends it; `on_change` is called after each change."""

    def __init__(
        self, can_send: Callable[[], bool], send: Callable[[str], None], on_change: Callable[[], None]
    ) -> None:
        self.prompts: list[str] = []
        self.is_held = False
        self._can_send = can_send
        self._send = send
        self._on_change = on_change

    def __bool__(self) -> bool:
        return bool(self.prompts)

    def send(self, text: str, *, is_first: bool = False) -> None:
        """Send the prompt as soon as possible, after all others or before them."""
        self.is_held = False
        self.put(text, 0 if is_first else len(self.prompts))
        self.send_next()

    def put(self, text: str, index: int = 0) -> None:
        self.prompts.insert(index, text)
        self._on_change()

    def take(self, index: int = 0) -> str:
        """Remove a prompt, to edit or to send it."""
        text = self.prompts.pop(index)
        self._on_change()
        return text

    def hold(self, is_held: bool = True) -> None:
        self.is_held = is_held
        self._on_change()

    def send_next(self) -> None:
        """Send the first prompt, if that is possible now."""
        if self.prompts and not self.is_held and self._can_send():
            self._send(self.take())

    def held_reason(self, *, is_unsettled: bool) -> str:
        """Why the prompts are not sent automatically; empty if they are. `is_unsettled`: see `SessionTab`."""
        if is_unsettled:
            return "held: the agent is not in the mode you chose, ctrl+s sends anyway"
        return "held after the stop, ctrl+s continues" if self.is_held else ""
