"""One command that an agent runs here, and what a user interface is told of it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from accord.local.exits import exit_of
from accord.session.entities import Exit
from accord.session.updates import TerminalPatch, TerminalPiece
from accord.transports.capture import Capture
from accord.transports.tail import Tail

__all__ = ["OnTerminal", "Terminal", "TerminalEvent"]


class Terminal:
    """A command and the end of its output; both stay as they are when the agent has released it (TERM-16).

    No pseudo-terminal is behind it: the command writes to a pipe and reads from the null device.
    """

    def __init__(self, session_id: str, command: str, cwd: str, limit: int, tell: OnTerminal) -> None:
        # Random, because a transcript may outlive us and must not show the output of another command.
        self.id = f"term_{secrets.token_hex(8)}"
        self.session_id = session_id
        self.command = command
        self.cwd = cwd
        self.exit: Exit | None = None
        self.is_released = False
        self._tail = Tail(limit)
        self._tell = tell
        self._capture: Capture | None = None
        self._exited: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._releasing: asyncio.Task[None] | None = None

    @property
    def output(self) -> str:
        """What the command has written, as far as it is kept."""
        return self._tail.text

    @property
    def is_truncated(self) -> bool:
        """Whether the beginning of the output is gone."""
        return self._tail.is_truncated

    @property
    def size(self) -> int:
        """Bytes of output that are kept."""
        return len(self._tail)

    @property
    def is_gone(self) -> bool:
        """Whether nothing that the command started runs any more."""
        return self._capture is None or self._capture.is_gone

    def began(self, capture: Capture) -> None:
        """The command runs."""
        self._capture = capture
        capture.ended.add_done_callback(self._ended)
        self._tell(TerminalEvent("created", self))

    def heard(self, piece: bytes) -> None:
        """The command has written something."""
        self._tail.add(piece)
        self._tell(TerminalEvent("output", self, piece))

    async def wait(self) -> Exit:
        """Returns when the command has ended and all that it wrote is in the output."""
        return await asyncio.shield(self._exited)

    async def kill(self) -> None:
        """End the command and all that it started; bounded in time. What was written stays (TERM-27)."""
        assert self._capture is not None
        await self._capture.end()

    async def release(self) -> None:
        """End it, and let go of everything but the output (TERM-29). Safe twice, and from any task."""
        if self._releasing is None:
            self.is_released = True
            self._releasing = asyncio.create_task(self._release(), name="accord terminal release")
        await asyncio.shield(self._releasing)

    def drop_output(self) -> None:
        """Give up the output: there is too much of it in all."""
        self._tail.drop()

    async def _release(self) -> None:
        await self.kill()
        await asyncio.shield(self._exited)
        self._tell(TerminalEvent("released", self))

    def _ended(self, ended: asyncio.Future[int | None]) -> None:
        self._tail.finish()
        self.exit = exit_of(ended.result())
        self._exited.set_result(self.exit)
        self._tell(TerminalEvent("exited", self))


class TerminalEvent(msgspec.Struct, frozen=True):
    """Something happened to a terminal: created, output*, exited, output* of what it left behind, released."""

    kind: Literal["created", "output", "exited", "released"]
    terminal: Terminal
    data: bytes = b""

    @property
    def report(self) -> TerminalPatch | TerminalPiece | None:
        """The same for a transcript, where it looks like a terminal that a v2 agent shows; None for a release."""
        terminal = self.terminal
        if self.kind == "created":
            return TerminalPatch(id=terminal.id, command=terminal.command, cwd=terminal.cwd)
        if self.kind == "output":
            return TerminalPiece(id=terminal.id, data=self.data)
        if self.kind == "exited":
            return TerminalPatch(id=terminal.id, exit=terminal.exit)
        return None


OnTerminal: TypeAlias = Callable[[TerminalEvent], None]
