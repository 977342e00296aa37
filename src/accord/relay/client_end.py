"""The client's end of a connection: what it has asked, what it was asked, and how much it reads.

Law: a client that does not read stops a process only if nobody else listens to it; past a limit its connection ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec import Raw, UnsetType

from accord.relay.agent_process import AgentProcess, OnResponse
from accord.relay.envelope import Envelope, encode, notification_frame, request_frame, response_frame
from accord.relay.handshake import Handshake
from accord.relay.status import ID_PREFIX, ConnectionStatus, Totals
from accord.transports.http_server import HttpServerTransport
from accord.transports.transport import Identity, Transport
from accord.transports.websocket_server import WebSocketServerTransport

CANCEL = "$/cancel_request"


class ClientTransport(Transport, Protocol):
    """A transport of somebody who was identified."""

    id: str
    identity: Identity | None
    batches_allowed: Callable[[], bool]

    def lose(self, reason: str) -> None:
        """End the connection now."""
        ...


class ClientEnd:
    """One client. `handshake` is there once it has initialized."""

    def __init__(self, transport: ClientTransport, unread_bytes: int, totals: Totals) -> None:
        self.transport = transport
        self._unread_bytes = unread_bytes
        self._totals = totals
        self.handshake: Handshake | None = None
        self.is_full = False
        self.is_gone = False
        self.requests: dict[bytes, tuple[AgentProcess, int] | None] = {}
        """Its open requests: the process that has it, and the id there."""
        self._batches: dict[bytes, BatchReply] = {}
        self._asked: dict[int, OnResponse] = {}
        self._last_id = 0
        self._holders: set[object] = set()
        self.since = time.time()
        self.bytes_in = 0
        self.bytes_out = 0

    @property
    def id(self) -> str:
        return self.transport.id[:ID_PREFIX]

    @property
    def user(self) -> str | None:
        return None if self.transport.identity is None else self.transport.identity.user

    def send(self, frame: bytes) -> None:
        if self.is_gone:
            return
        if self.transport.unsent > self._unread_bytes:
            self.is_gone = True
            self.transport.lose(f"the client does not read: more than {self._unread_bytes} bytes wait for it")
            return
        self.bytes_out += len(frame)
        self._totals.bytes_out += len(frame)
        self.transport.send(frame)

    def respond(self, key: bytes, response: Envelope) -> None:
        """Answer one of its requests, or a message that was none."""
        self.requests.pop(key, None)
        frame = response_frame(key, response)
        batch = self._batches.pop(key, None)
        if batch is not None:
            frame = batch.add(frame)
        if frame:
            self.send(frame)

    def find_request(self, process: AgentProcess, id: Raw | None) -> bytes | None:
        """Its own id of the request that has this one at a process."""
        for key, sent in self.requests.items():
            if sent is not None and id is not None and sent[0] is process and bytes(id) == b"%d" % sent[1]:
                return key
        return None

    def expect_batch(self, keys: list[bytes], errors: list[bytes]) -> None:
        """Join the responses to these requests, and these errors, in one frame."""
        batch = BatchReply(len(keys), errors)
        for key in keys:
            self._batches[key] = batch
        if not keys and errors:
            self.send(b"[%b]" % b",".join(errors))

    def ask(self, method: str, params: Raw | bytes | UnsetType, on_response: OnResponse) -> int:
        """Send it a request; the id."""
        self._last_id += 1
        self._asked[self._last_id] = on_response
        self.send(request_frame(self._last_id, method, params))
        return self._last_id

    def withdraw(self, id: int) -> None:
        """Tell it that a request needs no answer any more."""
        if self._asked.pop(id, None) is not None:
            self.send(notification_frame(CANCEL, encode({"requestId": id})))

    def answered(self, response: Envelope) -> None:
        """It has answered; answers to nothing are ignored."""
        key = response.key
        on_response = self._asked.pop(int(key), None) if key.isdigit() else None
        if on_response is not None:
            on_response(response)

    def hold(self, holder: object, is_held: bool) -> None:
        """Do not read from it as long as somebody holds it."""
        was_held = bool(self._holders)
        (self._holders.add if is_held else self._holders.discard)(holder)
        if not self.is_gone and was_held is not bool(self._holders):
            self.transport.resume_receiving() if was_held else self.transport.pause_receiving()

    def status(self) -> ConnectionStatus:
        is_http = isinstance(self.transport, HttpServerTransport)
        is_websocket = isinstance(self.transport, WebSocketServerTransport)
        return ConnectionStatus(
            id=self.id,
            user=self.user,
            client=None if self.handshake is None else self.handshake.client_name,
            transport="http" if is_http else "websocket" if is_websocket else "other",
            since=self.since,
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
        )


class BatchReply:
    """Collects the responses to a batch."""

    def __init__(self, count: int, frames: list[bytes]) -> None:
        self._missing = count
        self._frames = frames

    def add(self, frame: bytes) -> bytes:
        """The whole reply with the last response, nothing before."""
        self._frames.append(frame)
        self._missing -= 1
        return b"" if self._missing else b"[%b]" % b",".join(self._frames)


def with_meta(params: Raw | UnsetType, name: str) -> bytes:
    """Params with `name` set in their `_meta`."""
    members = {} if params is msgspec.UNSET else msgspec.json.decode(params, type=dict[str, Raw])
    meta = members.get("_meta")
    known = {} if meta is None or bytes(meta) == b"null" else msgspec.json.decode(meta, type=dict[str, Raw])
    return encode({**members, "_meta": {**known, name: True}})
