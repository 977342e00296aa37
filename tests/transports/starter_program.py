"""Starts a family of processes and waits to be killed; `fork` makes it share its descriptors with a child first."""

# ruff: noqa: T201 - its output is what the test reads

from __future__ import annotations

import asyncio
import os
import signal
import sys

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.process_transport import ProcessTransport
from tests.transports.families import DEAF_FAMILY


class Printer:
    def frames_received(self, frames: list[bytes]) -> None:
        for frame in frames:
            print(frame.decode(), flush=True)

    def frame_rejected(self, error: FrameRejected) -> None: ...

    def input_ended(self, reason: ConnectionClosed) -> None: ...

    def connection_lost(self, reason: ConnectionClosed) -> None: ...

    def send_paused(self) -> None: ...

    def send_resumed(self) -> None: ...


async def main() -> None:
    process = ProcessTransport(["sh", "-c", DEAF_FAMILY + "while :; do sleep 1000; done"], terminate_grace=0.2)
    await process.open(Printer())
    if "fork" in sys.argv:
        sharer = os.fork()
        if sharer == 0:
            signal.pause()
        print(f'{{"pid":{sharer}}}', flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
