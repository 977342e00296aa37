"""Any target as a real program on stdio, while its code stays in the test: for clients that start what they talk to."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from accord.client.target import AnyTarget, Command, Target, target_of
from accord.errors import ConnectionClosed, FrameRejected
from accord.testing import relay
from accord.testing.frame_taps import Torn
from accord.transports.framing import FrameParser
from accord.transports.transport import HIGH_WATER, Transport


@asynccontextmanager
async def program(target: AnyTarget) -> AsyncGenerator[Command, None]:
    """A command for the target: each start of it is a connection, and its end ends the program.

    The program only passes on what it reads and what the target says. If the target dies, it ends with that exit code
    and those last words on stderr. Its `args` are a complete command line for clients that are not ours.
    """
    made, token = target_of(target), secrets.token_hex(16)
    lines: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_serve(made, token, reader, writer), name="accord program")
        lines.add(task)
        task.add_done_callback(lines.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        words = [sys.executable, "-I", relay.__file__, f"127.0.0.1:{port}:{token}"]
        yield Command(words, is_on_this_machine=getattr(made, "is_on_this_machine", False))
    finally:
        server.close()
        for task in lines:
            task.cancel()
        if lines:
            await asyncio.wait(set(lines))


async def _serve(target: Target, token: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        if secrets.compare_digest(await reader.readexactly(len(token)), token.encode()):
            transport = target.connect()
            line = _Line(transport, writer)
            try:
                await transport.open(line)
                await line.run(reader)
            finally:
                await transport.aclose()
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass  # whoever started the program has ended it
    finally:
        writer.close()


class _Line:
    """Between a target and the program that stands for it; the receiver of the target's transport."""

    def __init__(self, transport: Transport, writer: asyncio.StreamWriter) -> None:
        self._transport = transport
        self._writer = writer
        self._ended = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._draining: asyncio.Task[None] | None = None

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Until the program's input ends, or the target does."""
        work = [asyncio.create_task(self._hear(reader)), asyncio.create_task(self._ended.wait())]
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in work:
                task.cancel()
            await asyncio.wait(work)

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        cutter = FrameParser()
        while data := await reader.read(HIGH_WATER):
            for cut in cutter.feed(data):
                if not isinstance(cut, FrameRejected):
                    for frame in cut:
                        self._transport.send(frame)
            await self._has_room.wait()

    def frames_received(self, frames: list[bytes]) -> None:
        """Called by the target's transport."""
        for frame in frames:
            self._write(b"O", frame if isinstance(frame, Torn) else frame + b"\n")
        if self._draining is None and self._writer.transport.get_write_buffer_size() > HIGH_WATER:
            self._transport.pause_receiving()
            self._draining = asyncio.create_task(self._drain())

    def frame_rejected(self, error: FrameRejected) -> None:
        """Called by the target's transport."""

    def input_ended(self, reason: ConnectionClosed) -> None:
        """Called by the transport: what says no more is gone."""
        self.connection_lost(reason)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Called by the target's transport: the program ends as the target did."""
        if self._ended.is_set():
            return
        self._write(b"E", reason.stderr_tail.encode())
        self._write(b"X", str(reason.exit_code or 0).encode())
        self._ended.set()

    def send_paused(self) -> None:
        """Called by the target's transport."""
        self._has_room.clear()

    def send_resumed(self) -> None:
        """Called by the target's transport."""
        self._has_room.set()

    def _write(self, kind: bytes, content: bytes) -> None:
        self._writer.write(relay.HEAD.pack(kind, len(content)) + content)

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            self._ended.set()
        self._draining = None
        self._transport.resume_receiving()
