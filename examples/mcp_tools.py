"""An agent that calls the tools of MCP servers, and a client that names one: python mcp_tools.py (needs accord[mcp])"""

from __future__ import annotations

import asyncio
import json
import sys

from mcp.server.mcpserver import MCPServer

from accord import Agent, Client, StdioServer, Turn, text_of

agent, server = Agent("calculator", version="1.0"), MCPServer("sums", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@agent.prompt
async def use_tool(turn: Turn) -> None:
    servers, (name, arguments) = await turn.servers(), turn.text.split(maxsplit=1)
    tool = next((tool for tool in servers.tools if tool.name == name), None) or turn.stop("refusal")
    async with turn.tool_call(f"{tool.server}: {name}", raw_input=json.loads(arguments)) as call:
        result = await servers.call(tool, json.loads(arguments), deadline=60)
        await (call.fail(text_of(result.content)) if result.is_error else call.show(*result.content))
    await turn.say(text_of(result.content))


async def main() -> None:
    async with Client([sys.executable, __file__, "agent"]) as client:
        sums = StdioServer(name="sums", command=sys.executable, args=[__file__, "server"])
        session = await client.new_session(".", servers=[sums])
        print((await session.prompt('add {"a": 1, "b": 2}')).text)


{"agent": agent.run, "server": server.run}.get(sys.argv[-1], lambda: asyncio.run(main()))()
