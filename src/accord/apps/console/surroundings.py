"""What the command line knows of the user and hands to the terminal client, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from accord.session.servers import McpServer

__all__ = ["AgentCommand", "Surroundings", "SurroundingsIn"]


class AgentCommand(Struct, frozen=True, kw_only=True):
    """How an agent of the user's is started; `env` is laid over our environment."""

    command: list[str]
    env: dict[str, str] = {}


class Surroundings(Struct, frozen=True, kw_only=True):
    """What holds in one directory: agents and MCP servers by name, where state is kept, and the built-in agent.

    `commands` are the words after `accord` that are no agents. `notices` are for the user, a sentence each.
    """

    builtin: list[str]
    state: Path
    agents: dict[str, AgentCommand] = {}
    servers: list[McpServer] = []
    commands: list[str] = []
    notices: list[str] = []


SurroundingsIn: TypeAlias = Callable[[Path], Surroundings]
"""Those of a directory; raises an AccordError that names the place when a setting is wrong."""
