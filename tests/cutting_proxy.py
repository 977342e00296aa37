"""A TCP proxy that cuts connections: after so many bytes in one direction, it ends both sides.

Law: what was read before the cut point is passed on, and nothing after it, so a cut can be at every byte.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

CutPoint = Callable[[], tuple[int | None, int | None]]
"""For each connection: after how many bytes of the client, and of the server, it is cut; None for never."""


class CuttingProxy:
    """Passes bytes on to a server. `cuts` counts the connections that were cut."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self.cut_point: CutPoint = lambda: (None, None)
        self.cuts = 0
        self.is_down = False
        """Whether new connections are refused."""
        self._writers: set[asyncio.StreamWriter] = set()
        self._to_clients: set[asyncio.StreamWriter] = set()
        self._frozen: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = {writer}
        self._to_clients.add(writer)
        pumps: list[asyncio.Task[None]] = []
        try:
            if not self.is_down:
                from_server, to_server = await asyncio.open_connection(self._host, self._port)
                writers.add(to_server)
                self._writers |= writers
                points = self.cut_point()
                copies = (self._copy(reader, to_server, points[0]), self._copy(from_server, writer, points[1]))
                pumps = [asyncio.create_task(copy) for copy in copies]
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            self._writers -= writers
            self._to_clients.discard(writer)
            self._frozen -= writers
            for each in writers:
                each.close()
            for each in writers:
                with suppress(OSError):
                    await each.wait_closed()

    def cut_all(self) -> None:
        """Cut every connection now."""
        for writer in list(self._writers):
            writer.transport.abort()

    def freeze(self) -> None:
        """Pass nothing on any more, and end nothing: to both sides, the other one is silent. New connections work."""
        self._frozen |= self._writers

    def say_goodbye(self) -> None:
        """End every WebSocket as proxies do that are stopped or reloaded: with a close frame of their own (1001)."""
        for writer in self._to_clients:
            writer.write(b"\x88\x02\x03\xe9")
            writer.write_eof()

    async def aclose(self) -> None:
        self.is_down = True
        self.cut_all()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int | None) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if left is not None:
                    data = data[:left]
                    left -= len(data)
                if writer not in self._frozen:
                    writer.write(data)
                    await writer.drain()
                if left == 0:
                    self.cuts += 1
                    return


@asynccontextmanager
async def cutting_proxy(url: str) -> AsyncIterator[tuple[str, CuttingProxy]]:
    """The URL of a proxy in front of another URL, and the proxy."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    proxy = CuttingProxy(parts.hostname, parts.port)
    listener = socket.create_server(("127.0.0.1", 0))
    server = await asyncio.start_server(proxy.accept, sock=listener)
    try:
        yield parts._replace(netloc=f"127.0.0.1:{listener.getsockname()[1]}").geturl(), proxy
    finally:
        server.close()
        await proxy.aclose()


def seeded_cuts(seed: int, most: int, proxy: CuttingProxy, shortest: int, longest: int) -> CutPoint:
    """Cut points from a seed, in either direction, until so many connections were cut."""
    dice = random.Random(seed)

    def cut_point() -> tuple[int | None, int | None]:
        if proxy.cuts >= most:
            return None, None
        return dice.randrange(shortest, longest), dice.randrange(shortest, longest)

    return cut_point
