"""accord's client as a user writes it: `Client`, `Session` and `Reply`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from accord import Client, Command, MessageChunk
from accord.client.session import Session
from benchmarks.loops import run
from benchmarks.payloads import MODE_ID, PROTOCOL_VERSION, write_order
from benchmarks.processes import cpu_seconds
from benchmarks.program import TOOL_EVERY, Options, measure_whole, read_options, report


class Connected:
    def __init__(self, client: Client, session: Session) -> None:

        self.client = client
        self.session = session
        self.agent_pid = _pid(client)

    async def prompt(self, count: int, size: int, tool_every: int = 0) -> int:
        reply = self.session.prompt(write_order(count, size, tool_every))
        received = 0
        async for update in reply:
            if isinstance(update, MessageChunk) and update.message.role == "agent":
                received += len(update.text)
        return received

    async def set_mode(self) -> None:
        await self.session.set_mode(MODE_ID)

    async def new_session(self) -> None:
        await self.client.new_session("/")

    async def in_flight(self, count: int) -> None:
        await asyncio.gather(*(self.set_mode() for _ in range(count)))


async def converse(options: Options) -> dict[str, float]:
    if options.work in ("stored-turn", "load"):
        with TemporaryDirectory() as directory:
            return await take_up(options, Path(directory) / "sessions.db")
    async with Client(Command(options.agent_command), version=PROTOCOL_VERSION) as client:
        return await measure_whole(options, Connected(client, await client.new_session("/")))


async def take_up(options: Options, store: Path) -> dict[str, float]:
    """A turn of a session that is kept, or the same session loaded from a new process."""
    command = Command([*options.agent_command, f"--store={store}"])
    async with Client(command, version=PROTOCOL_VERSION) as client:
        connected = Connected(client, await client.new_session("/"))
        started = perf_counter()
        await connected.prompt(options.count, options.size, TOOL_EVERY)
        streamed = perf_counter() - started
        session_id, text = connected.session.id, _said(connected.session)
    if options.work == "stored-turn":
        return {"seconds": streamed}
    async with Client(command, version=PROTOCOL_VERSION) as client:
        pids = (os.getpid(), _pid(client))
        cpu, started = sum(map(cpu_seconds, pids)), perf_counter()
        session = await client.load_session(session_id, "/")
        seconds = perf_counter() - started
        if _said(session) != text:
            raise RuntimeError("what was loaded is not what was said")
        return {"seconds": seconds, "cpu_seconds": sum(map(cpu_seconds, pids)) - cpu}


def _pid(client: Client) -> int:
    assert client.agent.info is not None
    return int(client.agent.info.version)


def _said(session: Session) -> int:
    return sum(len(message.text) for message in session.transcript.messages.values())


if __name__ == "__main__":
    given = read_options("sdk_agent")
    report(run(converse(given), uvloop="--uvloop" in sys.argv))
