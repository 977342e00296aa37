"""The exit statuses of `accord run`, one for each way it can end."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Exit", "exit_of_stop_reason"]


class Exit(IntEnum):
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
    "end_turn": Exit.END_TURN,
    "max_tokens": Exit.MAX_TOKENS,
    "max_turn_requests": Exit.MAX_TURN_REQUESTS,
    "refusal": Exit.REFUSAL,
    "cancelled": Exit.CANCELLED,
    "error": Exit.FAILED,
}


def exit_of_stop_reason(reason: str | None) -> Exit:
    """For a turn that the agent ended by itself."""
    return _OF_STOP_REASON.get(reason or "end_turn", Exit.OTHER_STOP)
