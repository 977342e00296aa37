"""Where sessions are kept; see `accord.store.store` for the laws that every store keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.errors import Fenced, JournalUnreadable, SessionExists, SessionInUse, StoreClosed, StoreFailed
from accord.store.memory import MemoryStore
from accord.store.store import Claim, Owner, Patches, SessionRecord, Store

if TYPE_CHECKING:
    from accord.store.sqlite import SqliteStore

__all__ = [
    "Claim",
    "Fenced",
    "JournalUnreadable",
    "MemoryStore",
    "Owner",
    "Patches",
    "SessionExists",
    "SessionInUse",
    "SessionRecord",
    "SqliteStore",
    "Store",
    "StoreClosed",
    "StoreFailed",
]


def __getattr__(name: str) -> Any:
    if name != "SqliteStore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from accord.store.sqlite import SqliteStore  # noqa: PLC0415  # without it, nobody pays for sqlite3 and threads

    globals()[name] = SqliteStore
    return SqliteStore
