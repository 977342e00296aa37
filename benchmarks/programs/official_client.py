"""The official SDK's client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import acp
from acp.core import ClientSideConnection
from acp.http import create_http_stream
from acp.schema import AgentMessageChunk, TextContentBlock
from acp.ws import create_websocket_stream

from benchmarks.programs.client_program import Options, measure_whole, read_options, report
from benchmarks.programs.loops import run
from benchmarks.programs.payloads import MODE_ID, PROTOCOL_VERSION, write_order
from benchmarks.programs.served_agent import served_agent


class BenchClient:
    """Counts the characters it receives; when `stalled` its handler never finishes with an update."""

    def __init__(self) -> None:
        self.received = 0
        self.stalled = False

    def stall(self) -> None:
        self.stalled = True

    async def session_update(self, update: Any, **_: Any) -> None:
        if self.stalled:
            await asyncio.get_running_loop().create_future()
        if isinstance(update, AgentMessageChunk):
            assert isinstance(update.content, TextContentBlock)
            self.received += len(update.content.text)


class Connected:
    def __init__(self, client: BenchClient, connection: ClientSideConnection, agent_pid: int, session_id: str) -> None:
        self.client = client
        self.connection = connection
        self.agent_pid = agent_pid
        self.session_id = session_id

    async def prompt(self, count: int, size: int, tool_every: int = 0) -> int:
        self.client.received = 0
        await self.connection.prompt(self.session_id, [acp.text_block(write_order(count, size, tool_every))])
        return self.client.received

    async def set_mode(self) -> None:
        await self.connection.set_session_mode(self.session_id, MODE_ID)

    async def new_session(self) -> None:
        await self.connection.new_session("/")

    async def in_flight(self, count: int) -> None:
        await asyncio.gather(*(self.set_mode() for _ in range(count)))


async def converse(options: Options) -> dict[str, float]:
    client = BenchClient()
    async with reach(options, client) as connection:
        answer = await connection.initialize(PROTOCOL_VERSION)
        assert answer.agent_info
        session = await connection.new_session("/")
        connected = Connected(client, connection, int(answer.agent_info.version), session.session_id)
        return await measure_whole(options, connected, client.stall)


@asynccontextmanager
async def reach(options: Options, client: BenchClient) -> AsyncIterator[ClientSideConnection]:
    """A connection to the agent program, over pipes or over the network."""
    if options.transport is None:
        async with acp.spawn_agent_process(cast("Any", client), *options.agent_command) as (connection, _):
            yield connection
        return
    async with served_agent(options.agent_command) as url:
        if options.transport == "http":
            stream = create_http_stream(url)
        else:
            stream = await create_websocket_stream(url.replace("http:", "ws:"))
        connection = acp.connect_to_agent(cast("Any", client), stream)
        yield connection
        await connection.close()


if __name__ == "__main__":
    given = read_options("official_agent")
    report(run(converse(given), uvloop=given.uvloop))
