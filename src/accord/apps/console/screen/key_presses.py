"""Which key is held down. Law: what a key does only once, it does not do again until it has been let go."""

from __future__ import annotations

from time import monotonic

__all__ = ["HELD", "Presses"]

HELD, REPEATING = 0.8, 0.2
"""A key that comes again within so many seconds is still held down: keyboards repeat one after 0.25 to 0.66 s, and from
then on many times a second. What comes more slowly than that is pressed by somebody."""


class Presses:
    """The last keys that were pressed: a terminal tells neither that one repeats nor that it was let go."""

    def __init__(self) -> None:
        self._key: str = ""
        self._pressed_at = 0.0
        self._held: str = ""
        self._held_at = 0.0

    def note(self, key: str) -> None:
        """It was pressed, or repeats."""
        now = monotonic()
        longest = REPEATING if key == self._held else HELD
        if key == self._key and now - self._pressed_at < longest:
            self._held, self._held_at = key, now
        elif key == self._held:
            self._held = ""
        self._key, self._pressed_at = key, now

    def is_held(self, key: str) -> bool:
        """Whether what came last of this key was not a press of its own. Other keys may have come since."""
        return key == self._held and monotonic() - self._held_at < HELD
