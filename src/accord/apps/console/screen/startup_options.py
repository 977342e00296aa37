"""What the screen is opened with."""

from __future__ import annotations

from pathlib import Path

import msgspec

from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import Permissions
from accord.apps.console.session_records import Records
from accord.client.deadlines import Deadlines
from accord.client.target import AnyTarget
from accord.dialects.negotiation import ProtocolVersion
from accord.session.mcp_servers import McpServer

__all__ = ["Opening"]


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent, where, and what to begin with. `state` is where drafts and the history of prompts are kept.

    `name` is what the agent is called, `title` what is shown, the same if it is left out.
    """

    target: AnyTarget
    name: str
    known: KnownAgent | None = None
    title: str = ""
    cwd: Path
    servers: list[McpServer] = []
    resume: str | None = None
    continues: bool = False
    state: Path | None = None
    records: Records | None = None
    version: ProtocolVersion = "auto"
    theme: str | None = None
    mode: str | None = None
    model: str | None = None
    login: str | None = None
    permissions: Permissions | None = None
    notices: list[str] = []
    deadlines: Deadlines | None = None

    @property
    def agent(self) -> KnownAgent:
        """How the agent is started, for whoever has to be told."""
        return self.known or KnownAgent(name=self.name, command=[self.name], source="command", title=self.title)
