"""The client's end of a WebSocket: one text message for each frame, all sessions on one socket.

Where the server offers it, the connection outlives the socket: when that is cut, the client connects again and both sides
send what the other has missed. Until then frames wait, and nobody above notices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from accord.errors import ConnectionClosed, ExtraMissing
from accord.transports.frame_reader import FrameDelivery
from accord.transports.framing import FRAME_LIMIT
from accord.transports.http_messages import CONNECTION_ID, RECEIVED, RESUME, read_number
from accord.transports.installation import install_command
from accord.transports.resumption import END, Backoff, LinkedTransport
from accord.transports.transport import HIGH_WATER, Receiver
from accord.transports.websocket_messages import TEXT, Message

RESUME_SECONDS = 60.0
"""How long a client tries to get a connection back."""

_OPEN_SECONDS = 20.0
_CLOSE_SECONDS = 2.0
_PING_SECONDS = 20.0
"""After so long a ping is sent, and after as long again the server is gone."""
_NOT_FINAL = (1001, 1006, 1011, 1012, 1013, 1014)  # the socket ended, perhaps not the connection
_FIRST_SECONDS = 5.0


class WebSocketRefused(ConnectionClosed):
    """There is a server, but it does not offer a WebSocket there."""


class WebSocketTransport(LinkedTransport):
    """A connection to a server. Opening it raises WebSocketRefused where the server offers no WebSocket."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        frame_limit: int = FRAME_LIMIT,
        high_water: int = HIGH_WATER,
        resume_seconds: float = RESUME_SECONDS,
    ) -> None:
        super().__init__(high_water)
        self._url = url
        self._headers = dict(headers or {})
        self._frame_limit = frame_limit
        self._resume_seconds = resume_seconds
        self._connection_id = ""
        self._is_final = False
        """Whether the server has ended the connection, rather than a proxy the socket."""
        self._socket: Any = None
        self._task: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Connect, and begin to receive."""
        self._check_not_closed()
        self._socket = await self._connect_first({RESUME: "1"} if self._resume_seconds > 0 else {})
        answer = self._socket.response.headers
        offered = read_number(answer.get(RESUME))
        if offered and self._resume_seconds > 0 and answer.get(CONNECTION_ID):
            self._is_resumable = True
            self._resume_seconds = min(self._resume_seconds, offered)
            self._connection_id = answer[CONNECTION_ID]
        self._task = asyncio.create_task(self._run(self._attach(receiver)), name="accord WebSocket")

    async def _connect_first(self, headers: Mapping[str, str]) -> Any:
        """The socket; a handshake that was cut is made again, as nothing was sent before."""
        backoff = None
        while True:
            try:
                return await self._connect(headers)
            except WebSocketRefused as refused:
                if self._resume_seconds <= 0 or not _was_cut(refused):
                    raise
                backoff = backoff or Backoff(min(_FIRST_SECONDS, self._resume_seconds))
                if not await backoff.wait():
                    raise

    async def _connect(self, headers: Mapping[str, str]) -> Any:
        connect = load_extra("websockets.asyncio.client").connect
        errors = load_extra("websockets.exceptions")
        try:
            return await connect(
                self._url,
                additional_headers={**self._headers, **headers},
                user_agent_header="accord",
                compression=None,  # costs more time than it saves, but for slow lines
                max_size=self._frame_limit,
                open_timeout=_OPEN_SECONDS,
                ping_interval=_PING_SECONDS,
                ping_timeout=_PING_SECONDS,
                close_timeout=_CLOSE_SECONDS,
                create_connection=load_extra("accord.transports.websocket_connection").MessageConnection,
            )
        except errors.InvalidHandshake as error:
            raise WebSocketRefused(f"{self._url} offers no WebSocket: {error}", kind="not_started") from error
        except (OSError, TimeoutError, EOFError, errors.WebSocketException) as error:
            raise ConnectionClosed(f"cannot connect to {self._url}: {error}", kind="not_started") from error

    async def _run(self, delivery: FrameDelivery) -> None:
        received = 0
        while True:
            reason, may_resume = await self._use(delivery, received)
            if not self._is_resumable or not may_resume:
                self._lose(delivery, reason)
                return
            try:
                received = await self._resume(reason)
            except ConnectionClosed as closed:
                self._lose(delivery, closed.reason)
                return

    async def _use(self, delivery: FrameDelivery, received: int) -> tuple[str, bool]:
        """Deliver what comes until the socket ends: why, and whether to connect again."""
        socket, faults = self._socket, list[ValueError]()

        def receive(messages: list[Message]) -> None:
            try:
                self._receive(messages, delivery)
            except ValueError as error:
                faults.append(error)
                socket.transport.abort()

        try:
            self._begin(socket, received)
            socket.begin(receive, self._has_room)
            await socket.wait_closed()
        finally:
            self._end()
        error = faults[0] if faults else socket.close_exc
        return f"the server closed the WebSocket: {error}", self._may_resume(error)

    def _receive(self, messages: list[Message], delivery: FrameDelivery) -> None:
        frames: list[bytes] = []
        for opcode, data in messages:
            if opcode != TEXT:
                self._is_final = self._is_final or data == END
                self._bytes_received(data)
                continue
            frame = data.strip()
            self._frame_received(len(frame))
            if frame:
                frames.append(frame.replace(b"\n", b" ") if b"\n" in frame else frame)
        if frames:
            delivery.deliver(frames)

    def _may_resume(self, error: Exception) -> bool:
        frames = [frame for frame in (getattr(error, "rcvd", None), getattr(error, "sent", None)) if frame is not None]
        is_fault = isinstance(error, ValueError) or any(frame.code not in _NOT_FINAL for frame in frames)
        return not self._is_final and not is_fault

    async def _resume(self, reason: str) -> int:
        """Connect again; how many frames the server has received. ConnectionClosed when there is no more hope."""
        with suppress(Exception):
            self._socket.transport.abort()
        backoff = Backoff(self._resume_seconds)
        while True:
            try:
                return await self._connect_again()
            except WebSocketRefused as refused:
                if _status(refused) is None or _status(refused) in (429, 500, 502, 503, 504):
                    reason = refused.reason
                else:
                    raise ConnectionClosed(
                        f"{self._url}: the connection could not be resumed: {refused.reason}"
                    ) from None
            except ConnectionClosed as closed:
                reason = closed.reason
            if not await backoff.wait():
                raise ConnectionClosed(f"{reason} (tried again for {self._resume_seconds:g} s)")

    async def _connect_again(self) -> int:
        headers = {CONNECTION_ID: self._connection_id, RECEIVED: str(self._received), RESUME: "1"}
        self._socket = await self._connect(headers)
        received = read_number(self._socket.response.headers.get(RECEIVED))
        try:
            if received is None:
                raise ValueError("it does not say what it has received")
            self._sent.confirm(received)
            self._sent.after(received)
        except (ValueError, LookupError) as error:
            raise WebSocketRefused(f"{self._url} can't resume the connection: {error}") from None
        return received

    async def _close(self) -> None:
        was_lost, self._is_closed = self._is_closed, True
        if self._task is not None:
            if not was_lost:
                await self._send_rest(self._task)
            self._task.cancel()
            await asyncio.wait((self._task,))
        if self._socket is not None:
            with suppress(OSError, TimeoutError, load_extra("websockets.exceptions").ConnectionClosed):
                async with asyncio.timeout(2 * _CLOSE_SECONDS):
                    if self._is_resumable and self._socket.is_open:
                        self._socket.write_bytes(END)
                    await self._socket.close()
        self._deliver_close()

    async def _send_rest(self, task: asyncio.Task[None]) -> None:
        """Send what waits, as long as that takes no longer than a moment; the socket may be a new one by then."""
        self._flush()
        flushed = asyncio.create_task(self._is_flushed.wait())
        await asyncio.wait((flushed, task), timeout=_CLOSE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        flushed.cancel()


def _status(refused: WebSocketRefused) -> int | None:
    """The status of the response; None if there was none that could be read."""
    return getattr(getattr(refused.__cause__, "response", None), "status_code", None)


def _was_cut(refused: WebSocketRefused) -> bool:
    """Whether the connection ended before there was a response."""
    return isinstance(getattr(refused.__cause__, "__cause__", None), (EOFError, OSError))


def load_extra(module: str) -> Any:
    """A module of the extra `http`; ExtraMissing says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ExtraMissing(f"URLs of agents need the extra `http`: {install_command('http')}") from None
