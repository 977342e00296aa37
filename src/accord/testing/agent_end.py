"""An agent's end of a connection that a test holds: in memory, or as a program on stdio."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from accord.agent.in_process import ClientEnd
from accord.errors import ConnectionClosed
from accord.peer.loop import run
from accord.testing.scripted import ScriptedEnd
from accord.testing.taps import Tap, TappedTransport
from accord.transports.transport import Transport

__all__ = ["AgentEnd"]


class AgentEnd(ScriptedEnd):
    """A target for `Client`, or with `run()` a program. It may be connected with again when it was closed."""

    side = "agent"

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.connections = 0
        self.last_words: ConnectionClosed | None = None
        """What it died with, if it did."""
        self._gone: asyncio.Event | None = None

    def connect(self) -> Transport:
        """The client's end of a connection in memory."""
        return TappedTransport(ClientEnd(self.serve), _LastWords(self))

    async def serve(self, transport: Transport) -> None:
        """Speak on this transport until either side hangs up."""
        self.connections += 1
        self.closed = self.last_words = None
        gone = self._gone = asyncio.Event()
        self._transport = transport
        await transport.open(self)
        self.begun()
        try:
            await gone.wait()
        finally:
            await self._end_handlers()
            await transport.aclose()

    def begun(self) -> None:
        """Called when a connection begins."""

    def run(self) -> None:
        """Be a program: speak on stdin and stdout until the client hangs up or the script dies."""
        from accord.transports.stdio import Stdio  # noqa: PLC0415  # needs a process of its own

        with suppress(KeyboardInterrupt):
            run(self.serve(Stdio()))
        if self.last_words is not None:
            sys.stderr.write(self.last_words.stderr_tail)
            sys.exit(self.last_words.exit_code)

    def die(self, exit_code: int | None = None, stderr: str = "", reason: str = "the scripted agent died") -> None:
        """Hang up. The client learns the exit code and the last words as from a program that ended."""
        self.closed = self.last_words = ConnectionClosed(reason, exit_code, stderr)
        self.recording.end("agent", self.closed)
        self._wake()
        if self._gone is not None:
            self._gone.set()

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Called by the transport."""
        super().connection_lost(reason)
        if self._gone is not None:
            self._gone.set()


class _LastWords(Tap):
    """The client hears what the agent died of, as it would of a program."""

    def __init__(self, agent: AgentEnd) -> None:
        self._agent = agent

    def ended(self, reason: ConnectionClosed) -> None:
        super().ended(self._agent.last_words or reason)
