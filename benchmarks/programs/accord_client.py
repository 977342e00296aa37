"""accord's client, at the level of the peer: a transport, a dialect, a transcript and an inbox that is consumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from accord.dialects.v1 import V1
from accord.errors import MethodNotFound
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import InboundQueue, MergeRules, Peer
from accord.session.backlog_merge import merge, merge_key, supersede, supersede_key
from accord.session.capabilities import ClientCapabilities
from accord.session.content import Text
from accord.session.requests import AcpRequest, Initialize, NewSession, Prompt, SetMode
from accord.session.transcript import Transcript
from accord.session.updates import MessageChunk, Update
from accord.session.value import UNSET
from accord.transports.framing import FRAME_LIMIT
from accord.transports.http_client import HttpTransport
from accord.transports.process_transport import ProcessTransport
from accord.transports.transport import Transport
from accord.transports.websocket import WebSocketTransport
from benchmarks.programs.client_program import CLOSE_GRACE, Options, measure, read_options, report
from benchmarks.programs.loops import run
from benchmarks.programs.payloads import MODE_ID, PROTOCOL_VERSION, write_order
from benchmarks.programs.served_agent import served_agent

MERGING = MergeRules(merge_key, merge, supersede_key, supersede)


class Connected:
    agent_pid: int
    session_id: str

    def __init__(self, transport: Transport) -> None:
        self.dialect = V1()
        self.transcript = Transcript()
        self.peer = Peer(transport, self.receive)
        self.inbox: InboundQueue[Update] | None = None
        self.is_stalled = False

    def receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if isinstance(event, RequestReceived):
            raise MethodNotFound(event.request.method)
        assert self.inbox is not None
        _, patches = self.dialect.update_from_wire(event.params)
        for patch in patches:
            self.inbox.put(self.transcript.apply(patch), len(event.params))
        return None

    async def ask(self, request: AcpRequest) -> Any:
        return self.dialect.result_from_wire(request, await self.peer.request(*self.dialect.request_to_wire(request)))

    async def open(self) -> None:
        capabilities = ClientCapabilities()
        initialized = await self.ask(Initialize(version=PROTOCOL_VERSION, info=None, capabilities=capabilities))
        self.agent_pid = int(initialized.info.version)
        opened = await self.ask(NewSession(cwd="/"))
        assert opened.session_id is not UNSET
        self.session_id = opened.session_id

    def stall(self) -> None:
        self.is_stalled = True

    async def prompt(self, count: int, size: int) -> int:
        self.inbox = inbox = self.peer.new_queue(MERGING)
        request = Prompt(session_id=self.session_id, content=[Text(text=write_order(count, size))])
        method, params = self.dialect.request_to_wire(request)
        call = self.peer.send_request(method, params, lambda _: inbox.close())
        if self.is_stalled:
            await asyncio.get_running_loop().create_future()
        received = 0
        async for update in inbox:
            assert isinstance(update, MessageChunk)
            received += len(update.text)
        self.dialect.result_from_wire(request, await call)
        self.peer.discard(inbox)
        return received

    async def set_mode(self) -> None:
        await self.ask(SetMode(session_id=self.session_id, mode_id=MODE_ID))

    async def in_flight(self, count: int) -> None:
        await asyncio.gather(*(self.set_mode() for _ in range(count)))


async def converse(options: Options) -> dict[str, float]:
    async with reach(options) as transport:
        connected = Connected(transport)
        async with connected.peer:
            await connected.open()
            return await measure(options, connected, connected.stall)


@asynccontextmanager
async def reach(options: Options) -> AsyncIterator[Transport]:
    """A transport to the agent program, over pipes or over the network."""
    command, limit = options.agent_command, options.frame_cap or FRAME_LIMIT
    if options.transport is None:
        yield ProcessTransport(command, frame_limit=limit, close_grace=CLOSE_GRACE)
        return
    async with served_agent(command) as url:
        if options.transport == "http":
            yield HttpTransport(url)
        else:
            yield WebSocketTransport(url.replace("http:", "ws:"))


if __name__ == "__main__":
    given = read_options("accord_agent")
    report(run(converse(given), uvloop=given.uvloop))
