"""Clients and agents that speak raw JSON-RPC with a router, in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from accord.errors import ConnectionClosed
from accord.relay.process_pool import RelayLimits
from accord.relay.router import Router
from accord.relay.session_records import SessionOwners
from accord.transports.memory import MemoryTransport, memory_pair
from accord.transports.transport import Identity, Receiver
from tests.asgi_driver import until

Message = dict[str, Any]


class RawEnd:
    """One end of a connection in memory; `received` are the messages so far."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.received: list[Any] = []
        self.is_closed = False
        self.reads = True

    async def open(self) -> None:
        await self.transport.open(self)

    def send(self, **message: Any) -> None:
        self.send_raw({"jsonrpc": "2.0", **message})

    def send_raw(self, message: Any) -> None:
        self.transport.send(message if isinstance(message, bytes) else json.dumps(message).encode())

    def frames_received(self, frames: list[bytes]) -> None:
        for frame in frames:
            self.received.append(json.loads(frame))
            self.on_message(self.received[-1])

    def on_message(self, message: Any) -> None: ...

    def frame_rejected(self, error: Any) -> None: ...

    def input_ended(self, reason: ConnectionClosed) -> None: ...

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self.is_closed = True

    def send_paused(self) -> None: ...

    def send_resumed(self) -> None: ...


class RawAgent(RawEnd):
    """An agent that answers with `answers`, by method: a result, an Exception with an error, or a function of the message.

    A method with the answer None is not answered at all.
    """

    def __init__(self, answers: dict[str, Any]) -> None:
        self.near, far = memory_pair()
        super().__init__(far)
        self.answers = answers
        self.task = asyncio.create_task(self.open())

    def on_message(self, message: Any) -> None:
        if "method" not in message or "id" not in message:
            return
        answer = self.answers.get(message["method"], LookupError({"code": -32601, "message": "no such method"}))
        if callable(answer):
            answer = answer(self, message)
        if isinstance(answer, LookupError):
            self.send(id=message["id"], error=answer.args[0])
        elif answer is not None:
            self.send(id=message["id"], result=answer)

    def methods(self) -> list[str]:
        return [each["method"] for each in self.received if "method" in each]

    def requests(self, method: str) -> list[Message]:
        return [each for each in self.received if each.get("method") == method]

    def update(self, session: str, **update: Any) -> None:
        self.send(method="session/update", params={"sessionId": session, "update": update})

    def say(self, session: str, text: str) -> None:
        self.update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


class ClientLink:
    """The server's end of a client's connection, as a web server would make it."""

    def __init__(self, transport: MemoryTransport, user: str | None) -> None:
        self._transport = transport
        self.id = "client-" + str(id(self))
        self.identity = None if user is None else Identity(user)
        self.batches_allowed: Callable[[], bool] = lambda: True
        self.lost: str | None = None
        self.open = transport.open
        self.send = transport.send
        self.pause_receiving = transport.pause_receiving
        self.resume_receiving = transport.resume_receiving
        self.aclose = transport.aclose
        self._closing: asyncio.Task[None] | None = None

    @property
    def unsent(self) -> int:
        return self._transport.unsent

    def lose(self, reason: str) -> None:
        self.lost = reason
        self._closing = asyncio.create_task(self.aclose())


class RawClient(RawEnd):
    """A client of a router."""

    def __init__(self, router: Router, user: str | None = None) -> None:
        mine, theirs = memory_pair()
        super().__init__(mine)
        self.router = router
        self.link = ClientLink(theirs, user)
        self.task = asyncio.create_task(router.serve(self.link))
        self._last_id = 0

    async def request(self, method: str, params: Any = None, id: Any = None) -> Any:
        """The result, or the error."""
        return await self.response(self.ask(method, params, id))

    def ask(self, method: str, params: Any = None, id: Any = None) -> Any:
        if id is None:
            self._last_id += 1
            id = self._last_id
        self.send(id=id, method=method, params=params or {})
        return id

    async def response(self, id: Any) -> Any:
        await until(lambda: self.find(id) is not None)
        message = self.find(id)
        assert message is not None
        return message.get("result", message.get("error"))

    def find(self, id: Any) -> Message | None:
        return next((each for each in self.received if "method" not in each and each.get("id") == id), None)

    def requests(self, method: str) -> list[Message]:
        return [each for each in self.received if each.get("method") == method and "id" in each]

    def texts(self) -> list[tuple[str, str]]:
        """The kinds and texts of the updates."""
        updates = [each["params"]["update"] for each in self.received if each.get("method") == "session/update"]
        return [(each["sessionUpdate"], each.get("content", {}).get("text", "")) for each in updates]

    async def start(self, version: int = 1, **capabilities: Any) -> Any:
        await self.open()
        params: dict[str, Any] = {"protocolVersion": version, "clientCapabilities": capabilities}
        if version == 2:
            params = {"protocolVersion": 2, "info": {"name": "raw", "version": "1"}, "capabilities": capabilities}
        return await self.request("initialize", params)

    async def new(self) -> str:
        return (await self.request("session/new", {"cwd": "/", "mcpServers": []}))["sessionId"]

    async def close(self) -> None:
        await self.transport.aclose()
        await self.task


class RawFarm:
    """Agents as a router starts them; each has the answers of `answers`, and sessions `s0`, `s1` and so on."""

    def __init__(self, **capabilities: Any) -> None:
        self.agents: list[RawAgent] = []
        self.sessions = 0
        self.answers: dict[str, Any] = {
            "initialize": lambda agent, message: self._initialize(message, capabilities),
            "session/new": self._new,
            "session/prompt": None,
        }

    @staticmethod
    def _initialize(message: Message, capabilities: Any) -> Any:
        version = message["params"]["protocolVersion"]
        if version == 2:
            return {"protocolVersion": 2, "info": {"name": "raw", "version": "1"}, "capabilities": capabilities}
        return {"protocolVersion": version, "agentCapabilities": capabilities}

    def _new(self, agent: RawAgent, message: Message) -> Any:
        self.sessions += 1
        return {"sessionId": f"s{self.sessions - 1}"}

    def connect(self) -> Any:
        agent = RawAgent(dict(self.answers))
        self.agents.append(agent)
        return agent.near

    def router(self, owners: SessionOwners | None = None, **limits: Any) -> Router:
        return Router(self.connect, RelayLimits(**limits), owners=owners)


def check_receiver(end: RawEnd) -> Receiver:
    """For the type checker: each end is a receiver."""
    return end
