"""Runs a command without input, captures its output, and ends it together with everything that it started."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from accord.transports.guarded_spawn import can_guard, start_guarded
from accord.transports.spawn import ChildProcess, SpawnOptions, find_program, start_unguarded
from accord.transports.stdio import private_reader
from accord.transports.streams import OnBytes

# From the exit of the command to the end of its output and of its descendants. If that takes longer, it has left a
# process running; its own output has been read by then.
_LINGER_SECONDS = 0.1
_KILLED_SECONDS = 5.0
_PIPE_CAPACITY = 1024 * 1024  # at most


async def capture_command(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    on_output: OnBytes,
    terminate_grace: float = 2.0,
    memory: int = 0,
) -> CapturedCommand:
    """Returns when the command runs; raises `ConnectionClosed` with the reason if it cannot be started.

    `env` is the complete environment. `on_output` is called from the loop, never before this has returned.
    """
    options = SpawnOptions(
        find_program(command, env, cwd), command, env, cwd, terminate_grace, only_writes=True, memory=memory
    )
    child = await (start_guarded(options) if can_guard() else start_unguarded(options))
    return CapturedCommand(child, on_output, terminate_grace)


class CapturedCommand:
    """A running command: stdin is the null device, stdout and stderr are read as one stream.

    `ended` has the exit code (negative: a signal; None: unknown) when the command has exited and its output was read.
    Processes that it left running are read until `end()`; `is_gone` means that none is left. While paused, the command
    blocks when it writes; `end()` ends every pause.
    """

    def __init__(self, child: ChildProcess, on_output: OnBytes, terminate_grace: float) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int | None] = loop.create_future()
        self._child = child
        self._terminate_grace = terminate_grace
        self._output_end: asyncio.Future[None] = loop.create_future()
        self._size = 0
        self._on_output = on_output
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._was_paused = False
        self._reader = private_reader(child.stdout, self._output_received, self._output_ended)
        self._end_task: asyncio.Task[None] | None = None
        self._watch_task = asyncio.create_task(self._watch(), name="accord capture")

    @property
    def is_gone(self) -> bool:
        """Whether the command and everything that it started has exited."""
        return self._child.gone.done()

    def pause(self) -> None:
        """Stop reading for now."""
        if self._end_task is None:
            self._was_paused = True
            self._may_read.clear()
            self._reader.pause()

    def resume(self) -> None:
        """Read again."""
        self._may_read.set()
        self._reader.resume()

    async def end(self) -> None:
        """Terminate everything, then kill it; bounded in time. Safe to call twice, and from any task."""
        if self._end_task is None:
            self._end_task = asyncio.create_task(self._end(), name="accord capture ending")
            self.resume()
        await asyncio.shield(self._end_task)

    async def _end(self) -> None:
        gone = self._child.gone
        if not gone.done():
            self._child.terminate()
            await asyncio.wait((gone,), timeout=self._terminate_grace)
        if not gone.done():
            self._child.kill()
            await asyncio.wait((gone,), timeout=_KILLED_SECONDS)
        if not gone.done():
            self._watch_task.cancel()  # even SIGKILL did not help; do not wait forever
        await asyncio.wait((self._watch_task,))

    async def _watch(self) -> None:
        child = self._child
        try:
            await asyncio.wait((child.exited,))
            await self._read_rest()
            self.ended.set_result(child.exited.result())
            await asyncio.wait((child.gone,))
            await asyncio.wait((self._output_end,), timeout=_LINGER_SECONDS)
        finally:
            if not self.ended.done():
                self.ended.set_result(None)
            self._reader.close()
            child.release()

    async def _read_rest(self) -> None:
        """Wait for the output that the command wrote before it exited, not for that of processes it left running."""
        enough = self._size + _PIPE_CAPACITY
        self._was_paused = not self._may_read.is_set()
        await asyncio.wait((self._child.gone, self._output_end), timeout=_LINGER_SECONDS)
        while self._was_paused and not self._output_end.done() and self._size < enough:
            await self._may_read.wait()
            self._was_paused = False
            await asyncio.wait((self._output_end,), timeout=_LINGER_SECONDS)

    def _output_received(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self._on_output(chunk)

    def _output_ended(self, error: OSError | None) -> None:
        self._output_end.set_result(None)
