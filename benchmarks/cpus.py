"""The CPUs that all contenders of a row run on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

__all__ = ["Cpus"]

_AVAILABLE = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class Cpus(Enum):
    """How many CPUs a row uses; always the first ones that this process may use."""

    ONE = 1
    TWO = 2
    ALL = None

    @property
    def numbers(self) -> list[int]:
        return _AVAILABLE[: self.value]

    def __str__(self) -> str:
        return "not pinned" if self is Cpus.ALL else ", ".join(map(str, self.numbers))

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Keep this process on them, and with it every process that it starts in the block."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.numbers)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)
