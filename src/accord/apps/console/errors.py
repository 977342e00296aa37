"""Errors of the terminal client, and the exit statuses of `accord run`."""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

import traceback
from enum import IntEnum
from pathlib import Path

from accord.apps.console.sanitizer import visible
from accord.errors import AccordError


class ExitStatus(IntEnum):
    """A status; what it means is in docs/run.md."""

    END_TURN = 0
    FAILED = 1
    USAGE = 2
    MAX_TOKENS = 3
    MAX_TURN_REQUESTS = 4
    REFUSAL = 5
    CANCELLED = 6
    OTHER_STOP = 7
    AGENT_GONE = 8
    LOGIN_NEEDED = 9
    EMPTY_TURN = 10
    ALL_REJECTED = 11
    TIMEOUT = 124
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
    HANGUP = 129
    INTERRUPTED = 130
    UNREAD = 141
    TERMINATED = 143


_OF_STOP_REASON = {
    "end_turn": ExitStatus.END_TURN,
    "max_tokens": ExitStatus.MAX_TOKENS,
    "max_turn_requests": ExitStatus.MAX_TURN_REQUESTS,
    "refusal": ExitStatus.REFUSAL,
    "cancelled": ExitStatus.CANCELLED,
    "error": ExitStatus.FAILED,
}


def exit_status_of(reason: str | None) -> ExitStatus:
    """For a turn that the agent ended by itself."""
    return _OF_STOP_REASON.get(reason or "end_turn", ExitStatus.OTHER_STOP)


_MOST_LINES = 20


class ConsoleFailed(AccordError):
    """As a string, what to show the user, made safe for a terminal; its parts are as they came.

    `last_words` is the end of what the agent wrote on stderr, or in place of frames.
    """

    def __init__(
        self, reason: str, advice: str = "", status: ExitStatus = ExitStatus.FAILED, last_words: str = ""
    ) -> None:
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


class InvalidUsage(ConsoleFailed):
    """What was asked for can't be done as it was asked."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason, advice, ExitStatus.USAGE)


def to_console_failed(error: Exception) -> ConsoleFailed:
    """Whatever was raised, as something to show; what nobody has foreseen is our mistake, and says where it happened."""
    if isinstance(error, ConsoleFailed):
        return error
    if isinstance(error, (AccordError, OSError)):
        return ConsoleFailed(str(error))
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
    reason = f"accord itself failed: {type(error).__name__}: {error}{place}"
    return ConsoleFailed(reason, "That is a mistake in accord: please report it, with this line")
