"""The processes of an agent: started when they are needed or a little before, and never more than a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from accord.errors.local_errors import LimitReached
from accord.relay.agent_process import AgentProcess, ProcessListener
from accord.relay.envelope import Envelope
from accord.relay.handshake import Handshake, HandshakeCache
from accord.relay.status import ProcessStatus, Totals, process_memory
from accord.transports.transport import Transport

MIB = 1024 * 1024


class RelayLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a server that starts processes for its clients.

    `idle_seconds` is how long a process lives without anything to do.

    `record_bytes` are kept of each session's updates, `records_bytes` of all together, for clients that attach to it.
    `unread_bytes` may wait for a client that does not read. `rate` is the most requests per second of one user, with
    twice as many at once.
    """

    sessions: int = 1000
    processes: int = 100
    warm: int = 0
    idle_seconds: float = 300.0
    record_bytes: int = 4 * MIB
    records_bytes: int = 256 * MIB
    unread_bytes: int = 16 * MIB
    rate: float = 500.0
    drain_seconds: float = 2.5


class Step(NamedTuple):
    """A request that prepares a process for its work."""

    method: str
    params: bytes
    on_result: Callable[[Envelope], None] | None = None


class ProcessPool:
    """Processes that `connect` describes. `make_room` is asked to end one when there are too many."""

    def __init__(
        self, connect: Callable[[], Transport], listener: ProcessListener, limits: RelayLimits, totals: Totals
    ) -> None:
        self._connect = connect
        self._listener = listener
        self._limits = limits
        self._totals = totals
        self._processes: list[AgentProcess] = []
        self._warm: list[AgentProcess] = []
        self._ends: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self.make_room: Callable[[], bool] = lambda: False
        self.handshakes = HandshakeCache()

    def __len__(self) -> int:
        return len(self._processes)

    @property
    def used(self) -> list[AgentProcess]:
        """The processes that are not warm."""
        return [each for each in self._processes if each not in self._warm]

    def take(self) -> AgentProcess:
        """A process that nobody uses, perhaps a warm one; LimitReached if there are too many."""
        if self._is_closed:
            raise LimitReached("the server shuts down")
        while self._warm:
            process = self._warm.pop()
            if not process.is_ending:
                break
        else:
            process = self._start()
        self.fill()
        return process

    def take_initialized(self, handshake: Handshake, steps: Sequence[Step]) -> AgentProcess:
        """A process that gets the `initialize` of a client and these requests before anything else."""
        process = self.take()
        process.is_held = True

        def keep(response: Envelope) -> None:
            if response.result is not UNSET:
                self.handshakes.keep(handshake.params, bytes(response.result))

        self._prepare(process, [Step("initialize", handshake.params, keep), *steps])
        return process

    def _prepare(self, process: AgentProcess, steps: list[Step]) -> None:
        """Send the first of the requests, and the others after its response; an error ends the process."""
        if not steps:
            process.release()
            return
        method, params, on_result = steps[0]

        def responded(response: Envelope) -> None:
            if process.is_ending:
                return
            if response.error is not UNSET:
                process.fail(response)
                self._listener.process_lost(process, f"the agent refused {method}")
                self.end(process)
                return
            if on_result is not None:
                on_result(response)
            self._prepare(process, steps[1:])

        process.request(method, params, responded, is_urgent=True)

    def fill(self) -> None:
        """Start warm processes, if some are missing."""
        with suppress(LimitReached):
            while len(self._warm) < self._limits.warm and len(self._processes) < self._limits.processes:
                self._warm.append(self._start())

    def end(self, process: AgentProcess) -> None:
        """End a process."""
        self.forget(process)
        task = process.end()
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)

    def forget(self, process: AgentProcess) -> None:
        """It has ended."""
        for processes in (self._processes, self._warm):
            if process in processes:
                processes.remove(process)

    async def aclose(self) -> None:
        """End all of them, and wait for that."""
        self._is_closed = True
        for process in list(self._processes):
            self.end(process)
        if self._ends:
            await asyncio.wait(self._ends)

    def status(self) -> tuple[ProcessStatus, ...]:
        return tuple(
            ProcessStatus(
                pid=each.pid,
                memory=process_memory(each.pid),
                sessions=tuple(each.sessions),
                state="warm" if each in self._warm else "used",
                since=each.since,
            )
            for each in self._processes
        )

    def _start(self) -> AgentProcess:
        while len(self._processes) >= self._limits.processes:
            if not self.make_room():
                raise LimitReached(f"too many processes: at most {self._limits.processes}; try again later")
        process = AgentProcess(self._connect(), self._listener)
        self._processes.append(process)
        self._totals.processes += 1
        process.start()
        return process
