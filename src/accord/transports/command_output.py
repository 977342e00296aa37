"""Run a command that reads nothing, hear what it writes, and end it together with everything it started."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from accord.transports.guarded_spawn import can_guard, start_guarded
from accord.transports.spawn import Child, Start, located, start_unguarded
from accord.transports.stdio import private_reader
from accord.transports.streams import OnBytes

__all__ = ["Capture", "start_capture"]

# From the end of the command to the end of its output and of all that it started. Where that takes longer, it has left
# something behind; what it wrote itself has been heard by then.
_LINGERING_SECONDS = 0.1
_KILLED_SECONDS = 5.0
_PIPE_HOLDS = 1024 * 1024  # at most


async def start_capture(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    on_output: OnBytes,
    terminate_grace: float = 2.0,
    memory: int = 0,
) -> Capture:
    """Returns when the command runs; raises `ConnectionClosed` that says what to do when it can't be started.

    `env` is the whole environment. `on_output` is called from the loop, never before this has returned.
    """
    start = Start(located(command, env, cwd), command, env, cwd, terminate_grace, only_writes=True, memory=memory)
    child = await (start_guarded(start) if can_guard() else start_unguarded(start))
    return Capture(child, on_output, terminate_grace)


class Capture:
    """A running command: stdin is the null device, stdout and stderr are heard as one stream.

    `ended` is done with the exit code (negative: a signal; None: not known) when the command has ended and what it
    wrote has been heard. What it left behind runs and is heard on until `end()`; `is_gone` tells that nothing is left.
    While it is paused, the command waits with what it writes; `end()` ends every pause.
    """

    def __init__(self, child: Child, on_output: OnBytes, terminate_grace: float) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int | None] = loop.create_future()
        self._child = child
        self._terminate_grace = terminate_grace
        self._heard_all: asyncio.Future[None] = loop.create_future()
        self._heard = 0
        self._on_output = on_output
        self._may_hear = asyncio.Event()
        self._may_hear.set()
        self._was_paused = False
        self._reader = private_reader(child.stdout, self._hear, self._output_ended)
        self._ending: asyncio.Task[None] | None = None
        self._watching = asyncio.create_task(self._watch(), name="accord capture")

    @property
    def is_gone(self) -> bool:
        """Whether the command and everything that it started has ended."""
        return self._child.gone.done()

    def pause(self) -> None:
        """Hear nothing for now."""
        if self._ending is None:
            self._was_paused = True
            self._may_hear.clear()
            self._reader.pause()

    def resume(self) -> None:
        """Hear again."""
        self._may_hear.set()
        self._reader.resume()

    async def end(self) -> None:
        """Ask everything to end, then end it; bounded in time, safe twice and from any task."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(), name="accord capture ending")
            self.resume()
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        gone = self._child.gone
        if not gone.done():
            self._child.terminate()
            await asyncio.wait((gone,), timeout=self._terminate_grace)
        if not gone.done():
            self._child.kill()
            await asyncio.wait((gone,), timeout=_KILLED_SECONDS)
        if not gone.done():
            self._watching.cancel()  # not even the system can end it; whoever waits must not wait for ever
        await asyncio.wait((self._watching,))

    async def _watch(self) -> None:
        child = self._child
        try:
            await asyncio.wait((child.exited,))
            await self._hear_out()
            self.ended.set_result(child.exited.result())
            await asyncio.wait((child.gone,))
            await asyncio.wait((self._heard_all,), timeout=_LINGERING_SECONDS)
        finally:
            if not self.ended.done():
                self.ended.set_result(None)
            self._reader.close()
            child.release()

    async def _hear_out(self) -> None:
        """Wait for what the command wrote before it ended, not for what others go on to write."""
        enough = self._heard + _PIPE_HOLDS
        self._was_paused = not self._may_hear.is_set()
        await asyncio.wait((self._child.gone, self._heard_all), timeout=_LINGERING_SECONDS)
        while self._was_paused and not self._heard_all.done() and self._heard < enough:
            await self._may_hear.wait()
            self._was_paused = False
            await asyncio.wait((self._heard_all,), timeout=_LINGERING_SECONDS)

    def _hear(self, piece: bytes) -> None:
        self._heard += len(piece)
        self._on_output(piece)

    def _output_ended(self, error: OSError | None) -> None:
        self._heard_all.set_result(None)
