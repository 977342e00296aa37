"""Measures what the coding agent adds to each streamed token: its turn minus that of an agent that only talks."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from accord import Agent, Client, Turn
from accord.apps.coder.coder import Coder
from accord.apps.coder.models.model import Event, InputKinds, ModelRequest, Stop, TextDelta
from accord.apps.coder.settings.precedence import load_settings
from accord.store import MemoryStore
from benchmarks.programs.client_program import report

TOKEN = "token "


class CountingModel:
    """Streams as many tokens as it was made for."""

    name = "counting"
    input_kinds = InputKinds()
    context_size = None
    is_language_model = True

    def __init__(self, count: int) -> None:
        self.count = count

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        for _ in range(self.count):
            yield TextDelta(TOKEN)
        yield Stop("end")

    async def aclose(self) -> None: ...


def plain_agent(count: int) -> Agent:
    agent = Agent("plain", store=MemoryStore())

    @agent.prompt
    async def talk(turn: Turn) -> None:
        for _ in range(count):
            await turn.say(TOKEN)

    return agent


async def cpu_of(agent: Agent, directory: Path, count: int) -> float:
    async with Client(agent, version=1) as client:
        session = await client.new_session(cwd=directory)
        started = time.process_time()
        reply = session.prompt("Go")
        if len((await reply).text) != count * len(TOKEN):
            raise RuntimeError("not all tokens came")
        return time.process_time() - started


async def measure(count: int) -> dict[str, float]:
    with TemporaryDirectory() as name:
        directory = Path(name)

        async def open_model(_: str, __: Any) -> Any:
            return CountingModel(count)

        coder = Coder(load_settings(directory), store=MemoryStore(), open_model=open_model)
        own = await cpu_of(coder.agent, directory, count)
        plain = await cpu_of(plain_agent(count), directory, count)
        return {"seconds": max(own - plain, 0.0) / count}


if __name__ == "__main__":
    report(asyncio.run(measure(int(sys.argv[1]))))
