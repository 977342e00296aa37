"""A log that the other side of a connection can't fill.

Law: what a peer got wrong costs at most one short line without a traceback, and of each kind of line there are only a few
in a while. The rest is counted, and the count is told with the next line of the kind, or at the end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from accord.errors import AccordError, InvalidParams, Malformed

__all__ = ["LINES", "SECONDS", "LimitedLog"]

LINES = 10
SECONDS = 60.0
_LENGTH = 200


class _Kind:
    __slots__ = ("left_out", "lines", "since")

    def __init__(self, since: float) -> None:
        self.since = since
        self.lines = 0
        self.left_out = 0


class LimitedLog:
    """The lines of one connection. A kind of line is its text without the arguments, so there are few of them.

    `lines` of each kind are written in a while, and of an argument that is longer than `length` the beginning and the end.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, lines: int = LINES, length: int = _LENGTH
    ) -> None:
        self._clock = clock
        self._lines = lines
        self._length = length
        self._kinds: dict[tuple[logging.Logger, int, str], _Kind] = {}

    def debug(self, log: logging.Logger, text: str, *arguments: object) -> None:
        """For what is normal, but as often as the other side likes."""
        if log.isEnabledFor(logging.DEBUG):
            self._write(log, logging.DEBUG, text, arguments, None)

    def info(self, log: logging.Logger, text: str, *arguments: object) -> None:
        """For what is worth a line, but as often as the other side likes."""
        if log.isEnabledFor(logging.INFO):
            self._write(log, logging.INFO, text, arguments, None)

    def warning(self, log: logging.Logger, text: str, *arguments: object) -> None:
        """For what the other side got wrong."""
        self._write(log, logging.WARNING, text, arguments, None)

    def failure(self, log: logging.Logger, error: BaseException, text: str, *arguments: object) -> None:
        """For what a message led to. An error that says all there is to know gets one line, any other its traceback."""
        if isinstance(error, (Malformed, InvalidParams)):
            self._write(log, logging.WARNING, f"{text}: %s", (*arguments, error), None)
        elif isinstance(error, AccordError):
            self._write(log, logging.ERROR, f"{text}: %s", (*arguments, error), None)
        else:
            self._write(log, logging.ERROR, text, arguments, error)

    def close(self) -> None:
        """Tell what was left out and not told yet; at the end of a connection, or of a list that has one."""
        for (log, level, text), kind in self._kinds.items():
            if kind.left_out:
                log.log(level, "%d more lines like this were left out: %s", kind.left_out, text)
        self._kinds.clear()

    def _write(
        self,
        log: logging.Logger,
        level: int,
        text: str,
        arguments: tuple[object, ...],
        error: BaseException | None,
    ) -> None:
        left_out = self._admitted(log, level, text)
        if left_out is None:
            return
        if left_out:
            text += " (%d more like this were left out before)"
        shown: list[Any] = [_shown(argument, self._length) for argument in arguments]
        log.log(level, text, *shown, *([left_out] if left_out else ()), exc_info=error, stacklevel=3)

    def _admitted(self, log: logging.Logger, level: int, text: str) -> int | None:
        """How many lines of the kind were left out since the last one; None when this one is left out, too."""
        now = self._clock()
        kind = self._kinds.get((log, level, text))
        if kind is None:
            kind = self._kinds[log, level, text] = _Kind(now)
        if now - kind.since >= SECONDS:
            kind.since, kind.lines = now, 0
        if kind.lines == self._lines:
            kind.left_out += 1
            return None
        kind.lines += 1
        left_out, kind.left_out = kind.left_out, 0
        return left_out


def _shown(argument: object, length: int) -> str:
    """Foreign text: one line, short, and nothing that a terminal would obey. What is cut is the middle."""
    text = str(argument)
    if len(text) > length:
        end = length // 4
        text = f"{text[: length - end]}…{text[-end:]}"
    return text if text.isprintable() else "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
