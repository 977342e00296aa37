"""What can go wrong in the terminal client, each one a fact that says what to do and with which status we end."""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

import traceback
from pathlib import Path

from accord.apps.console.exits import Exit
from accord.apps.console.sanitising import visible
from accord.errors import AccordError

__all__ = ["ConsoleFailed", "UsageWrong", "as_failure"]

_MOST_LINES = 20


class ConsoleFailed(AccordError):
    """As a string, what to show the user, made safe for a terminal; its parts are as they came.

    `last_words` is the end of what the agent wrote on stderr, or in place of frames.
    """

    def __init__(self, reason: str, advice: str = "", status: Exit = Exit.FAILED, last_words: str = "") -> None:
        super().__init__(reason, advice, status, last_words)
        self.reason = reason
        self.advice = advice
        self.status = status
        self.last_words = last_words

    def __str__(self) -> str:
        lines = [visible(self.reason)]
        if self.advice:
            lines.append(f"  {visible(self.advice)}")
        if self.last_words.strip():
            lines.append("  Its last words:")
            lines += [f"    {line}" for line in visible(self.last_words.strip()).splitlines()[-_MOST_LINES:]]
        return "\n".join(lines)


class UsageWrong(ConsoleFailed):
    """What was asked for can't be done as it was asked."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason, advice, Exit.USAGE)


def as_failure(error: Exception) -> ConsoleFailed:
    """Whatever was raised, as something to show; what nobody has foreseen is our mistake, and says where it happened."""
    if isinstance(error, ConsoleFailed):
        return error
    if isinstance(error, (AccordError, OSError)):
        return ConsoleFailed(str(error))
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
    reason = f"accord itself failed: {type(error).__name__}: {error}{place}"
    return ConsoleFailed(reason, "That is a mistake in accord: please report it, with this line")
