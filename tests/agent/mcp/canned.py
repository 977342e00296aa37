"""An HTTP server that answers with whatever bytes a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def canned(reply: Callable[[str, str], bytes]) -> AsyncIterator[tuple[str, list[str]]]:
    """Its address, and the requests it has got. `reply` gets method and path; if it returns nothing, we hang up."""
    requests: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        requests.append(head)
        method, path, _ = head.split(" ", 2)
        length = next((line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-len")), 0)
        await reader.readexactly(int(length))
        answer = reply(method, path)
        writer.write(answer)
        await writer.drain()
        if b"text/event-stream" in answer:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", requests


def response(status: str, body: str = "", kind: str = "text/plain") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n"
    if kind != "text/event-stream":
        head += f"Content-Length: {len(body)}\r\n"
    return f"{head}\r\n{body}".encode()
