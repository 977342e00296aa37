"""Makes the tools of the session's MCP servers tools like any other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from accord.agent.mcp.content import McpTool
from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.models.model import ToolDescription
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult, fenced, parse_object
from accord.errors import AccordError, DeadlineExceeded
from accord.local.text import printable
from accord.session.content import Content, Text, text_of

_MAX_NAME = 64  # the limit of model servers


class AnyArguments(msgspec.Struct):
    """Any JSON object: the server checks it."""

    members: dict[str, Any] = {}


class McpServerTool(Tool[AnyArguments]):
    needs = "mcp"

    def __init__(self, tool: McpTool, name: str) -> None:
        self.tool = tool
        self.name = name  # type: ignore[misc]  # differs between instances

    def describe(self) -> ToolDescription:
        about = self.tool.description or f"The tool {self.tool.name} of {self.tool.server}."
        return ToolDescription(name=self.name, description=about, parameters=self.tool.input_schema)

    def parse(self, arguments: str) -> AnyArguments:
        return AnyArguments(parse_object(arguments, self.name))

    def title(self, context: ToolContext, arguments: AnyArguments) -> str:
        return f"{self.tool.server}: {self.tool.title or self.tool.name}"

    async def preview(self, context: ToolContext, arguments: AnyArguments) -> list[ToolCallContent]:
        members = msgspec.json.format(msgspec.json.encode(arguments.members), indent=2).decode()
        return [f"{printable(self.tool.name)} of {printable(self.tool.server)}, with\n{fenced(members, 'json')}"]

    def scope(self, context: ToolContext, arguments: AnyArguments) -> str:
        return f"use the tool {self.tool.name} of the MCP server {self.tool.server}"

    async def run(self, context: ToolContext, arguments: AnyArguments, call: AgentToolCall) -> ToolResult:
        servers = await context.turn.servers()
        seconds = context.settings.command_deadline
        try:
            result = await servers.call(self.tool, arguments.members, deadline=seconds, meta=context.turn.trace)
        except DeadlineExceeded:
            raise ToolFailed(f"{self.tool.server} timed out after {seconds:g} s") from None
        except AccordError as error:
            raise ToolFailed(f"{self.tool.server}: {error}") from None
        await call.show(*result.content)
        content: list[Content] = [block for block in result.content if not isinstance(block, Text)]
        details = {} if result.structured is None else {"structured": result.structured}
        text = text_of(result.content)
        return ToolResult(text, details, "" if text else "no text", content, is_error=result.is_error)


def tools_of(tools: Iterable[McpTool]) -> list[McpServerTool]:
    """The tools with unique names that every model accepts, made from the names of the server and the tool."""
    named: dict[str, McpServerTool] = {}
    for tool in tools:
        name = unique = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{tool.server}__{tool.name}")[:_MAX_NAME]
        number = 1
        while unique in named:
            number += 1
            unique = f"{name[: _MAX_NAME - len(str(number)) - 1]}_{number}"
        named[unique] = McpServerTool(tool, unique)
    return list(named.values())


async def connected_tools(context: ToolContext) -> list[McpServerTool]:
    """The tools of all connected servers; waits until they are connected, which has its own deadline."""
    return tools_of((await context.turn.servers()).tools)
