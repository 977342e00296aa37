"""How an agent treats its turns, whoever asks for them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = ["Busy", "Policy"]

Busy: TypeAlias = Literal["queue", "refuse", "steer"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Times are in seconds; None is no limit.

    `idle_deadline` is the longest silence of a turn and `turn_deadline` its longest duration, both without the time in
    which the user is asked something. A turn that does not end `cancel_grace` after it was cancelled is left behind, and an
    MCP server that is not connected after `mcp_connect_deadline` has failed.
    """

    busy: Busy = "queue"
    merge_seconds: float = 0.02
    idle_deadline: float | None = None
    turn_deadline: float | None = None
    cancel_grace: float = 2.0
    max_requests: int | None = None
    max_tokens: int | None = None
    slow_loop_seconds: float | None = 1.0
    mcp_connect_deadline: float = 30.0
