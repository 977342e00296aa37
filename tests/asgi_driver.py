"""Calls an ASGI application directly, as a web server does, without sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

HEADERS = {"host": "localhost:8000"}
POST_HEADERS = {"content-type": "application/json"}


def _encode(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in {**HEADERS, **headers}.items() if value]


class Response:
    """What the application has answered so far; `body` grows as long as it is a stream."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.chunks: list[bytes] = []
        self.is_complete = False
        self.changed = asyncio.Event()
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")
            self.chunks.append(message.get("body", b""))
            self.is_complete = not message.get("more_body", False)
        self.changed.set()

    async def until(self, condition: Any) -> None:
        while not condition():
            self.changed.clear()
            await self.changed.wait()

    @property
    def events(self) -> list[Any]:
        lines = self.body.decode().splitlines()
        return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]

    async def event(self, index: int) -> Any:
        await self.until(lambda: len(self.events) > index or self.is_complete)
        return self.events[index]

    async def complete(self) -> None:
        await self.until(lambda: self.is_complete)

    async def disconnect(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})
        assert self.task is not None
        await self.task


class Driver:
    def __init__(self, app: Any) -> None:
        self.app = app
        self.query = ""

    def start(self, method: str, headers: Mapping[str, str], body: bytes = b"", path: str = "/acp") -> Response:
        response = Response()
        response.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
        scope = {
            "type": "http", "method": method, "path": path, "scheme": "http", "headers": _encode(headers),
            "query_string": self.query.encode(),
        }  # fmt: skip
        response.task = asyncio.create_task(self.app(scope, response.incoming.get, response.send))
        return response

    async def request(self, method: str, headers: Mapping[str, str], body: bytes = b"", path: str = "/acp") -> Response:
        response = self.start(method, headers, body, path)
        assert response.task is not None
        await response.task
        return response

    async def post(self, message: Any, headers: Mapping[str, str] | None = None) -> Response:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.request("POST", {**POST_HEADERS, **(headers or {})}, body)

    async def stream(self, headers: Mapping[str, str]) -> Response:
        response = self.start("GET", {"accept": "text/event-stream", **headers})
        await response.until(lambda: response.status)
        return response

    def websocket(self, headers: Mapping[str, str] | None = None, path: str = "/acp") -> Socket:
        socket = Socket()
        socket.incoming.put_nowait({"type": "websocket.connect"})
        scope = {
            "type": "websocket", "path": path, "scheme": "ws", "headers": _encode(headers or {}),
            "query_string": self.query.encode(),
        }  # fmt: skip
        socket.task = asyncio.create_task(self.app(scope, socket.incoming.get, socket.outgoing.put))
        return socket


class Socket:
    """The client's end of a WebSocket."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None

    def send(self, message: Any) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        self.incoming.put_nowait({"type": "websocket.receive", "text": text})

    def send_bytes(self, data: bytes) -> None:
        self.incoming.put_nowait({"type": "websocket.receive", "bytes": data})

    async def received(self) -> dict[str, Any]:
        """The next message for the client: an ASGI event, or the JSON of a text."""
        event = await self.outgoing.get()
        return json.loads(event["text"]) if event.get("text") is not None else event

    async def disconnect(self, code: int = 1006) -> None:
        self.incoming.put_nowait({"type": "websocket.disconnect", "code": code})
        assert self.task is not None
        await self.task


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that no event tells of; the hang guard ends it."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.005)
