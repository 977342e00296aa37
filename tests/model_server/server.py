"""HTTP around the APIs: routes, streams, faults, and the record of what was asked."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from types import ModuleType, TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from tests.model_server import anthropic, google, openai_chat, openai_responses
from tests.model_server.script import Reply, Script, Seen

APIS: dict[str, ModuleType] = {
    "/v1/chat/completions": openai_chat,
    "/chat/completions": openai_chat,
    "/v1/responses": openai_responses,
    "/responses": openai_responses,
    "/v1/messages": anthropic,
}
GOOGLE = re.compile(r"/v1(?:beta|alpha)?/models/([^:]+):(streamGenerateContent|generateContent)")
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ModelServer:
    """Use it as a context manager. `requests` tells what was asked, and how the client took the answer."""

    def __init__(self, script: Script | list[Any] | dict[str, Any], port: int = 0) -> None:
        self.script = script if isinstance(script, Script) else Script(script)
        self.requests: list[dict[str, Any]] = []
        self.port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def asked(self, number: int) -> None:
        """Wait for this request."""
        while len(self.requests) < number:
            self._changed.clear()
            await self._changed.wait()

    async def ended(self, number: int) -> str:
        """How the answer to this request ended, as soon as it has: whole, cut, or gone (the client went away)."""
        await self.asked(number)
        while self.requests[number - 1]["ended"] is None:
            self._changed.clear()
            await self._changed.wait()
        return self.requests[number - 1]["ended"]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while (request := await _read(reader)) is not None:
                await self._answer(request, Answering(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, request: Request, answering: Answering) -> None:
        path = urlsplit(request.path).path
        named = GOOGLE.fullmatch(path)
        api = google if named else APIS.get(path)
        if request.method == "POST" and api is not None:
            body = json.loads(request.body or b"{}")
            seen: Seen = api.seen(body, named[1] if named else "")
            streams = named[2] == "streamGenerateContent" if named else bool(body.get("stream"))
            record = {"api": api.NAME, "path": request.path, "headers": request.headers, "body": body, "ended": None}
            record["from_port"] = answering.from_port
            self.requests.append(record)
            self._changed.set()
            try:
                record["ended"] = await self._reply(api, seen, answering, streams=streams)
            except ConnectionError:
                record["ended"] = "gone"
                raise
            finally:
                self._changed.set()
            return
        status, told = self._other(request, path)
        await answering.json(status, told, body=request.method != "HEAD")

    def _other(self, request: Request, path: str) -> tuple[int, Any]:
        if path == "/requests":
            return 200, self.requests
        if path.endswith(("/count_tokens", ":countTokens")):
            tokens = len(request.body) // 4
            return 200, {"totalTokens": tokens} if path.endswith(":countTokens") else {"input_tokens": tokens}
        if path.endswith("/models") and "anthropic-version" in request.headers:
            listed = [{"type": "model", "id": name, "display_name": name} for name in self.script.models]
            return 200, {"data": listed, "has_more": False, "first_id": None, "last_id": None}
        if path.startswith("/v1beta/models"):
            return 200, {"models": [{"name": f"models/{name}", "displayName": name} for name in self.script.models]}
        if path.endswith("/models"):
            listed = [
                {"id": name, "object": "model", "created": 0, "owned_by": "script"} for name in self.script.models
            ]
            return 200, {"object": "list", "data": listed}
        if request.method in ("GET", "HEAD") and path in ("/", "/health"):
            return 200, {"status": "ok"}
        return 404, {"error": {"message": f"nothing is served at {request.method} {path}", "code": 404}}

    async def _reply(self, api: ModuleType, seen: Seen, answering: Answering, *, streams: bool) -> str:
        reply = self.script.next(seen)
        if reply is None:
            message = f"the script has no reply to request {len(self.requests)}, which ends in {seen.last_user!r}"
            await answering.json(400, api.error(400, message))
        elif reply.fault == "status":
            headers = {} if reply.retry_after is None else {"Retry-After": f"{reply.retry_after:g}"}
            await answering.json(reply.status, api.error(reply.status, reply.message, reply.type), headers)
        elif streams:
            return await _stream(api, reply, seen, answering)
        else:
            await answering.json(200, api.whole(reply, seen))
        return "whole"


async def _stream(api: ModuleType, reply: Reply, seen: Seen, answering: Answering) -> str:
    await answering.open()
    for event in api.events(reply, seen):
        await asyncio.sleep(reply.pause)
        await answering.send(event)
    match reply.fault:
        case "cut":
            answering.abort()
            return "cut"
        case "hang":
            await answering.until_gone()
            return "gone"
        case "error":
            await answering.send(api.error_event(reply))
        case "garbage":
            await answering.send(b"data: {this is no JSON\n\n")
        case "unfinished":
            pass
        case _:
            for event in api.ending(reply, seen):
                await answering.send(event)
    await answering.finish()
    return "whole"


class Answering:
    """One answer on one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def from_port(self) -> int:
        return self._writer.get_extra_info("peername")[1]

    async def json(self, status: int, told: Any, headers: dict[str, str] | None = None, *, body: bool = True) -> None:
        text = json.dumps(told).encode()
        head = {"Content-Type": "application/json", "Content-Length": str(len(text)), **(headers or {})}
        self._head(status, head)
        await self.send_raw(text if body else b"")

    async def open(self) -> None:
        self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        await self.send_raw(b"")

    async def send(self, event: bytes) -> None:
        await self.send_raw(b"%x\r\n%b\r\n" % (len(event), event))

    async def finish(self) -> None:
        await self.send_raw(b"0\r\n\r\n")

    def abort(self) -> None:
        self._writer.transport.abort()

    async def until_gone(self) -> None:
        await self._reader.read()

    async def send_raw(self, raw: bytes) -> None:
        if self._writer.is_closing():
            raise ConnectionResetError("the client went away")
        self._writer.write(raw)
        await self._writer.drain()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Scripted')}", "request-id: req_scripted"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())


async def _read(reader: asyncio.StreamReader) -> Request | None:
    line = await reader.readline()
    if not line.strip():
        return None
    method, path, _ = line.decode().split()
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode().partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int((await reader.readline()).strip(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body)
