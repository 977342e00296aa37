"""The audit log: who connected or was refused, who prompted, who cancelled, and who allowed what.

Each entry is one line of JSON in the log `accord.audit`, without the text of prompts and answers. Nothing is written unless
a handler wants it: `audit_log` adds a file.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from accord.agent.connection import AgentEndpoint
from accord.transports.transport import Identity

log = logging.getLogger("accord.audit")
log.propagate = False  # the entries name users and what they do: only for those who ask for them

_TITLE_LIMIT = 500  # characters
_REFUSED_SECONDS = 10.0

AuditEvent: TypeAlias = Literal["connected", "disconnected", "opened", "prompted", "cancelled", "answered"]


def record(event: AuditEvent, endpoint: AgentEndpoint, session_id: str | None = None, **facts: Any) -> None:
    """Write what the user of a connection did."""
    if log.handlers:
        info = endpoint.info
        write(event, endpoint.identity, None if info is None else info.name, session_id, facts)


def write(
    event: AuditEvent,
    identity: Identity | None,
    client: str | None,
    session_id: str | None,
    facts: Mapping[str, Any],
) -> None:
    """Write what a user did with a client of this name."""
    if not log.handlers:
        return
    entry: dict[str, Any] = {
        "user": None if identity is None else identity.user,
        "token": None if identity is None else identity.token,
        "client": client,
    }
    if session_id is not None:
        entry["session"] = session_id
    for name, fact in facts.items():
        entry[name] = fact[:_TITLE_LIMIT] if isinstance(fact, str) else fact
    _write(event, entry)


class RefusedLogins:
    """Records requests without a valid token: the first at once, then one line every few seconds with their number."""

    def __init__(self) -> None:
        self._attempts = 0
        self._address: str | None = None
        self._written_at = -_REFUSED_SECONDS

    def add(self, address: str | None) -> None:
        """One more, from this address."""
        self._attempts += 1
        self._address = address
        if time.monotonic() - self._written_at >= _REFUSED_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write those that were not written yet."""
        if self._attempts and log.handlers:
            _write("refused", {"address": self._address, "attempts": self._attempts})
        self._attempts, self._written_at = 0, time.monotonic()


def _write(event: str, facts: dict[str, Any]) -> None:
    log.info("%s", json.dumps({"time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}", "event": event, **facts}))


@contextmanager
def audit_log(path: str | os.PathLike[str]) -> Generator[None]:
    """Append entries to a file that only its owner can read; OSError if it can't be opened."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(message)s"))
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        handler.close()
