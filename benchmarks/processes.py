"""Processes seen from outside: their CPU time and memory as the kernel counts them."""

from __future__ import annotations

import time
from pathlib import Path

__all__ = ["cpu_seconds", "forget_peak", "peak_memory", "resident_memory"]

_SCHEDULER_CLOCK = 2


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process so far, in nanosecond resolution."""
    # Linux spells "the CPU clock of process n" as a clock id (clock_getcpuclockid); Python has no name for it.
    return time.clock_gettime((~pid << 3) | _SCHEDULER_CLOCK)


def resident_memory(pid: int) -> int:
    return _status(pid, "VmRSS")


def peak_memory(pid: int) -> int:
    """The most resident memory the process ever had, or had since `forget_peak`."""
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _status(pid: int, key: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(pid)
