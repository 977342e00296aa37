"""The context that the parts of the screen share: the options of the screen, and what the app does for its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from textual.screen import ModalScreen, Screen

from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import Permissions
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.main_screen import MainScreen
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.screen.shutdown import BackgroundTasks
from accord.client.deadlines import Deadlines
from accord.client.target import AnyTarget
from accord.dialects.negotiation import ProtocolVersion
from accord.session.mcp_servers import McpServer


class ScreenOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The agent, the directory, and the settings to begin with. `state` is the directory of drafts and prompt history.

    `name` identifies the agent in the prompt history; `title` is shown, or else the name.
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
    records: ConversationRecords | None = None
    saves_checkpoints: bool = False
    version: ProtocolVersion = "auto"
    theme: str | None = None
    """For this start only."""
    theme_setting: str | None = None
    vim: bool = False
    keys: dict[str, list[str]] = {}
    mode: str | None = None
    model: str | None = None
    login: str | None = None
    permissions: Permissions | None = None
    notices: list[str] = []
    deadlines: Deadlines | None = None

    @property
    def agent(self) -> KnownAgent:
        """The agent's description, for error messages."""
        return self.known or KnownAgent(name=self.name, command=[self.name], source="command", title=self.title)


class ScreenContext(Protocol):
    """The app, as far as its parts may use it."""

    options: ScreenOptions
    main: MainScreen
    tasks: BackgroundTasks
    palette: Palette

    @property
    def tab(self) -> SessionTab:
        """The tab on the screen."""
        ...

    @property
    def screen(self) -> Screen[Any]:
        """The page on top."""
        ...

    @property
    def clipboard(self) -> str:
        """The text that was copied last on this screen."""
        ...

    def copy_to_clipboard(self, text: str) -> None: ...

    def tell(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None:
        """Show a notification, which disappears after a while."""
        ...

    async def ask_page(self, page: ModalScreen[str | None]) -> str | None:
        """Show a page and wait for the choice."""
        ...

    def exit(self, result: int) -> None:
        """Quit with an exit status."""
        ...
