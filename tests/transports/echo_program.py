"""A program that speaks frames over its stdio: it echoes what it gets, after doing what the frame says.

python echo_program.py <asyncio|uvloop> [framing]
"""

# ruff: noqa: T201 - printing is what must do no harm

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import uvloop

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.framing import Framing
from accord.transports.stdio import StdioTransport


class Echo:
    def __init__(self, transport: StdioTransport) -> None:
        self.transport = transport
        self.lost: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()

    def frames_received(self, frames: list[bytes]) -> None:
        for frame in frames:
            self.transport.send(self.act(json.loads(frame)) or frame)

    def act(self, message: dict[str, Any]) -> bytes | None:
        match message.get("do"):
            case "print":
                print("printed")
                os.write(1, b"written to 1\n")
                subprocess.run(["sh", "-c", "echo from a child"], check=True)
            case "children":
                eaten = subprocess.run(["cat"], stdout=subprocess.PIPE, check=True, timeout=120).stdout
                open_in_child = subprocess.run(
                    ["sh", "-c", "ls -l /proc/$$/fd"], stdout=subprocess.PIPE, check=True, close_fds=False
                ).stdout
                own = sys.stdin.read()
                return json.dumps({"eaten": eaten.decode(), "own": own, "open": open_in_child.decode()}).encode()
            case "large":
                return b'{"x":"' + b"x" * message["size"] + b'"}'
            case _:
                pass
        return None

    def frame_rejected(self, error: FrameRejected) -> None:
        self.transport.send(json.dumps({"refused": error.reason}).encode())

    def input_ended(self, reason: ConnectionClosed) -> None:
        self.lost.set_result(reason)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)

    def send_paused(self) -> None: ...

    def send_resumed(self) -> None: ...


async def main(framing: Framing | None) -> None:
    print("before", end="")  # stays in sys.stdout's buffer
    transport = StdioTransport(framing=framing, frame_limit=1024 * 1024)
    echo = Echo(transport)
    await transport.open(echo)
    reason = await echo.lost
    await transport.aclose()
    print(f"lost: {reason.reason}", file=sys.stderr)
    print("after")


if __name__ == "__main__":
    chosen: Any = sys.argv[2] if len(sys.argv) > 2 else None
    run = uvloop.run if sys.argv[1] == "uvloop" else asyncio.run
    run(main(chosen))
