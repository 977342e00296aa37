"""What the command line knows of the user and hands to the terminal client, as plain values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.sanitizer import visible
from accord.session.mcp_servers import McpServer

__all__ = ["AgentCommand", "Environment", "LoadEnvironment", "write_stderr_line"]


class AgentCommand(Struct, frozen=True, kw_only=True):
    """How an agent of the user's is started; `env` is laid over our environment."""

    command: list[str]
    env: dict[str, str] = {}


class Environment(Struct, frozen=True, kw_only=True):
    """What holds in one directory: agents and MCP servers by name, where state is kept, and the built-in agent.

    `commands` are the words after `accord` that are no agents. `notices` are for the user, a sentence each.
    """

    builtin: list[str]
    state: Path
    agents: dict[str, AgentCommand] = {}
    servers: list[McpServer] = []
    commands: list[str] = []
    notices: list[str] = []
    theme: str | None = None
    plain: bool = False
    start_timeout: float = 60.0
    keeps_conversations: bool = True

    def print_notices(self) -> None:
        """On stderr, for commands that hold no conversation."""
        for notice in self.notices:
            write_stderr_line(notice)

    @property
    def records(self) -> ConversationRecords | None:
        """Where conversations are kept; None if they are not to be."""
        return ConversationRecords(self.state) if self.keeps_conversations else None


LoadEnvironment: TypeAlias = Callable[[Path], Environment]
"""Those of a directory; raises an AccordError that names the place when a setting is wrong."""


def write_stderr_line(text: str) -> None:
    """For commands that hold no conversation."""
    sys.stderr.write(f"{visible(text)}\n")
