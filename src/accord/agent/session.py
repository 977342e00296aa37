"""A session of an agent, as the author's code holds it. A session belongs to no connection."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from accord.agent.publisher import Publisher
from accord.local.paths import Roots
from accord.session.entities import Option
from accord.session.mcp_servers import McpServer
from accord.session.requests import SessionSummary
from accord.session.updates import InfoPatch, OptionsPatch, Patch

__all__ = ["AgentSession"]


class AgentSession:
    """Attributes about the session, and updates that belong to no turn."""

    def __init__(self, summary: SessionSummary, publisher: Publisher) -> None:
        self.id = summary.session_id
        """The id by which clients load or resume it."""
        self.cwd = publisher.cwd
        """The working directory, absolute."""
        self.additional_directories = [Path(directory) for directory in summary.additional_directories]
        """Further directories of the session, absolute."""
        directories = (summary.cwd, *summary.additional_directories)
        self.roots = Roots(path for path in directories if os.path.isabs(path))  # noqa: PTH117  # on this system
        """All its directories, with links resolved when the session was opened."""
        self.transcript = publisher.transcript
        """The history: messages, tool calls, plans and the rest."""
        self.state: dict[str, Any] = {}
        """Yours: whatever belongs to the session. It lives as long as the session is open."""
        self.is_new = False
        """Whether it was just created, by session/new or session/fork; a loaded or resumed one is not new."""
        self.previous_options: dict[str, str | bool | None] = {}
        """The options' values when the session was last open, also of options that the agent no longer offers."""
        self.saved_answers: MutableMapping[str, bool] = {}
        """The user's answers to permission requests that hold for the session, by scope. May be replaced."""
        self.own_servers: list[McpServer] = []
        """MCP servers of the agent's own, beside those of the client; set them in the `new_session` handler."""
        self._publisher = publisher

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, by every client or for good."""
        return self._publisher.is_closed

    @property
    def options(self) -> dict[str, str | bool | None]:
        """The value of each option, the mode's included."""
        return {option.id: option.value for option in self.transcript.options}

    def option(self, option_id: str) -> Option | None:
        """An option with its choices and its value."""
        return next((option for option in self.transcript.options if option.id == option_id), None)

    async def send(self, patch: Patch) -> None:
        """Send an update to all clients of the session, whether a turn runs or not. ValueError if it is not valid."""
        await self._publisher.send(patch)

    def send_nowait(self, patch: Patch, *, silent: bool = False) -> None:
        """As `send`, without waiting for slow clients; for callbacks and for code that was cancelled.

        With `silent` it becomes part of the history, but no client gets it now.
        """
        self._publisher.send_nowait(patch, silent=silent)

    async def set_title(self, title: str | None) -> None:
        """Name the session."""
        await self.send(InfoPatch(title=title))
        await self._publisher.journal.rename(title)

    async def set_options(self, options: list[Option]) -> None:
        """Replace the options. While the session is prepared nothing is sent: the response that opens it has them."""
        if self._publisher.is_open:
            await self.send(OptionsPatch(options=options))
        else:
            self._publisher.send_nowait(OptionsPatch(options=options), silent=True)
