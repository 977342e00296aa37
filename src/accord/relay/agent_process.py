"""One process of an agent, with the requests that were sent to it.

Laws: every request gets exactly one response, an error if the process ends first. Messages that are sent before the
process is ready wait for that, in order. Ids are the process's own, so that several clients can share it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from msgspec import Raw, UnsetType

from accord.errors import ConnectionClosed, FrameRejected
from accord.jsonrpc.error_codes import INTERNAL_ERROR
from accord.relay.envelope import (
    UNREADABLE,
    Envelope,
    error_response,
    notification_frame,
    read_batch,
    read_envelope,
    request_frame,
    response_frame,
)
from accord.transports.transport import HIGH_WATER, Transport

log = logging.getLogger("accord.relay")

OnResponse: TypeAlias = Callable[[Envelope], None]


class ProcessListener(Protocol):
    """Gets what a process says, and its end."""

    def message_received(self, process: AgentProcess, message: Envelope, frame: bytes) -> None:
        """A request or a notification."""
        ...

    def process_lost(self, process: AgentProcess, text: str) -> None:
        """It has ended by itself, and its requests were answered with this text."""
        ...

    def process_full(self, process: AgentProcess, is_full: bool) -> None:
        """It does not read what is sent to it, or reads again."""
        ...


class AgentProcess:
    """A process that is started by `start`. `is_held` keeps messages back, all but those that are urgent."""

    def __init__(self, transport: Transport, listener: ProcessListener) -> None:
        self._transport = transport
        self._listener = listener
        self._requests: dict[int, OnResponse] = {}
        self._last_id = 0
        self._is_open = False
        self._urgent: list[bytes] = []
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._closing: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._is_paused = False
        self.is_held = False
        self.is_lost = False
        self.sessions: dict[str, Any] = {}
        """The sessions that it has open, by id; of the type that its owner uses."""
        self.used_at = time.monotonic()
        self.since = time.time()

    @property
    def pid(self) -> int | None:
        return getattr(self._transport, "pid", None)

    @property
    def is_ending(self) -> bool:
        """Whether it is of no use any more."""
        return self.is_lost or self._closing is not None

    @property
    def open_requests(self) -> int:
        return len(self._requests)

    def start(self) -> None:
        self._opening = asyncio.create_task(self._open(), name="accord agent process")

    def request(
        self, method: str, params: Raw | bytes | UnsetType, on_response: OnResponse, *, is_urgent: bool = False
    ) -> int:
        """Send a request; its id."""
        self._last_id += 1
        id = self._last_id
        if self.is_ending:
            asyncio.get_running_loop().call_soon(on_response, _ended("the agent's process has ended"))
            return id
        self._requests[id] = on_response
        self._send(request_frame(id, method, params), is_urgent=is_urgent)
        return id

    def notify(self, method: str, params: Raw | bytes | UnsetType) -> None:
        self._send(notification_frame(method, params))

    def respond(self, key: bytes, response: Envelope) -> None:
        """Answer a request of the agent."""
        self._send(response_frame(key, response), is_urgent=True)

    def release(self) -> None:
        """Send what was held back."""
        self.is_held = False
        if self._held_bytes > HIGH_WATER:
            self._listener.process_full(self, False)
        held, self._held, self._held_bytes = self._held, [], 0
        for frame in held:
            self._send(frame)

    def fail(self, response: Envelope) -> None:
        """Answer all requests with this error: the process is of no use."""
        requests, self._requests = self._requests, {}
        self._held = []
        for on_response in requests.values():
            on_response(response)

    def pause(self, is_paused: bool) -> None:
        """Read no more from it, or read again."""
        if is_paused is not self._is_paused:
            self._is_paused = is_paused
            if self._is_open:
                self._transport.pause_receiving() if is_paused else self._transport.resume_receiving()

    def end(self) -> asyncio.Task[None]:
        """End it; requests that are open are answered with an error."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="accord agent process end")
            self.fail(_ended("the agent's process was ended"))
        return self._closing

    async def _open(self) -> None:
        try:
            await self._transport.open(self)
        except ConnectionClosed as error:
            self._lose(error)
            return
        self._is_open = True
        if self._is_paused:
            self._transport.pause_receiving()
        urgent, self._urgent = self._urgent, []
        for frame in urgent:
            self._transport.send(frame)
        if not self.is_held:
            self.release()

    async def _close(self) -> None:
        if self._opening is not None and not self._is_open:
            self._opening.cancel()
            await asyncio.wait((self._opening,))
        await self._transport.aclose()

    def _send(self, frame: bytes, *, is_urgent: bool = False) -> None:
        if self.is_ending:
            return
        self.used_at = time.monotonic()
        if self._is_open and (is_urgent or not self.is_held):
            self._transport.send(frame)
        elif is_urgent:
            self._urgent.append(frame)
        else:
            self._held.append(frame)
            self._held_bytes += len(frame)
            if self._held_bytes > HIGH_WATER:
                self._listener.process_full(self, True)

    def frames_received(self, frames: list[bytes]) -> None:
        for frame in frames:
            try:
                entries = read_batch(frame)
                for entry in (frame,) if entries is None else entries:
                    self._receive(read_envelope(entry), bytes(entry))
            except UNREADABLE:
                log.warning("the agent (process %s) sent what is not a message", self.pid)

    def _receive(self, message: Envelope, frame: bytes) -> None:
        self.used_at = time.monotonic()
        if not message.is_response:
            self._listener.message_received(self, message, frame)
            return
        key = message.key
        on_response = self._requests.pop(int(key), None) if key.isdigit() else None
        if on_response is not None:
            on_response(message)

    def frame_rejected(self, error: FrameRejected) -> None:
        self._send(response_frame(b"null", error_response(error.code, error.reason)), is_urgent=True)

    def input_ended(self, reason: ConnectionClosed) -> None:
        self._lose(reason)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self._lose(reason)

    def send_paused(self) -> None:
        self._listener.process_full(self, True)

    def send_resumed(self) -> None:
        self._listener.process_full(self, False)

    def _lose(self, reason: ConnectionClosed) -> None:
        if self.is_ending:
            return
        log.warning("process %s: %s", self.pid, reason)
        self.is_lost = True
        text = explain_end(reason)
        self.fail(_ended(text))
        self._listener.process_lost(self, text)
        self._closing = asyncio.create_task(self._close(), name="accord agent process end")


def _ended(text: str) -> Envelope:
    return error_response(INTERNAL_ERROR, text)


def explain_end(reason: ConnectionClosed) -> str:
    """Why the agent is gone, for clients of other machines: without the paths and the output of its program."""
    if reason.kind == "not_started":
        return "the agent can't be started; the server's log says why"
    code = "" if reason.exit_code is None else f" (exit code {reason.exit_code})"
    return f"the agent's process ended{code}"
