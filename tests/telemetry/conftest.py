from __future__ import annotations

import json
from typing import Any

import pytest

from accord.telemetry.logs import log_facts
from accord.telemetry.traffic import ConnectionTraffic, Traffic
from accord.transports.transport import Identity


class Connection:
    """A connection as far as a tap looks at it."""

    def __init__(self, number: int, user: str | None = None) -> None:
        self.id = f"{number:08}-the-secret-part-of-the-id"
        self.identity = None if user is None else Identity(user, "token-id")
        self.unsent = 0


class Conversation:
    """Both sides of a connection, which a tap hears."""

    def __init__(self, traffic: Traffic, number: int = 1, user: str | None = None) -> None:
        self.traffic = traffic
        self.tap: ConnectionTraffic = traffic.connected(Connection(number, user), "websocket")
        self._ids = 0

    def ask(self, method: str, **params: Any) -> int:
        """A request of the client."""
        self._ids += 1
        self.hear({"id": self._ids, "method": method, "params": params})
        return self._ids

    def answer(self, request_id: int, **result: Any) -> None:
        self.tell({"id": request_id, "result": result})

    def fail(self, request_id: int, code: int) -> None:
        self.tell({"id": request_id, "error": {"code": code, "message": "no"}})

    def hear(self, message: Any) -> list[bytes]:
        return self.tap.received([_encode(message)])

    def tell(self, message: Any) -> None:
        self.tap.sent(_encode(message))

    def new_session(self, session_id: str) -> None:
        self.answer(self.ask("session/new", cwd="/"), sessionId=session_id)

    def update(self, session_id: str, **update: Any) -> None:
        self.tell({"method": "session/update", "params": {"sessionId": session_id, "update": update}})

    def state(self, session_id: str) -> str | None:
        facts = {session["id"]: session for session in self.traffic.snapshot()["sessions"]}
        return facts[session_id]["state"] if session_id in facts else None


def _encode(message: Any) -> bytes:
    if isinstance(message, list):
        return json.dumps([{"jsonrpc": "2.0", **each} for each in message]).encode()
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


@pytest.fixture(autouse=True)
def _no_connection() -> None:
    log_facts.set(None)


@pytest.fixture
def traffic() -> Traffic:
    return Traffic()


@pytest.fixture
def conversation(traffic: Traffic) -> Conversation:
    return Conversation(traffic)
