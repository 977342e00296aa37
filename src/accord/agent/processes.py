"""A process of ours with nothing to read, whose output is followed, and which is ended with all it started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

from accord.session.entities import Exit

__all__ = ["Running", "start"]

_PIECE = 64 * 1024
_GRACE = 2.0


async def start(words: Sequence[str], cwd: str, env: Mapping[str, str] | None, limit: int) -> Running:
    """Start it in a group of its own; `env` is laid over our environment. FN-16"""
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=cwd,
        env=None if env is None else {**os.environ, **env},
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        start_new_session=sys.platform != "win32",
    )
    return Running(process, limit)


class Running:
    """Iterate over it for what the process writes; of all that, the last `limit` bytes are kept."""

    def __init__(self, process: Process, limit: int) -> None:
        self.is_truncated = False
        self._process = process
        self._limit = limit
        self._kept = bytearray()

    @property
    def output(self) -> str:
        """What was kept, from the first whole character on."""
        kept = bytes(self._kept)
        if self.is_truncated:
            kept = kept.lstrip(bytes(range(0x80, 0xC0)))
        return kept.decode("utf-8", "replace")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stdout = self._process.stdout
        assert stdout is not None
        while piece := await stdout.read(_PIECE):
            self._kept += piece
            if len(self._kept) > self._limit:
                self.is_truncated = True
                del self._kept[: -self._limit or None]
            yield piece
        await self._process.wait()

    async def end(self) -> Exit:
        """End it, and everything in its group, if that is still needed; how it ended."""
        if self._process.returncode is None:
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self._process.wait()
        if sys.platform != "win32":
            self._signal(signal.SIGKILL)
        elif self._process.returncode is None:
            self._process.kill()
        code = await self._process.wait()
        if code < 0:
            return Exit(signal=signal.Signals(-code).name)
        return Exit(code=code)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)
