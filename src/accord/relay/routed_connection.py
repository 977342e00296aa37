"""One client's connection to the sessions of an agent.

Messages about a session go to the process that has it; the others to a process of the connection's own, which is started
when it is needed first. `initialize` is answered without a process if an agent has answered the same request before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec
from msgspec import UNSET, Raw

from accord.errors import ConnectionClosed, FrameRejected
from accord.errors.local_errors import LimitReached
from accord.jsonrpc.error_codes import INVALID_REQUEST, PARSE_ERROR, RATE_LIMITED
from accord.relay.client_end import CANCEL, ClientEnd
from accord.relay.envelope import (
    UNREADABLE,
    Envelope,
    encode,
    error_response,
    read_batch,
    read_envelope,
    read_members,
    response_frame,
    result_response,
    session_of,
)
from accord.relay.handshake import Handshake
from accord.relay.hosted_session import HostedSession
from accord.relay.session_opener import LOGINS, LOGOUTS, ClientProcesses, SessionOpener, not_found
from accord.relay.session_table import SessionTable

_MOST_REQUESTS = 10_000  # open at once, of one client


class RoutedConnection:
    """The receiver of a client's transport. `ended` is set when its client sends nothing more, or is gone."""

    def __init__(self, client: ClientEnd, table: SessionTable, rate: RateLimit) -> None:
        self.client = client
        self._table = table
        self._rate = rate
        self._processes = ClientProcesses(client, table)
        self._sessions = self._processes.sessions
        self._opener = SessionOpener(client, table, self._processes, self._retry)
        self._is_initializing = False
        self._has_work = False
        self.ended = asyncio.Event()
        client.transport.batches_allowed = self._batches_allowed

    @property
    def is_busy(self) -> bool:
        """Whether it waits for an answer, or for the end of a turn."""
        return bool(self.client.requests) or any(each.is_running for each in self._sessions.values())

    async def wait_answered(self) -> None:
        """Wait for the next response."""
        self._processes.answered.clear()
        await self._processes.answered.wait()

    def leave(self) -> None:
        """The client has gone: its sessions go on without it."""
        self.client.is_gone = True
        self.client.is_full = False
        for session in self._sessions.values():
            session.leave(self.client)
        self._sessions.clear()
        self._processes.drop_home()

    def frames_received(self, frames: list[bytes]) -> None:
        for frame in frames:
            self.client.bytes_in += len(frame)
            self._table.totals.bytes_in += len(frame)
            try:
                entries = read_batch(frame)
                messages = [read_envelope(frame)] if entries is None else self._read_batch(entries)
            except UNREADABLE:
                self.client.respond(b"null", error_response(PARSE_ERROR, "not a JSON-RPC message"))
                continue
            for message in messages:
                self._receive(message)

    def _read_batch(self, entries: list[Raw]) -> list[Envelope]:
        messages: list[Envelope] = []
        errors: list[bytes] = []
        for entry in entries:
            try:
                messages.append(read_envelope(entry))
            except UNREADABLE:
                errors.append(response_frame(b"null", error_response(INVALID_REQUEST, "not a JSON-RPC message")))
        if not entries:
            self.client.respond(b"null", error_response(INVALID_REQUEST, "an empty batch"))
        self.client.expect_batch([each.key for each in messages if each.is_request], errors)
        return messages

    def _receive(self, message: Envelope) -> None:
        if message.is_response:
            self.client.answered(message)
        elif message.method is UNSET:
            self.client.respond(b"null", error_response(INVALID_REQUEST, "neither a request nor a response"))
        elif not message.is_request:
            self._notification(message)
        else:
            self._request(message)

    def _respond(self, message: Envelope, response: Envelope) -> None:
        self.client.respond(message.key, response)

    def _request(self, message: Envelope) -> None:
        self._table.totals.requests += 1
        try:
            self._rate.check(self.client.user or self.client.id)
            if len(self.client.requests) >= _MOST_REQUESTS:
                raise LimitReached(f"too many open requests: at most {_MOST_REQUESTS}; wait for their responses")
            if message.key in self.client.requests:
                self._respond(message, error_response(INVALID_REQUEST, "a request with this id is open"))
            elif message.method == "initialize":
                self._initialize(message)
            elif self.client.handshake is None or self._is_initializing:
                self._respond(message, error_response(INVALID_REQUEST, "initialize first"))
            else:
                self._has_work = True
                self._route(message, self.client.handshake)
        except LimitReached as limit:
            self._respond(message, self._refuse(limit))

    def _refuse(self, limit: LimitReached) -> Envelope:
        self._table.totals.refused += 1
        return error_response(RATE_LIMITED, str(limit), {"reason": "rate_limited"})

    def _retry(self, message: Envelope) -> None:
        """Handle a request that had to wait."""
        self.client.requests.pop(message.key, None)
        if not self.client.is_gone:
            self._receive(message)

    def _initialize(self, message: Envelope) -> None:
        if self._has_work:
            self._respond(message, error_response(INVALID_REQUEST, "this connection is already initialized"))
            return
        self._processes.drop_home()
        params = b"{}" if message.params is UNSET else bytes(message.params)
        handshakes = self._table.pool.handshakes
        kept = handshakes.find(params)
        if kept is not None:
            self._initialized(message, result_response(kept.result), kept)
            return
        self._is_initializing = True
        self.client.requests[message.key] = None
        if handshakes.join(params, partial(self._initialized, message)):
            return
        try:
            process = self._processes.start_home()
        except LimitReached as limit:
            handshakes.settle(params, self._refuse(limit))
            return
        process.request("initialize", message.params, partial(handshakes.settle, params))

    def _initialized(self, message: Envelope, response: Envelope, handshake: Handshake | None) -> None:
        self._is_initializing = False
        self.client.handshake = handshake
        if handshake is None:
            self._processes.drop_home()
        self._respond(message, response)
        self._processes.answered.set()

    def _route(self, message: Envelope, handshake: Handshake) -> None:
        session_id = message.session_id
        session = None if session_id is None else self._find(session_id)
        if message.method == "session/new":
            self._table.check_room()
            self._opener.open(message, handshake, self._processes.free(handshake))
        elif message.method in ("session/load", "session/resume") and session_id is not None:
            self._opener.load(message, session_id, handshake)
        elif session is not None:
            self._session_request(message, session)
        elif session_id is not None:
            self._unattached(message, session_id, handshake)
        elif message.method in LOGINS or message.method in LOGOUTS:
            self._processes.log_in(message, handshake)
        elif message.method == "session/list":
            self._processes.forward(message, self._processes.own(handshake), self._own_sessions)
        else:
            self._processes.forward(message, self._processes.own(handshake))

    def _own_sessions(self, response: Envelope) -> None:
        """Leave sessions of other users out of a list."""
        members = read_members(response.result)
        if "sessions" not in members or self.client.user is None:
            return
        with suppress(*UNREADABLE):
            entries = msgspec.json.decode(members["sessions"], type=list[Raw])
            kept = [each for each in entries if not self._table.is_foreign(str(session_of(each)), self.client)]
            response.result = Raw(encode({**members, "sessions": kept}))

    def _find(self, session_id: str) -> HostedSession | None:
        session = self._sessions.get(session_id)
        if session is not None and session.is_dropped:
            del self._sessions[session_id]
            return None
        return session

    def _session_request(self, message: Envelope, session: HostedSession) -> None:
        method = message.method
        if session.loader is not None:
            self._opener.wait(message, session)
        elif method == "session/close" and len(session.clients) > 1:
            del self._sessions[session.id]
            session.leave(self.client)
            self._respond(message, result_response(b"{}"))
        elif method in ("session/close", "session/delete"):
            self._close(message, session)
        elif method == "session/fork":
            self._opener.open(message, session.handshake, self._processes.wake(session))
        elif method == "session/prompt":
            process = self._processes.wake(session)
            self._table.totals.prompts += 1
            self._table.audit("prompted", self.client, session.id)
            session.prompted(self.client, message.params)
            self._processes.forward(message, process, session.prompt_answered)
        else:
            self._processes.forward(message, self._processes.wake(session), partial(self._changed, message, session))

    def _changed(self, message: Envelope, session: HostedSession, response: Envelope) -> None:
        if response.error is UNSET:
            session.changed(str(message.method), message.params, response.result, self.client)

    def _close(self, message: Envelope, session: HostedSession) -> None:
        def responded(response: Envelope) -> None:
            if response.error is UNSET and not session.is_dropped:
                self._sessions.pop(session.id, None)
                self._table.drop(session)
                if message.method == "session/delete":
                    self._table.forget_owner(session.id)

        self._processes.forward(message, self._processes.wake(session), responded)

    def _unattached(self, message: Envelope, session_id: str, handshake: Handshake) -> None:
        """A request about a session that this connection has not opened."""
        session = self._table.find(session_id)
        if self._table.is_foreign(session_id, self.client):
            self._respond(message, not_found(session_id))
        elif message.method == "session/fork":
            process = self._processes.free(handshake) if session is None else self._processes.wake(session)
            self._opener.open(message, handshake, process)
        elif session is None:
            self._processes.forward(message, self._processes.own(handshake))
        elif message.method == "session/delete":
            self._close(message, session)
        else:
            self._respond(message, not_found(session_id))

    def _notification(self, message: Envelope) -> None:
        if message.method == CANCEL:
            self._cancel_request(message)
            return
        session_id = message.session_id
        session = None if session_id is None else self._find(session_id)
        if session is not None and session.process is not None:
            session.process.notify(str(message.method), message.params)
        elif session_id is None and self.client.handshake is not None:
            with suppress(LimitReached):
                self._processes.own(self.client.handshake).notify(str(message.method), message.params)
        if session is not None and message.method == "session/cancel":
            self._table.audit("cancelled", self.client, session.id)
            session.cancel_questions()

    def _cancel_request(self, message: Envelope) -> None:
        members = read_members(message.params)
        sent = self.client.requests.get(bytes(members.get("requestId", Raw(b""))))
        if sent is not None:
            process, id = sent
            process.notify(CANCEL, encode({**members, "requestId": id}))

    def frame_rejected(self, error: FrameRejected) -> None:
        self.client.respond(b"null", error_response(error.code, error.reason))

    def input_ended(self, reason: ConnectionClosed) -> None:
        self.ended.set()

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self.client.is_gone = True
        self._processes.answered.set()
        self.ended.set()

    def send_paused(self) -> None:
        self._set_full(True)

    def send_resumed(self) -> None:
        self._set_full(False)

    def _set_full(self, is_full: bool) -> None:
        self.client.is_full = is_full
        for session in self._sessions.values():
            session.check_flow()

    def _batches_allowed(self) -> bool:
        return self.client.handshake is None or not self.client.handshake.is_published_v2


class RateLimit:
    """Allows each user so many requests per second, and twice as many at once."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def check(self, user: str) -> None:
        """Count a request; LimitReached if it is one too many."""
        now, most = self._clock(), 2 * self._rate
        left, at = self._left.get(user, (most, now))
        left = min(most, left + (now - at) * self._rate)
        if left < 1:
            self._left[user] = left, now
            raise LimitReached(f"rate limit: at most {self._rate:g} requests per second; try again later")
        self._left[user] = left - 1, now
        if len(self._left) > 10_000:
            self._forget(now)

    def _forget(self, now: float) -> None:
        """Forget users who may send as much as one who never did."""
        self._left = {user: (left, at) for user, (left, at) in self._left.items() if now - at < 2}
