"""Counts what passes through a server, and knows what is open: connections, sessions, requests.

Laws: no content of messages is kept, only names, ids, sizes and times. Everything that clients can make grow is bounded.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import Counter
from typing import Any

import msgspec

from accord.telemetry.logs import LogFacts, log_facts
from accord.telemetry.messages import Message, method_label, read
from accord.telemetry.traces import Span, Traces
from accord.transports.tap import TappedConnection

log = logging.getLogger("accord.traffic")

TURN_SECONDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""The upper bounds of the classes that turns are counted in."""

_REFUSALS = {
    400: "bad_request", 401: "no_valid_token", 403: "foreign_host_or_origin", 404: "not_found", 405: "http_method",
    406: "not_acceptable", 408: "slow_body", 409: "stream_in_use", 410: "missed_too_much", 413: "too_large",
    415: "content_type", 426: "no_websocket", 429: "rate_or_session_limit", 499: "client_left", 501: "batch",
    503: "full_or_closing", 504: "no_answer",
}  # fmt: skip
_MOST_OPEN = 4096  # requests of one side of a connection; further ones are counted, but not timed
_MOST_SESSIONS = 1024  # of one connection
_OPENS = frozenset(("session/new", "session/load", "session/resume", "session/fork"))
_CLOSES = frozenset(("session/close", "session/delete"))
_QUESTIONS = {
    "session/request_permission": "permission",
    "elicitation/create": "form",
    "fs/read_text_file": "file of the client",
    "fs/write_text_file": "file of the client",
    "terminal/wait_for_exit": "command of the client",
}


class OpenRequest(msgspec.Struct, gc=False):
    """A request that is not answered yet."""

    method: str
    session_id: str | None
    began: float
    span: Span | None = None


class TurnDurations:
    """A histogram: how many turns took up to so many seconds, for each class."""

    def __init__(self) -> None:
        self.counts = [0] * (len(TURN_SECONDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(TURN_SECONDS, seconds)] += 1
        self.total += seconds


class SessionTraffic:
    """A session that connections are attached to."""

    def __init__(self, session_id: str, user: str | None) -> None:
        self.id = session_id
        self.user = user
        self.connections: dict[str, None] = {}
        self.running_since: float | None = None
        self.questions: dict[tuple[str, bytes], OpenRequest] = {}
        self.turns = 0

    @property
    def state(self) -> str:
        """`waiting` for its client, `running`, or `idle`."""
        return "waiting" if self.questions else "idle" if self.running_since is None else "running"

    def facts(self, now: float) -> dict[str, Any]:
        oldest = min(self.questions.values(), key=lambda question: question.began, default=None)
        since = self.running_since if oldest is None else oldest.began
        return {
            "id": self.id,
            "user": self.user,
            "pid": None,
            "state": self.state,
            "waits_for": None if oldest is None else _QUESTIONS.get(oldest.method, "answer of the client"),
            "seconds": None if since is None else now - since,
            "turns": self.turns,
            "connections": list(self.connections),
        }


class Traffic:
    """The observer of a server. `snapshot` is what the status page shows, the counters are what the metrics tell."""

    def __init__(self) -> None:
        self.began = time.time()
        self.connections: dict[str, ConnectionTraffic] = {}
        self.sessions: dict[str, SessionTraffic] = {}
        self.connected_total: Counter[str] = Counter()
        self.bytes_in = self.bytes_out = self.messages_in = self.messages_out = 0
        self.requests: Counter[tuple[str, str, str]] = Counter()
        """How many requests ended: by sender (`client` or `agent`), method and outcome."""
        self.refusals: Counter[str] = Counter()
        self.turns: dict[str, TurnDurations] = {}
        """By stop reason."""

    def connected(self, connection: TappedConnection, transport: str) -> ConnectionTraffic:
        """The tap of a new connection."""
        self.connected_total[transport] += 1
        traffic = ConnectionTraffic(self, connection, transport)
        self.connections[connection.id] = traffic
        return traffic

    def refused(self, status: int) -> None:
        """Count a request that was refused."""
        reason = _REFUSALS.get(status, "other")
        self.refusals[reason] += 1
        log.info("refused with %d: %s", status, reason, extra={"facts": LogFacts(outcome=reason)})

    def turn_ended(self, session: SessionTraffic | None, stop_reason: str, seconds: float) -> None:
        """Count a turn."""
        self.turns.setdefault(stop_reason, TurnDurations()).add(seconds)
        if session is not None:
            session.turns += 1

    def session(self, session_id: str | None) -> SessionTraffic | None:
        return None if session_id is None else self.sessions.get(session_id)

    def attach(self, connection: ConnectionTraffic, session_id: str) -> None:
        """A connection has opened a session."""
        if len(connection.sessions) >= _MOST_SESSIONS:
            return
        connection.sessions[session_id] = None
        session = self.sessions.setdefault(session_id, SessionTraffic(session_id, connection.user))
        session.connections[connection.name] = None

    def detach(self, connection: ConnectionTraffic, session_id: str) -> None:
        """A connection has nothing to do with a session any more; a session without connections is forgotten."""
        connection.sessions.pop(session_id, None)
        session = self.sessions.get(session_id)
        if session is not None:
            session.connections.pop(connection.name, None)
            for key in [key for key in session.questions if key[0] == connection.name]:
                del session.questions[key]
            if not session.connections:
                del self.sessions[session_id]

    def snapshot(self) -> dict[str, Any]:
        """What is open now, and the totals; for JSON."""
        now = time.monotonic()
        return {
            "uptime": time.time() - self.began,
            "connections": [connection.facts(now) for connection in self.connections.values()],
            "sessions": [session.facts(now) for session in self.sessions.values()],
            "totals": {
                "connections": self.connected_total.total(),
                "bytes_in": self.bytes_in,
                "bytes_out": self.bytes_out,
                "messages_in": self.messages_in,
                "messages_out": self.messages_out,
                "turns": sum(sum(durations.counts) for durations in self.turns.values()),
                "refusals": dict(self.refusals),
            },
        }


class ConnectionTraffic:
    """The tap of one connection: its counts, and the requests of both sides that are open."""

    def __init__(self, traffic: Traffic, connection: TappedConnection, transport: str) -> None:
        self._traffic = traffic
        self._connection = connection
        self._traces = Traces.current()
        self.key = connection.id
        self.name = connection.id[:8]
        """The whole id is a secret."""
        self.transport = transport
        self.began = time.monotonic()
        self.client: str | None = None
        self.bytes_in = self.bytes_out = 0
        self.requests: dict[bytes, OpenRequest] = {}
        self.questions: dict[bytes, OpenRequest] = {}
        self.sessions: dict[str, None] = {}
        log_facts.set(LogFacts(connection=self.name, user=self.user))
        log.info("connected by %s", transport)

    @property
    def user(self) -> str | None:
        identity = self._connection.identity
        return None if identity is None else identity.user

    def received(self, frames: list[bytes]) -> list[bytes]:
        """Count the client's frames, and note its requests and answers; with traces, requests get their span's context."""
        traffic = self._traffic
        passed: list[bytes] = []
        for frame in frames:
            self.bytes_in += len(frame)
            traffic.bytes_in += len(frame)
            messages = read(frame)
            traffic.messages_in += len(messages) or 1
            for message in messages:
                if message.is_request:
                    request = self._note(self.requests, message)
                    if request is not None and self._traces is not None:
                        frame = self._trace(self._traces, request, frame)
                elif message.is_response:
                    self._answered("agent", self.questions, message)
            passed.append(frame)
        return passed

    def sent(self, frame: bytes) -> None:
        """Count a frame of the agent, and note its requests and answers."""
        self.bytes_out += len(frame)
        self._traffic.bytes_out += len(frame)
        if b'"id"' not in frame and b'"state_update"' not in frame:
            self._traffic.messages_out += 1  # nearly always
            return
        messages = read(frame)
        self._traffic.messages_out += len(messages) or 1
        for message in messages:
            if message.is_request:
                self._ask(message)
            elif message.is_response:
                self._answered("client", self.requests, message)
            elif message.method == "session/update":
                self._change_state(message)

    def ended(self) -> None:
        """Forget everything about the connection; what is open is lost."""
        for sender, requests in (("client", self.requests), ("agent", self.questions)):
            for request in requests.values():
                self._end(sender, request, "lost")
            requests.clear()
        for session_id in list(self.sessions):
            self._traffic.detach(self, session_id)
        self._traffic.connections.pop(self.key, None)
        log.info("disconnected")

    def facts(self, now: float) -> dict[str, Any]:
        return {
            "id": self.name,
            "client": self.client,
            "user": self.user,
            "transport": self.transport,
            "seconds": now - self.began,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "unsent": self._connection.unsent,
            "sessions": list(self.sessions),
            "requests": [
                {"method": request.method, "seconds": now - request.began} for request in self.requests.values()
            ],
        }

    def _note(self, requests: dict[bytes, OpenRequest], message: Message) -> OpenRequest | None:
        if len(requests) >= _MOST_OPEN or not isinstance(message.method, str):
            return None
        label = method_label(message.method)
        request = requests[message.key] = OpenRequest(label, message.session_id, time.monotonic())
        if label == "initialize":
            self.client = message.client or self.client
        session = self._traffic.session(request.session_id)
        if label == "session/prompt" and session is not None and session.running_since is None:
            session.running_since = request.began
        return request

    def _ask(self, message: Message) -> None:
        request = self._note(self.questions, message)
        session = None if request is None else self._traffic.session(request.session_id)
        if request is not None and self._traces is not None:
            request.span = self._traces.start_question(request.method, request.session_id, message)
        if request is not None and session is not None:
            session.questions[self.name, message.key] = request

    def _answered(self, sender: str, requests: dict[bytes, OpenRequest], message: Message) -> None:
        request = requests.pop(message.key, None)
        if request is None:
            return
        session = self._traffic.session(request.session_id)
        if session is not None:
            session.questions.pop((self.name, message.key), None)
        self._end(sender, request, message.outcome, message)
        if sender == "agent":
            return
        session_id = request.session_id or message.session_id
        if session_id is not None and message.outcome == "ok":
            if request.method in _OPENS:
                self._traffic.attach(self, message.session_id or session_id)
            elif request.method in _CLOSES:
                self._traffic.detach(self, session_id)
        if request.method == "session/prompt" and message.stop_reason is not None:
            self._end_turn(session, request, message.stop_reason)

    def _end_turn(self, session: SessionTraffic | None, request: OpenRequest, stop_reason: str) -> None:
        self._traffic.turn_ended(session, stop_reason, time.monotonic() - request.began)
        if session is not None and not any(
            other.method == "session/prompt" and other.session_id == session.id for other in self.requests.values()
        ):
            session.running_since = None

    def _change_state(self, message: Message) -> None:
        """In v2 a turn is no request: the session tells when it begins and ends."""
        session, change = self._traffic.session(message.session_id), message.state
        if session is None or change is None:
            return
        state, stop_reason = change
        if state != "idle":
            session.running_since = session.running_since or time.monotonic()
        elif session.running_since is not None:
            self._traffic.turn_ended(session, stop_reason or "other", time.monotonic() - session.running_since)
            session.running_since = None

    def _end(self, sender: str, request: OpenRequest, outcome: str, message: Message | None = None) -> None:
        self._traffic.requests[sender, request.method, outcome] += 1
        if request.span is not None:
            request.span.end(outcome, None if message is None else message.error_code)
        if log.isEnabledFor(logging.INFO):
            seconds = time.monotonic() - request.began
            facts = LogFacts(
                connection=self.name,
                user=self.user,
                session=request.session_id,
                method=request.method,
                outcome=outcome,
                seconds=round(seconds, 6),
            )
            log.info("%s of the %s: %s after %.3f s", request.method, sender, outcome, seconds, extra={"facts": facts})

    def _trace(self, traces: Traces, request: OpenRequest, frame: bytes) -> bytes:
        request.span, frame = traces.start_request(request.method, request.session_id, self.name, self.user, frame)
        return frame
