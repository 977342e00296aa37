"""A server made with the official package, to be run over `stdio`, `http` or `sse`; the latter two print their port."""

# ruff: noqa: T201 - its output is what the test reads

from __future__ import annotations

import asyncio
import os
import socket
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    Icon,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

changes = InMemorySubscriptionBus()
server = MCPServer("official", subscriptions=changes)


@server.tool(title="Add", annotations=ToolAnnotations(read_only_hint=True), meta={"acme/cost": 1})
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@server.tool()
async def trace(context: Context) -> str:
    meta = context.request_context.meta or {}
    await context.report_progress(1, 1)
    return str(dict(meta).get("traceparent"))


@server.tool()
def everything() -> CallToolResult:
    annotations = Annotations(audience=["user"], priority=0.5, last_modified="2025-01-12T15:00:58Z")
    return CallToolResult(
        content=[
            TextContent(text="plain"),
            TextContent(text="marked", annotations=annotations, _meta={"acme/n": 1}),
            ImageContent(data="aW1hZ2U=", mime_type="image/png", annotations=annotations),
            AudioContent(data="c291bmQ=", mime_type="audio/wav", _meta={"acme/n": 2}),
            ResourceLink(
                uri="file:///a.txt",
                name="a.txt",
                title="A",
                description="a file",
                mime_type="text/plain",
                size=12,
                icons=[Icon(src="data:,", mime_type="image/png", sizes=["16x16"], theme="dark")],
                annotations=annotations,
            ),
            EmbeddedResource(
                resource=TextResourceContents(
                    uri="file:///b.txt", mime_type="text/plain", text="inside", _meta={"acme/n": 3}
                ),
                annotations=annotations,
                _meta={"acme/n": 4},
            ),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///c", blob="YmxvYg==")),
        ],
        structured_content={"n": 5},
        _meta={"acme/n": 6},
    )


@server.tool()
async def count(context: Context, to: int) -> str:
    for number in range(to):
        await context.report_progress(number + 1, to, f"at {number + 1}")
    return f"counted to {to}"


@server.tool()
async def wait(context: Context) -> str:
    """Reports progress and never returns; when it is cancelled, the server gets a tool `cancelled`."""
    await context.report_progress(1, None, None)
    try:
        await asyncio.Event().wait()
    finally:
        with anyio.CancelScope(shield=True):
            await add_tool(context, "cancelled")
    return "never"


@server.tool()
def fail() -> str:
    raise ValueError("it is broken")


@server.tool()
def refuse() -> str:
    raise MCPError(-32000, "not today", {"until": "tomorrow"})


@server.tool()
async def grow(context: Context) -> str:
    await add_tool(context, "grown")
    return "grown"


async def add_tool(context: Context, name: str) -> None:
    taken = len([tool for tool in await server.list_tools() if tool.name.startswith(name)])
    server.add_tool(lambda: "new", name=f"{name}-{taken}" if taken else name, description="New.")
    await context.session.send_tool_list_changed()
    await changes.publish(ToolsListChanged())


@server.tool()
def large(size: int) -> str:
    return "x" * size


@server.tool()
def surroundings() -> list[str]:
    return [os.getcwd(), os.environ.get("OF_THE_SERVER", ""), os.environ.get("OF_THE_AGENT", "")]  # noqa: PTH109


@server.tool()
def die() -> str:
    os._exit(7)


def serve(kind: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    app = server.streamable_http_app() if kind == "http" else server.sse_app()
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run()
    else:
        serve(sys.argv[1])
