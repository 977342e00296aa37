"""Passes the frames of one connection on to another, unread but for their ids.

Laws: frames keep their order, and none is lost while both connections live. A side that does not read stops the other
from being read. When one side ends, the other is closed, and every request of the client that is still open is answered
with an error first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.errors import ConnectionClosed, FrameRejected
from accord.jsonrpc.error_codes import INTERNAL_ERROR
from accord.transports.transport import Transport

log = logging.getLogger("accord.relay")

_ANSWER_SECONDS = 5.0
_MOST_REQUESTS = 65_536


class _Head(msgspec.Struct, gc=False):
    method: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET


_read_heads = msgspec.json.Decoder(_Head | list[_Head]).decode


def _heads(frame: bytes) -> list[_Head]:
    """The head of the message, or of each in a batch; of anything else nothing, and it is passed on all the same."""
    try:
        heads = _read_heads(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    return [heads] if isinstance(heads, _Head) else heads


class Relay:
    """Connects a client's connection with an agent's.

    When the client sends no more, the agent has a few seconds to answer what it was asked. `explain` says what the
    client is told when the agent's connection has ended.
    """

    def __init__(
        self, client: Transport, agent: Transport, explain: Callable[[ConnectionClosed], str] = lambda lost: lost.reason
    ) -> None:
        self._client = client
        self._agent = agent
        self._explain = explain
        self._requests: dict[bytes, None] = {}
        self._ended: asyncio.Future[None] | None = None
        self._is_answered = asyncio.Event()
        self._refusal: ConnectionClosed | None = None
        self.bytes_in = 0
        """The bytes of the client's frames."""
        self.bytes_out = 0
        """The bytes of the agent's frames."""
        self.lost: ConnectionClosed | None = None
        """Why the agent's connection ended, if it did so before the client's."""

    async def run(self) -> None:
        """Open both connections, and return when both have ended.

        ConnectionClosed if one can't be opened; if it is the agent's, the client's first requests get the reason.
        """
        ended = self._ended = asyncio.get_running_loop().create_future()
        await self._client.open(_ClientSide(self, self._agent, self._client))
        try:
            self._client.pause_receiving()
            try:
                await self._agent.open(_AgentSide(self, self._client, self._agent))
            except ConnectionClosed as error:
                self._refusal = error
            self._client.resume_receiving()
            await (ended if self._refusal is None else asyncio.wait((ended,), timeout=_ANSWER_SECONDS))
        finally:
            self._fail_requests()
            await asyncio.gather(self._agent.aclose(), self._client.aclose())
        if self._refusal is not None:
            raise self._refusal

    def client_frames(self, frames: list[bytes]) -> None:
        """Note the requests among frames of the client, and pass them on."""
        for frame in frames:
            self.bytes_in += len(frame)
            for head in _heads(frame):
                if head.method is not UNSET and head.id is not UNSET and len(self._requests) < _MOST_REQUESTS:
                    self._requests[bytes(head.id)] = None
            if self._refusal is None:
                self._agent.send(frame)
        if self._refusal is not None:
            self.end(self._refusal)

    def agent_frames(self, frames: list[bytes]) -> None:
        """Note the responses among frames of the agent, and pass them on."""
        for frame in frames:
            self.bytes_out += len(frame)
            for head in _heads(frame) if self._requests else ():
                if head.method is UNSET and head.id is not UNSET:
                    self._requests.pop(bytes(head.id), None)
            self._client.send(frame)
        if not self._requests:
            self._is_answered.set()

    async def client_finished(self) -> None:
        """The client sends no more: wait for the answers to what it asked."""
        self._is_answered.clear()
        if self._requests:
            try:
                await asyncio.wait_for(self._is_answered.wait(), _ANSWER_SECONDS)
            except TimeoutError:
                log.info("the client has gone: %d requests stay unanswered", len(self._requests))
        self.end()

    def end(self, lost: ConnectionClosed | None = None) -> None:
        """One side has ended; `lost` says that it is the agent's."""
        if self._ended is not None and not self._ended.done():
            self.lost = lost
            self._ended.set_result(None)

    def _fail_requests(self) -> None:
        if self.lost is None:
            return
        message = msgspec.json.encode(self._explain(self.lost))
        for request_id in self._requests:
            error = b'{"code":%d,"message":%b}' % (INTERNAL_ERROR, message)
            self._client.send(b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, error))
        self._requests.clear()


class _Side:
    """Receives from `own`, and passes on to `other`."""

    def __init__(self, relay: Relay, other: Transport, own: Transport) -> None:
        self._relay = relay
        self._other = other
        self._own = own
        self._task: asyncio.Task[None] | None = None

    def frame_rejected(self, error: FrameRejected) -> None:
        message = msgspec.json.encode(error.reason)
        self._own.send(b'{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%b}}' % (error.code, message))

    def send_paused(self) -> None:
        self._other.pause_receiving()

    def send_resumed(self) -> None:
        self._other.resume_receiving()


class _ClientSide(_Side):
    def frames_received(self, frames: list[bytes]) -> None:
        self._relay.client_frames(frames)

    def input_ended(self, reason: ConnectionClosed) -> None:
        self._task = asyncio.create_task(self._relay.client_finished(), name="accord relay end")

    def connection_lost(self, reason: ConnectionClosed) -> None:
        if self._task is not None:
            self._task.cancel()
        self._relay.end()


class _AgentSide(_Side):
    def frames_received(self, frames: list[bytes]) -> None:
        self._relay.agent_frames(frames)

    def input_ended(self, reason: ConnectionClosed) -> None:
        self._relay.end(reason)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self._relay.end(reason)
