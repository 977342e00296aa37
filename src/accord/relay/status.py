"""The status of a server that passes connections on to processes, for a page or for metrics.

A snapshot is a copy: it does not change, and costs nothing until it is taken. Times are seconds since the epoch.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

ID_PREFIX = 8
"""The characters of a connection's id that are shown: the whole id is a secret."""

SessionState: TypeAlias = Literal["running", "waiting", "idle", "asleep"]
"""`waiting` is for the user's answer to a question; `asleep` is without a process, which the next prompt starts."""

ProcessState: TypeAlias = Literal["warm", "used"]
"""`warm` is started in advance, for nobody yet."""


class ConnectionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One connection. `bytes_in` came from its client, `bytes_out` went to it."""

    id: str
    user: str | None
    client: str | None
    transport: Literal["http", "websocket", "other"]
    since: float
    bytes_in: int
    bytes_out: int


class SessionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One session, with the process that has it and the ids of the connections that are attached to it."""

    id: str
    user: str | None
    pid: int | None
    state: SessionState
    since: float
    clients: tuple[str, ...]


class ProcessStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One process. `memory` is what it has of the machine's memory, in bytes, where the system tells."""

    pid: int | None
    memory: int | None
    sessions: tuple[str, ...]
    state: ProcessState
    since: float


class Totals(msgspec.Struct, kw_only=True):
    """Counts since the server was started."""

    connections: int = 0
    sessions: int = 0
    processes: int = 0
    processes_lost: int = 0
    """Processes that ended by themselves."""
    requests: int = 0
    prompts: int = 0
    refused: int = 0
    """Requests beyond a limit."""
    bytes_in: int = 0
    bytes_out: int = 0


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at one time. With a process for each connection, the sessions are not known."""

    connections: tuple[ConnectionStatus, ...]
    sessions: tuple[SessionStatus, ...]
    processes: tuple[ProcessStatus, ...]
    totals: Totals


def process_memory(pid: int | None) -> int | None:
    """The bytes of memory that a process uses; None where the system does not tell, or it has ended."""
    if pid is None or sys.platform != "linux":
        return None
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
