"""A terminal as a person sees it: what stands on the screen, after everything that was written to it."""

from __future__ import annotations

import asyncio
import fcntl
import re
import struct
import termios
from collections.abc import Callable

import pyte
import pytest

from tests.apps.console.terminal import Terminal

_SIZE = (90, 30)
_PATIENCE = 120.0  # a guard that can tell what was there instead
_NOT_OF_PYTE = re.compile(r"\x1b\[[<>][0-9;]*[a-z]|\x1b\[\?[0-9]+\$p|\x1b\]2;[^\x07]*\x07")
_SWITCH = re.compile(r"(\x1b\[\?1049[hl])")


class SeenTerminal(Terminal):
    """Like one with a second screen: whoever takes it finds it empty, and so does whoever comes back from it."""

    def __init__(self, descriptor: int) -> None:
        self._is_taken = False
        self._screen = pyte.Screen(*_SIZE)
        self._stream = pyte.Stream(self._screen)
        self._unseen = ""
        super().__init__(descriptor)
        self.resize(*_SIZE)

    @property
    def is_taken(self) -> bool:
        """Whether a program has the second screen."""
        return bool(self.rows) and self._is_taken

    @property
    def rows(self) -> list[str]:
        text, self._unseen = self._unseen, ""
        for piece in _SWITCH.split(text):
            if _SWITCH.match(piece):
                self._screen.reset()
                self._is_taken = piece.endswith("h")
            else:
                self._stream.feed(_NOT_OF_PYTE.sub("", piece))
        return [row.rstrip() for row in self._screen.display]

    def resize(self, columns: int, lines: int) -> None:
        self._screen.resize(lines, columns)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    async def shows(self, *texts: str) -> None:
        """Wait until all of them stand on the screen."""
        await self.until(lambda: all(text in "\n".join(self.rows) for text in texts))

    async def until(self, is_so: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                while not is_so():
                    assert not self._is_over
                    self._progress.clear()
                    await self._progress.wait()
        except (AssertionError, TimeoutError):
            pytest.fail("\n".join(["That never came. This did:", *self.rows]))

    def settings(self) -> list[object]:
        """How the terminal treats what is typed."""
        return termios.tcgetattr(self._descriptor)

    def _heard(self, text: str) -> None:
        super()._heard(text)
        self._unseen += text
