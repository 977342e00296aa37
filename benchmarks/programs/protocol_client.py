"""The client of the asyncio.Protocol floor: callbacks, futures and msgspec structs, on either event loop."""

from __future__ import annotations

import asyncio
from typing import cast

import msgspec
from msgspec import UNSET

from benchmarks.programs.client_program import Options, measure, read_options, report
from benchmarks.programs.floor_types import (
    FromAgent,
    FromClient,
    Initialize,
    InitializeParams,
    InitializeResult,
    NewSession,
    NewSessionParams,
    NewSessionResult,
    SetMode,
    SetModeParams,
    SetModeResult,
)
from benchmarks.programs.loops import run
from benchmarks.programs.payloads import MODE_ID, PROTOCOL_VERSION

ENCODER = msgspec.json.Encoder()
DECODER = msgspec.json.Decoder(FromAgent)
SET_MODE_RESULT = msgspec.json.Decoder(SetModeResult)


class Connected(asyncio.SubprocessProtocol):
    agent_pid: int
    session_id: str

    def __init__(self) -> None:
        self.partial = b""
        self.last_id = -1
        self.waiting: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self.loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = self.loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        agent = cast(asyncio.SubprocessTransport, transport)
        self.input = cast(asyncio.WriteTransport, agent.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *frames, self.partial = (self.partial + data).split(b"\n")
        for frame in map(DECODER.decode, frames):
            assert frame.id is not UNSET
            assert frame.result is not UNSET
            self.waiting.pop(frame.id).set_result(frame.result)

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def ask(self, request: FromClient) -> asyncio.Future[msgspec.Raw]:
        self.waiting[request.id] = answer = self.loop.create_future()
        self.input.write(ENCODER.encode(request) + b"\n")
        return answer

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    async def open(self) -> None:
        initialized = await self.ask(Initialize(id=self.next_id(), params=InitializeParams(PROTOCOL_VERSION)))
        self.agent_pid = int(msgspec.json.decode(initialized, type=InitializeResult).agent_info.version)
        opened = await self.ask(NewSession(id=self.next_id(), params=NewSessionParams("/", [])))
        self.session_id = msgspec.json.decode(opened, type=NewSessionResult).session_id

    async def prompt(self, count: int, size: int) -> int:
        raise NotImplementedError(f"{count} updates of {size}: this floor is for requests only")

    async def set_mode(self) -> None:
        request = SetMode(id=self.next_id(), params=SetModeParams(self.session_id, MODE_ID))
        SET_MODE_RESULT.decode(await self.ask(request))

    async def in_flight(self, count: int) -> None:
        await asyncio.gather(*(self.set_mode() for _ in range(count)))


async def converse(options: Options) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    transport, connected = await loop.subprocess_exec(Connected, *options.agent_command, stderr=None)
    await connected.open()
    readings = await measure(options, connected)
    connected.input.close()
    await asyncio.wait_for(connected.exited, 10)
    transport.close()
    return readings


if __name__ == "__main__":
    given = read_options("protocol_agent")
    report(run(converse(given), uvloop=given.uvloop))
