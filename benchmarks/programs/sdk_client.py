"""accord's client as a user writes it: `Client`, `Session` and `Reply`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

from accord import Client, Command, MessageChunk, Remote
from accord.client.deadlines import Deadlines
from accord.client.session import Session
from benchmarks.programs.client_program import (
    CLOSE_GRACE,
    TOOL_EVERY,
    Meter,
    Options,
    measure_whole,
    read_options,
    report,
)
from benchmarks.programs.loops import run
from benchmarks.programs.payloads import MODE_ID, PROTOCOL_VERSION, characters_of, write_order
from benchmarks.programs.served_agent import served_agent

DEADLINES = Deadlines(handshake=600.0, request=600.0)  # valgrind takes its time


class Connected:
    def __init__(self, client: Client, session: Session) -> None:
        self.client = client
        self.session = session
        self.agent_pid = _pid(client)

    async def prompt(self, count: int, size: int, tool_every: int = 0) -> int:
        received = 0
        async for update in self.session.prompt(write_order(count, size, tool_every)):
            if isinstance(update, MessageChunk) and update.message.role == "agent":
                received += len(update.text)
        return received

    async def set_mode(self) -> None:
        await self.session.set_mode(MODE_ID)

    async def new_session(self) -> Session:
        return await self.client.new_session("/")

    async def in_flight(self, count: int) -> None:
        await asyncio.gather(*(self.set_mode() for _ in range(count)))


async def converse(options: Options) -> dict[str, float]:
    if options.store is not None:
        return await (store_turn if options.task == "stored-turn" else load)(options, options.store)
    async with reach(options) as client:
        return await measure_whole(options, Connected(client, await client.new_session("/")))


@asynccontextmanager
async def reach(options: Options) -> AsyncIterator[Client]:
    """A client of the agent program, over pipes or over the network."""
    if options.transport is None:
        async with open_client(options.agent_command) as client:
            yield client
        return
    async with served_agent(options.agent_command) as url:
        target = Remote(url, profile="http" if options.transport == "http" else "websocket")
        async with Client(target, version=PROTOCOL_VERSION, deadlines=DEADLINES) as client:
            yield client


def open_client(command: list[str]) -> Client:
    return Client(Command(command, close_grace=CLOSE_GRACE), version=PROTOCOL_VERSION, deadlines=DEADLINES)


async def store_turn(options: Options, store: Path) -> dict[str, float]:
    """One mixed turn of an agent that stores it in a new database."""
    async with open_client(_storing(options, store)) as client:
        connected = Connected(client, await client.new_session("/"))
        started = perf_counter()
        await connected.prompt(options.count, options.size, TOOL_EVERY)
        return {"seconds": perf_counter() - started}


async def load(options: Options, store: Path) -> dict[str, float]:
    """The stored session of `store_turn`, loaded from a new agent process by a client that has seen a turn."""
    async with open_client(options.agent_command) as client:
        await Connected(client, await client.new_session("/")).prompt(20, options.size, TOOL_EVERY)
    async with open_client(_storing(options, store)) as client:
        (stored,) = [session async for session in client.list_sessions()]
        with Meter(os.getpid(), _pid(client)) as meter:
            session = await client.load_session(stored.session_id, "/")
        received = sum(len(message.text) for message in session.transcript.messages.values() if message.role == "agent")
        if received != (expected := characters_of(options.count, options.size, TOOL_EVERY)):
            raise RuntimeError(f"loaded {received} characters instead of {expected}")
        return meter.readings


def _storing(options: Options, store: Path) -> list[str]:
    return [*options.agent_command, f"--store={store}"]


def _pid(client: Client) -> int:
    assert client.agent.info is not None
    return int(client.agent.info.version)


if __name__ == "__main__":
    given = read_options("sdk_agent")
    report(run(converse(given), uvloop="--uvloop" in sys.argv))
