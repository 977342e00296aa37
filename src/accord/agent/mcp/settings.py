"""What all MCP servers of a session have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from accord.agent.mcp.fates import ServerFate

__all__ = ["Settings"]


class Settings(NamedTuple):
    """`env` None is our environment; `on_change` is told each fate as it comes."""

    cwd: str
    env: Mapping[str, str] | None
    client_name: str
    client_version: str
    connect_deadline: float
    on_change: Callable[[ServerFate], None] | None
