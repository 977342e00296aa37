"""Logs as one JSON object per line, for programs that collect them.

Entries have the connection, the user and the session where they are known. They have no text of prompts and no tokens:
nothing in accord logs those, and what looks like a token of accord is hidden wherever it comes from.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from accord.local.redaction import HIDDEN, redact

_TOKEN = re.compile(r"accord_[A-Za-z0-9_-]{8,}|(?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}")
_LIMIT = 16_384  # characters of a message or a traceback


class LogFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts about an entry: of the connection that a task serves, or given as `extra={"facts": …}`."""

    connection: str | None = None
    user: str | None = None
    session: str | None = None
    method: str | None = None
    outcome: str | None = None
    seconds: float | None = None


log_facts: ContextVar[LogFacts | None] = ContextVar("accord_log_facts", default=None)
"""The facts about everything that is logged by this task and those that it starts."""


class JsonFormatter(logging.Formatter):
    """Formats an entry as a JSON object without a newline."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        for facts in (log_facts.get(), getattr(record, "facts", None)):
            if isinstance(facts, LogFacts):
                entry.update(msgspec.to_builtins(facts))
        if record.exc_info:
            entry["error"] = _clean(self.formatException(record.exc_info))
        return msgspec.json.encode(entry).decode()


def _clean(text: str) -> str:
    if len(text) > _LIMIT:
        text = f"{text[:_LIMIT]} …"
    return redact(_TOKEN.sub(HIDDEN, text)).encode("utf-8", "replace").decode()


@contextmanager
def json_logs(stream: TextIO | None = None) -> Generator[None]:
    """Write the log to stderr as JSON: of accord from the level INFO on, of libraries from WARNING on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root, own = logging.getLogger(), logging.getLogger("accord")
    level = own.level
    own.setLevel(logging.INFO)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        own.setLevel(level)
