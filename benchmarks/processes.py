"""CPU time and memory of processes, as the kernel counts them."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["cpu_seconds", "forget_peak", "peak_memory", "resident_memory", "system_seconds"]

_SCHEDULER_CLOCK = 2


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process so far, in nanosecond resolution."""
    # Linux spells "the CPU clock of process n" as a clock id (clock_getcpuclockid); Python has no name for it.
    return time.clock_gettime((~pid << 3) | _SCHEDULER_CLOCK)


def system_seconds(pid: int) -> float:
    """Time spent in the kernel by all threads of a process so far, in clock ticks of usually 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[12]) / os.sysconf("SC_CLK_TCK")


def resident_memory(pid: int) -> int:
    return _status(pid, "VmRSS")


def peak_memory(pid: int) -> int:
    """The largest resident memory since the process started or `forget_peak` was called."""
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _status(pid: int, key: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(pid)
