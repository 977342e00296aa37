"""A rate-limited log, which the other side of a connection cannot fill.

Law: an error of the peer costs at most one short line without a traceback, and there are only a few lines of each kind
per minute. The rest is counted; the count is logged with the next line of the kind, or at the end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from accord.errors import AccordError, InvalidParams, Malformed, NotContent, Unencodable

LINES = 10
SECONDS = 60.0
_LENGTH = 200
_MISTAKES = (NotContent, Unencodable)
"""Errors of accord that tell the author of a handler what it did wrong: the traceback says where."""


class _Kind:
    __slots__ = ("left_out", "lines", "since")

    def __init__(self, since: float) -> None:
        self.since = since
        self.lines = 0
        self.left_out = 0


class LimitedLog:
    """The lines of one connection. The kind of a line is its text without the arguments, so there are few kinds.

    At most `lines` of each kind are written per minute; arguments longer than `length` lose their middle.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, lines: int = LINES, length: int = _LENGTH
    ) -> None:
        self._clock = clock
        self._lines = lines
        self._length = length
        self._kinds: dict[tuple[logging.Logger, int, str], _Kind] = {}

    def debug(self, log: logging.Logger, text: str, *arguments: object) -> None:
        """For normal events that the other side can cause."""
        if log.isEnabledFor(logging.DEBUG):
            self._write(log, logging.DEBUG, text, arguments, None)

    def info(self, log: logging.Logger, text: str, *arguments: object) -> None:
        """For noteworthy events that the other side can cause."""
        if log.isEnabledFor(logging.INFO):
            self._write(log, logging.INFO, text, arguments, None)

    def warning(self, log: logging.Logger, text: str, *arguments: object) -> None:
        """For errors of the other side."""
        self._write(log, logging.WARNING, text, arguments, None)

    def failure(self, log: logging.Logger, error: BaseException, text: str, *arguments: object) -> None:
        """For errors in the handling of a message: one line for an AccordError, a traceback for a mistake in our own program."""
        if isinstance(error, (Malformed, InvalidParams)):
            self._write(log, logging.WARNING, f"{text}: %s", (*arguments, error), None)
        elif isinstance(error, AccordError) and not isinstance(error, _MISTAKES):
            self._write(log, logging.ERROR, f"{text}: %s", (*arguments, error), None)
        else:
            self._write(log, logging.ERROR, text, arguments, error)

    def close(self) -> None:
        """Log the counts of lines that were left out; call it at the end."""
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
        left_out = self._admit(log, level, text)
        if left_out is None:
            return
        if left_out:
            text += " (%d more like this were left out before)"
        safe: list[Any] = [_sanitize(argument, self._length) for argument in arguments]
        log.log(level, text, *safe, *([left_out] if left_out else ()), exc_info=error, stacklevel=3)

    def _admit(self, log: logging.Logger, level: int, text: str) -> int | None:
        """The number of lines of this kind left out since the last one; None if this one is left out too."""
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


def _sanitize(argument: object, length: int) -> str:
    """Foreign text as one short line without control characters; the middle of a long text is cut."""
    text = str(argument)
    if len(text) > length:
        end = length // 4
        text = f"{text[: length - end]}…{text[-end:]}"
    return text if text.isprintable() else "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
