"""The set of tools, and which of them each mode offers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.apps.coder.models.model import ToolDescription
from accord.apps.coder.tools.edit import EditFile
from accord.apps.coder.tools.fetch import FetchPage
from accord.apps.coder.tools.git_diff import ShowChanges
from accord.apps.coder.tools.mcp_tools import McpServerTool
from accord.apps.coder.tools.move_and_delete import DeleteFile, MoveFile
from accord.apps.coder.tools.plan import UpdatePlan
from accord.apps.coder.tools.questions import AskUser, SwitchMode
from accord.apps.coder.tools.read import ListDirectory, ReadFile
from accord.apps.coder.tools.run import RunCommand
from accord.apps.coder.tools.search import SearchFiles
from accord.apps.coder.tools.tool import Tool
from accord.apps.coder.tools.tool_context import ToolContext
from accord.apps.coder.tools.write import WriteFile

__all__ = ["Toolbox"]

_OWN_TOOLS: list[Tool[Any]] = [
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
    """The tools of one turn: our own and those of the session's MCP servers."""

    def __init__(self, of_servers: Iterable[McpServerTool] = ()) -> None:
        self._tools = {tool.name: tool for tool in [*_OWN_TOOLS, *of_servers]}

    def find(self, name: str) -> Tool[Any] | None:
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def descriptions(self, context: ToolContext) -> list[ToolDescription]:
        """The tools that the model is offered in the current mode: an architect gets none that change anything."""
        return [tool.describe() for tool in self._tools.values() if _is_offered(tool, context)]


def _is_offered(tool: Tool[Any], context: ToolContext) -> bool:
    if context.is_read_only and tool.needs == "mode":
        return False
    return context.mode != "architect" or tool.needs in _FOR_ARCHITECTS
