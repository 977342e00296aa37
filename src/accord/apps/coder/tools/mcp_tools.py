"""The tools of the session's MCP servers, as tools like any other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from accord.agent.mcp.content import McpTool
from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.models.model import ToolDescription
from accord.apps.coder.settings.display import printable
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.tool import Tool, ToolResult, fenced, parse_object
from accord.errors import AccordError, DeadlineExceeded
from accord.session.content import Content, Text, text_of

__all__ = ["McpServerTool", "connected_tools", "tools_of"]

_LONGEST = 64  # what models' servers take as a name


class AnyArguments(msgspec.Struct):
    """Whatever the model wrote: the server checks it."""

    members: dict[str, Any] = {}


class McpServerTool(Tool[AnyArguments]):
    needs = "mcp"
    arguments = AnyArguments

    def __init__(self, tool: McpTool, name: str) -> None:
        self.tool = tool
        self.name = name  # type: ignore[misc]  # of one tool, not of a class of them

    def described(self) -> ToolDescription:
        about = self.tool.description or f"The tool {self.tool.name} of {self.tool.server}."
        return ToolDescription(name=self.name, description=about, parameters=self.tool.input_schema)

    def parsed(self, written: str) -> AnyArguments:
        return AnyArguments(parse_object(written, self.name))

    def title(self, context: ToolContext, arguments: AnyArguments) -> str:
        return f"{self.tool.server}: {self.tool.title or self.tool.name}"

    async def preview(self, context: ToolContext, arguments: AnyArguments) -> list[ToolCallContent]:
        written = msgspec.json.format(msgspec.json.encode(arguments.members), indent=2).decode()
        return [f"{printable(self.tool.name)} of {printable(self.tool.server)}, with\n{fenced(written, 'json')}"]

    def scope(self, context: ToolContext, arguments: AnyArguments) -> str:
        return f"use the tool {self.tool.name} of the MCP server {self.tool.server}"

    async def run(self, context: ToolContext, arguments: AnyArguments, call: AgentToolCall) -> ToolResult:
        servers = context.session.mcp_servers.connections
        if servers is None:
            raise ToolFailed(f"the server {self.tool.server} is not connected any more")
        seconds = context.settings.command_deadline
        try:
            result = await servers.call(self.tool, arguments.members, deadline=seconds, meta=context.turn.trace)
        except DeadlineExceeded:
            raise ToolFailed(f"{self.tool.server} did not answer within {seconds:g} seconds") from None
        except AccordError as error:
            raise ToolFailed(f"{self.tool.server}: {error}") from None
        await call.show(*result.content)
        beside: list[Content] = [block for block in result.content if not isinstance(block, Text)]
        text = text_of(result.content) or "(no text)"
        return ToolResult(text, _details(result.structured), content=beside, is_error=result.is_error)


def _details(structured: Any) -> dict[str, Any]:
    return {} if structured is None else {"structured": structured}


def tools_of(tools: Iterable[McpTool]) -> list[McpServerTool]:
    """Each with a name of its own that every model takes, and that tells the servers apart."""
    named: dict[str, McpServerTool] = {}
    for tool in tools:
        name = unique = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{tool.server}__{tool.name}")[:_LONGEST]
        number = 1
        while unique in named:
            number += 1
            unique = f"{name[: _LONGEST - len(str(number)) - 1]}_{number}"
        named[unique] = McpServerTool(tool, unique)
    return list(named.values())


async def connected_tools(context: ToolContext) -> list[McpServerTool]:
    """Those of all servers that could be connected; waits for the connecting, which has its own deadline."""
    return tools_of((await context.turn.servers()).tools)
