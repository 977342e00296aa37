"""An agent without a will of its own: it sends exactly what a test has it send, right or wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.memory import MemoryTransport, joined

__all__ = ["CWD", "Puppet"]

CWD = "/work"
CAPABILITIES = {
    "loadSession": True,
    "promptCapabilities": {"embeddedContext": True},
    "sessionCapabilities": {"resume": {}, "list": {}, "close": {}, "delete": {}, "fork": {}},
}
HANDSHAKES: dict[Any, dict[str, Any]] = {
    1: {"protocolVersion": 1, "agentCapabilities": CAPABILITIES},
    2: {"protocolVersion": 2, "info": {"name": "puppet", "version": "1"}, "capabilities": {"session": {}}},
    "2-draft": {"protocolVersion": 2, "agentCapabilities": CAPABILITIES},
}

Message = dict[str, Any]


class Puppet:
    """A target for `Client`. Each method has a handler, which returns the result, or None to say nothing yet."""

    def __init__(self, version: Any = 1, **handshake: Any) -> None:
        self.received: list[Message] = []
        self.connections = 0
        self.closed: ConnectionClosed | None = None
        self.handlers: dict[str, Callable[[Message], Any]] = {
            "initialize": lambda message: {**HANDSHAKES[version], **handshake},
            "session/new": lambda message: {"sessionId": "s"},
        }
        self._asked = 0
        self._news: asyncio.Future[None] | None = None

    def connect(self) -> MemoryTransport:
        ours, self.end = joined()
        self.connections += 1
        self._opening = asyncio.ensure_future(self.end.open(self))
        return ours

    def on(self, method: str, handler: Any) -> None:
        """Answer a method: with what a function returns, or with a value."""
        self.handlers[method] = handler if callable(handler) else lambda message: handler

    async def seen(self, method: str, count: int = 1) -> Message:
        """The so-manieth message of this method."""
        await self._until(lambda: len(self.all(method)) >= count)
        return self.all(method)[count - 1]

    async def answered(self, id: Any) -> Message:
        """The client's answer to a request of ours."""
        await self._until(lambda: bool(self._answers(id)))
        return self._answers(id)[0]

    def _answers(self, id: Any) -> list[Message]:
        return [message for message in self.received if "method" not in message and message.get("id") == id]

    def all(self, method: str) -> list[Message]:
        return [message for message in self.received if message.get("method") == method]

    def send(self, message: Any) -> None:
        self.end.send(json.dumps(message).encode())

    def answer(self, message: Message, result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def fail(self, message: Message, code: int, text: str = "No", **more: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text, **more}})

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def update(self, tag: str, session_id: str = "s", /, **members: Any) -> None:
        update = {"sessionUpdate": tag, **members}
        self.notify("session/update", {"sessionId": session_id, "update": update})

    def say(self, text: str, session_id: str = "s", /, **members: Any) -> None:
        self.update("agent_message_chunk", session_id, content={"type": "text", "text": text}, **members)

    def ask(self, method: str, params: Any) -> str:
        """Ask the client something; the id."""
        self._asked += 1
        id = f"q{self._asked}"
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def frames_received(self, frames: list[bytes]) -> None:
        for frame in frames:
            message = json.loads(frame)
            self.received.append(message)
            if self._news is not None and not self._news.done():
                self._news.set_result(None)
            if "method" in message:
                self._handle(message)

    def frame_refused(self, error: FrameRejected) -> None:
        raise error

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self.closed = reason

    def send_paused(self) -> None:
        pass

    def send_resumed(self) -> None:
        pass

    def _handle(self, message: Message) -> None:
        handler = self.handlers.get(message["method"])
        result = None if handler is None else handler(message)
        if result is not None and "id" in message:
            self.answer(message, result)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._news = asyncio.get_running_loop().create_future()
            await self._news
