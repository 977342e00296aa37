"""A Windows job object: all processes in it end when it is closed, even if we are killed (not tested)."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any, ClassVar

_EXTENDED_LIMITS = 9
_KILL_ON_CLOSE = 0x2000
_PROCESS_ACCESS = 0x1F0FFF


class _ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION; only one flag is set."""

    _fields_: ClassVar[Any] = [
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
        ("counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    ]


class Job:
    """Adds a process that was started suspended, and then resumes it, so that no child escapes."""

    STARTS_SUSPENDED = 0x4

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._kernel: Any = _library("kernel32")
        self._kernel.CreateJobObjectW.restype = ctypes.c_void_p
        self._kernel.OpenProcess.restype = ctypes.c_void_p
        self._handle: int | None = self._kernel.CreateJobObjectW(None, None)
        limits = _ExtendedLimits()
        limits.flags = _KILL_ON_CLOSE
        job = ctypes.c_void_p(self._handle)
        self._kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits))
        handle = ctypes.c_void_p(self._kernel.OpenProcess(_PROCESS_ACCESS, 0, process.pid))
        self._kernel.AssignProcessToJobObject(job, handle)
        _library("ntdll").NtResumeProcess(handle)
        self._kernel.CloseHandle(handle)

    def kill(self) -> None:
        """End all processes in it."""
        if self._handle is not None:
            self._kernel.TerminateJobObject(ctypes.c_void_p(self._handle), 1)

    def close(self) -> None:
        """Close the handle, which ends the processes that are left."""
        if self._handle is not None:
            self._kernel.CloseHandle(ctypes.c_void_p(self._handle))
            self._handle = None


def _library(name: str) -> Any:
    if sys.platform == "win32":
        return ctypes.WinDLL(name, use_last_error=True)
    raise NotImplementedError("job objects exist on Windows only")
