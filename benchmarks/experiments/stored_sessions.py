"""Sessions in a SQLite database: a turn that is stored while it streams, and the load of such a session.

A load needs a database, which is made once per size and kept until the benchmarks end.
"""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from benchmarks.child_processes import run_program

__all__ = ["load_seconds", "stored_session", "stored_turn_seconds"]


def stored_turn_seconds(count: int) -> float:
    with TemporaryDirectory() as directory:
        return _store_turn(count, Path(directory) / "sessions.db")


def load_seconds(count: int) -> float:
    readings = run_program("sdk_client", "load", f"--count={count}", f"--store={stored_session(count)}")
    return readings["seconds"]


@cache
def stored_session(count: int) -> Path:
    """A database with one session of so many updates."""
    directory = mkdtemp(prefix="accord-stored-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    path = Path(directory) / "sessions.db"
    _store_turn(count, path)
    return path


def _store_turn(count: int, path: Path) -> float:
    return run_program("sdk_client", "stored-turn", f"--count={count}", f"--store={path}")["seconds"]
