"""The asyncio floor's agent: asyncio streams, and dicts instead of types."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec

from benchmarks.programs.loops import run
from benchmarks.programs.payloads import (
    AGENT_NAME,
    PROTOCOL_VERSION,
    SESSION_ID,
    TOOL_CALL_ID,
    is_tool_update,
    read_order,
    text_of,
    tool_title,
)


async def open_stdio() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


async def send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    writer.write(msgspec.json.encode(message) + b"\n")
    await writer.drain()


async def take_turn(writer: asyncio.StreamWriter, params: dict[str, Any]) -> dict[str, Any]:
    count, size, tool_every = read_order(params["prompt"][0]["text"])
    text = text_of(size)
    for number in range(count):
        if is_tool_update(number, tool_every):
            title = tool_title(number)
            update = {"sessionUpdate": "tool_call_update", "toolCallId": TOOL_CALL_ID, "title": title}
        else:
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        params = {"sessionId": SESSION_ID, "update": update}
        await send(writer, {"jsonrpc": "2.0", "method": "session/update", "params": params})
    return {"stopReason": "end_turn"}


async def serve() -> None:
    reader, writer = await open_stdio()
    while line := await reader.readline():
        request = msgspec.json.decode(line)
        match request["method"]:
            case "session/set_mode":
                result = {}
            case "session/prompt":
                result = await take_turn(writer, request["params"])
            case "initialize":
                info = {"name": AGENT_NAME, "version": str(os.getpid())}
                result = {"protocolVersion": PROTOCOL_VERSION, "agentInfo": info}
            case _:
                result = {"sessionId": SESSION_ID}
        await send(writer, {"jsonrpc": "2.0", "id": request["id"], "result": result})


if __name__ == "__main__":
    run(serve(), uvloop="--uvloop" in sys.argv)
