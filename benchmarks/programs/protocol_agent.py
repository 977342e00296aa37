"""The agent of the asyncio.Protocol floor: callbacks and msgspec structs, on either event loop."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import msgspec

from benchmarks.programs.bare_agent import answer
from benchmarks.programs.floor_types import FromClient
from benchmarks.programs.loops import run

ENCODER = msgspec.json.Encoder()
DECODER = msgspec.json.Decoder(FromClient)


class Input(asyncio.Protocol):
    """Answers each request where it arrives. It has no turns, because nothing here can wait."""

    def __init__(self, output: asyncio.WriteTransport) -> None:
        self.output = output
        self.partial = b""
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        *frames, self.partial = (self.partial + data).split(b"\n")
        for frame in frames:
            self.output.write(ENCODER.encode(answer(DECODER.decode(frame))) + b"\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    output, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    _, protocol = await loop.connect_read_pipe(lambda: Input(cast(asyncio.WriteTransport, output)), sys.stdin)
    await protocol.closed


if __name__ == "__main__":
    run(serve(), uvloop="--uvloop" in sys.argv)
