"""Background work of a session: tool calls that outlive their turn, each with a task of its own.

Law: a call is announced before it is listed as background work, and its end is sent before it leaves the list. Cancelling
a turn does not affect it; closing the session ends it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol, TypeVar

from accord.session.entities import Work
from accord.session.open_enums import ToolStatus

log = logging.getLogger("accord.agent")

_GRACE = 2.0


class BackgroundCall(Protocol):
    """A tool call that outlives its turn."""

    id: str

    async def __aenter__(self) -> Any: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    async def begin(self) -> None: ...

    def end(self, status: ToolStatus) -> None: ...


C = TypeVar("C", bound=BackgroundCall)


class BackgroundTasks:
    """`on_change` is called when the list has changed."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._tasks: dict[str, asyncio.Task[None]] | None = None

    def __contains__(self, call_id: str) -> bool:
        return self._tasks is not None and call_id in self._tasks

    @property
    def work(self) -> list[Work] | None:
        """The calls that run; None in a session that never had any."""
        return None if self._tasks is None else [Work(type="tool_call", id=id) for id in self._tasks]

    async def start(self, call: C, work: Callable[[C], Awaitable[None]]) -> None:
        """Announce the call and start its task."""
        await call.__aenter__()
        await call.begin()
        if self._tasks is None:
            self._tasks = {}
        task = self._tasks[call.id] = asyncio.create_task(_run(call, work), name=f"accord background {call.id}")
        task.add_done_callback(lambda _: self._ended(call))
        self._on_change()

    async def stop(self) -> None:
        """Cancel all of it, and wait until it has ended."""
        tasks = list((self._tasks or {}).values())
        for task in tasks:
            task.cancel()
        if tasks:
            _, stuck = await asyncio.wait(tasks, timeout=_GRACE)
            for task in stuck:
                log.warning("background work still runs although its session is closed: %r", task)
            await asyncio.sleep(0)  # so that the end of each is sent

    def _ended(self, call: BackgroundCall) -> None:
        assert self._tasks is not None
        call.end("cancelled")  # unless it has ended otherwise
        del self._tasks[call.id]
        self._on_change()


async def _run(call: C, work: Callable[[C], Awaitable[None]]) -> None:
    try:
        await work(call)
    except Exception as error:
        log.exception("background work %s failed", call.id)
        await call.__aexit__(type(error), error, None)
    else:
        await call.__aexit__(None, None, None)
