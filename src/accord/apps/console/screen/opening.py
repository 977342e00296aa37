"""What the screen is opened with."""

from __future__ import annotations

from pathlib import Path

import msgspec

from accord.client.commands import AnyTarget
from accord.client.deadlines import Deadlines
from accord.dialects.negotiation import Offered
from accord.session.servers import McpServer

__all__ = ["Opening"]


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent, where, and what to begin with. `state` is where drafts and the history of prompts are kept.

    `name` is what the agent is called in the history, `title` what is shown, the same if it is left out.
    """

    target: AnyTarget
    name: str
    title: str = ""
    cwd: Path
    servers: list[McpServer] = []
    resume: str | None = None
    state: Path | None = None
    version: Offered = "auto"
    theme: str | None = None
    mode: str | None = None
    model: str | None = None
    login: str | None = None
    notices: list[str] = []
    deadlines: Deadlines | None = None

    @property
    def shown_name(self) -> str:
        return self.title or self.name
