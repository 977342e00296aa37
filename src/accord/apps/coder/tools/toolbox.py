"""The tools there are, by mode."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.apps.coder.models.model import ToolDescription
from accord.apps.coder.tools.edit import DeleteFile, EditFile, MoveFile, WriteFile
from accord.apps.coder.tools.fetch import FetchPage
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.git_diff import ShowChanges
from accord.apps.coder.tools.mcp_tools import McpServerTool
from accord.apps.coder.tools.plan import AskUser, SwitchMode, UpdatePlan
from accord.apps.coder.tools.read import ListDirectory, ReadFile
from accord.apps.coder.tools.run import RunCommand
from accord.apps.coder.tools.search import SearchFiles
from accord.apps.coder.tools.tool import Tool

__all__ = ["Toolbox"]

_OWN: list[Tool[Any]] = [
    ReadFile(),
    ListDirectory(),
    SearchFiles(),
    ShowChanges(),
    WriteFile(),
    EditFile(),
    DeleteFile(),
    MoveFile(),
    RunCommand(),
    FetchPage(),
    UpdatePlan(),
    AskUser(),
    SwitchMode(),
]
_FOR_ARCHITECTS = ("nothing", "network", "mode")


class Toolbox:
    """What one turn can use: our own tools and those of the session's servers."""

    def __init__(self, servers: Iterable[McpServerTool] = ()) -> None:
        self._tools = {tool.name: tool for tool in [*_OWN, *servers]}

    def find(self, name: str) -> Tool[Any] | None:
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def offered(self, context: ToolContext) -> list[ToolDescription]:
        """What a model is told of: an architect has nothing that changes anything."""
        return [tool.described() for tool in self._tools.values() if _is_offered(tool, context)]


def _is_offered(tool: Tool[Any], context: ToolContext) -> bool:
    if context.is_read_only and tool.needs == "mode":
        return False
    return context.mode != "architect" or tool.needs in _FOR_ARCHITECTS
