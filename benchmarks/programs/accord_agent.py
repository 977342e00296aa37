"""accord's agent, at the level of the peer: a transport, a dialect and a transcript, with a handler for what the cases need."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from typing import Any

from accord.dialects.v1 import V1
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import Peer
from accord.session.capabilities import AgentCapabilities, Implementation
from accord.session.content import Text
from accord.session.requests import (
    AcpRequest,
    EmptyResult,
    Initialize,
    InitializeResult,
    NewSession,
    Prompt,
    PromptResult,
    SessionSetup,
    SetMode,
)
from accord.session.transcript import Transcript
from accord.session.updates import MessageAppend
from accord.session.value import UNSET, Value
from accord.transports.framing import FRAME_LIMIT
from accord.transports.stdio import StdioTransport
from accord.transports.transport import Transport
from benchmarks.programs.loops import run
from benchmarks.programs.payloads import AGENT_NAME, PROTOCOL_VERSION, SESSION_ID, read_order, text_of


class BenchAgent:
    """Answers, and sends as many updates as the prompt orders."""

    def __init__(self, transport: Transport) -> None:
        self.dialect = V1()
        self.transcript = Transcript()
        self.peer = Peer(transport, self.receive)

    def receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if isinstance(event, NotificationReceived):
            return None
        incoming = event.request
        assert incoming.params is not UNSET
        return self.answer(self.dialect.request_from_wire(incoming.method, incoming.params, "client"))

    async def answer(self, request: AcpRequest) -> Any:
        return self.dialect.result_to_wire(request, await self.result_of(request))

    async def result_of(self, request: AcpRequest) -> Value:
        match request:
            case SetMode():
                return EmptyResult()
            case Prompt(session_id=session_id, content=[Text(text=order)]):
                count, size, _ = read_order(order)
                await self.take_turn(session_id, count, size)
                return PromptResult(stop_reason="end_turn")
            case Initialize():
                info = Implementation(name=AGENT_NAME, version=str(os.getpid()))
                return InitializeResult(version=PROTOCOL_VERSION, info=info, capabilities=AgentCapabilities())
            case NewSession():
                return SessionSetup(session_id=SESSION_ID)
            case _:
                raise TypeError(request)

    async def take_turn(self, session_id: str, count: int, size: int) -> None:
        text = text_of(size)
        for _ in range(count):
            update = self.transcript.apply(MessageAppend(role="agent", id=None, content=Text(text=text)))
            for params in self.dialect.update_to_wire(session_id, update):
                await self.peer.notify("session/update", params)


async def serve(transport: Transport) -> None:
    agent = BenchAgent(transport)
    async with agent.peer:
        await agent.peer.wait_closed()


async def serve_pipes(frame_limit: int) -> None:
    await serve(StdioTransport(frame_limit=frame_limit))


async def serve_http() -> None:
    # Not loaded by an agent on pipes: the start of one is measured.
    from accord.transports.http_application import HttpApplication  # noqa: PLC0415
    from accord.transports.web_server import ListenAddress, WebServer  # noqa: PLC0415

    server = WebServer(HttpApplication(serve), ListenAddress("127.0.0.1:0").listen())
    sys.stderr.write(f"listens on {server.url}\n")
    await server.serve(asyncio.Event())


if __name__ == "__main__":
    caps = [int(argument.partition("=")[2]) for argument in sys.argv if argument.startswith("--frame-cap=")]
    main = serve_http() if "--http" in sys.argv else serve_pipes(caps[0] if caps else FRAME_LIMIT)
    run(main, uvloop="--uvloop" in sys.argv)
