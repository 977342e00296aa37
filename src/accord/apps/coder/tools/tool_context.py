"""The context of the tools in one turn: the session, its mode, and the paths that they may use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accord.agent.turn import Turn
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.file_state import FileState, display_path
from accord.errors import Denied, InvalidParams
from accord.local.git import is_git_name
from accord.local.paths import ResolvedPath, expand_path
from accord.local.text import printable

if TYPE_CHECKING:
    from accord.apps.coder.settings.settings import Settings

__all__ = ["ToolContext"]

_MAX_PATH = 200


class ToolContext:
    """`hidden` are accord's own files: the model may not read or write API keys and always-answers.

    `is_read_only` applies the rules of the architect mode, whatever the session's mode.
    """

    def __init__(
        self, turn: Turn, settings: Settings, *, hidden: Sequence[Path] = (), is_read_only: bool = False
    ) -> None:
        self.turn = turn
        self.session = turn.session
        self.settings = settings
        self.hidden = [Path(os.path.realpath(path)) for path in hidden]
        self.is_read_only = is_read_only
        self.files = FileState(turn)
        self.approved_scopes: dict[str, str | None] = {}
        """The scope for which each call was allowed, by its id; None for this call alone."""

    @property
    def mode(self) -> str:
        """The current mode; it may change in the middle of a turn."""
        return "architect" if self.is_read_only else str(self.turn.options.get("mode") or "ask")

    def path(self, path: str) -> Path:
        """A path that the model wrote, absolute; ToolFailed if it is outside the session's directories."""
        return Path(self.resolve(path).path)

    def path_to_change(self, path: str) -> Path:
        """The same for a file to change. Git's own files may not be changed: git runs programs that are named there."""
        resolved = self.resolve(path)
        if any(map(is_git_name, resolved.names)):
            raise ToolFailed(f"{path} belongs to git itself", "change it by running git with the run tool")
        return Path(resolved.path)

    def resolve(self, path: str) -> ResolvedPath:
        """The path with all links followed; ToolFailed if tools may not use it."""
        try:
            resolved = self.session.roots.resolve(str(self.turn.cwd / expand_path(path)), "access")
        except InvalidParams as refused:
            short = printable(path)
            short = short if len(short) <= _MAX_PATH else f"{short[:_MAX_PATH]}…"
            raise ToolFailed(f"invalid path, {refused.reason}: {short}") from None
        except Denied:
            roots = ", ".join(map(str, self.session.roots.directories))
            raise ToolFailed(f"permission denied: {path} is outside the session's directories ({roots})") from None
        if any(resolved.real.is_relative_to(each) for each in self.hidden):
            raise ToolFailed(f"permission denied: {path} contains accord's own settings or saved answers")
        return resolved

    def display_path(self, path: Path) -> str:
        """The path relative to the session's directory if it is below it."""
        return display_path(path, self.turn.cwd)
