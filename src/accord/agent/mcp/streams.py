"""The three transports to MCP servers, each a context manager with a pair of streams for the package `mcp`.

Law: a context is entered and left by one task, that of the server's connection.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias, cast

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from accord.errors import ConnectionClosed, FrameRejected
from accord.local.redaction import url_error
from accord.session.mcp_servers import HttpServer, Pair, SseServer, pairs_in
from accord.transports.framing import FRAME_LIMIT
from accord.transports.output_tail import OutputTail
from accord.transports.process_transport import ProcessTransport

Streams: TypeAlias = tuple[Any, Any]  # mcp keeps the types of its stream pairs to itself
OnResponse: TypeAlias = Callable[[httpx2.Response], Awaitable[None]]

_STDERR_BYTES = 8 * 1024
# No timeout for reading: a tool may take long, and its caller may have a deadline.
_TIMEOUT = httpx2.Timeout(30.0, read=None)


class Pipe:
    """Connects the process of a server with the streams: a receiver whose frames become messages for `mcp`."""

    def __init__(self, on_noise: Callable[[], None], on_rejected: Callable[[str], None]) -> None:
        self.lost: ConnectionClosed | None = None
        self._on_noise = on_noise
        self._on_rejected = on_rejected
        self._frames: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.stderr = OutputTail(_STDERR_BYTES)

    def frames_received(self, frames: list[bytes]) -> None:
        self._frames.extend(frames)
        self._arrived.set()

    def frame_rejected(self, error: FrameRejected) -> None:
        self._on_rejected(error.reason)  # it may have been a response that a caller waits for

    def input_ended(self, reason: ConnectionClosed) -> None:
        self.connection_lost(reason)  # a server that sends nothing more is of no use

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self.lost = reason
        self._arrived.set()

    def send_paused(self) -> None:
        self._writable.clear()

    def send_resumed(self) -> None:
        self._writable.set()

    async def deliver(self, process: ProcessTransport, into: Any) -> None:
        """Pass frames to `mcp`, no faster than it reads."""
        async with into:
            while True:
                process.pause_receiving()
                while self._frames:
                    for message in self._messages(self._frames.popleft()):
                        await into.send(SessionMessage(message))
                if self.lost is not None:
                    return
                self._arrived.clear()
                process.resume_receiving()
                await self._arrived.wait()

    async def send(self, process: ProcessTransport, source: Any) -> None:
        """Send the messages of `mcp`, no faster than the server reads."""
        async with source:
            async for item in source:
                await self._writable.wait()
                process.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    def _messages(self, frame: bytes) -> Iterator[JSONRPCMessage]:
        try:
            yield jsonrpc_message_adapter.validate_json(frame, by_name=False)
        except ValidationError:
            yield from self._odd_messages(frame)

    def _odd_messages(self, frame: bytes) -> Iterator[JSONRPCMessage]:
        # Half an emoji, a batch, or a malformed response: its caller must not wait for ever.
        try:
            text = json.dumps(json.loads(frame), ensure_ascii=False)
            value = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        except (ValueError, RecursionError):
            value = None
        for entry in cast("list[Any]", value if isinstance(value, list) else [value]):
            try:
                yield jsonrpc_message_adapter.validate_python(entry, by_name=False)
            except ValidationError:
                id = cast("dict[str, Any]", entry).get("id") if isinstance(entry, dict) else None
                if isinstance(id, int | str) and "method" not in entry:
                    error = ErrorData(code=PARSE_ERROR, message="the server sent an invalid JSON-RPC response")
                    yield JSONRPCError(jsonrpc="2.0", id=id, error=error)
                else:
                    self._on_noise()


@asynccontextmanager
async def stdio_streams(process: ProcessTransport, pipe: Pipe) -> AsyncGenerator[Streams]:
    """Raises `ConnectionClosed` when the server can't be started. Nothing is left running."""
    into, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
    write, source = anyio.create_memory_object_stream[SessionMessage]()
    try:
        await process.open(pipe)
        async with anyio.create_task_group() as tasks, read, write:
            tasks.start_soon(_until_closed, pipe.deliver, process, into)
            tasks.start_soon(_until_closed, pipe.send, process, source)
            try:
                yield read, write
            finally:
                tasks.cancel_scope.cancel()
    finally:
        for stream in (into, read, write, source):
            stream.close()
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _until_closed(
    pump: Callable[[ProcessTransport, Any], Awaitable[None]], process: ProcessTransport, stream: Any
) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session was closed first
        await pump(process, stream)


@asynccontextmanager
async def http_streams(server: HttpServer, on_response: OnResponse) -> AsyncGenerator[Streams]:
    """Nothing is sent before the first message, so only the check of the URL can fail before that."""
    _check_url(server.url)
    async with (
        _client(pairs_in(server.headers), on_response) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=FRAME_LIMIT) as streams,
    ):
        yield streams


@asynccontextmanager
async def sse_streams(server: SseServer, on_response: OnResponse) -> AsyncGenerator[Streams]:
    """A message of more than 1 MiB ends the connection: `mcp` has no other limit for these servers."""

    def make(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        added = [Pair(name, value) for name, value in (headers or {}).items() if name not in server.headers]
        return _client([*added, *pairs_in(server.headers)], on_response)

    _check_url(server.url)
    async with sse_client(server.url, headers=dict(server.headers), httpx_client_factory=make) as streams:
        yield streams


def _check_url(url: str) -> None:
    error = url_error(url)
    if error is not None:
        raise ConnectionClosed(f"invalid URL: {error}", kind="not_started")


def _client(headers: Iterable[Pair], on_response: OnResponse) -> httpx2.AsyncClient:
    pairs = [(pair.name, pair.value) for pair in headers]
    return httpx2.AsyncClient(headers=pairs, timeout=_TIMEOUT, event_hooks={"response": [on_response]})
