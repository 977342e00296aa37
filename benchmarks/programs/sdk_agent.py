"""accord's agent as an author writes it: `Agent` and `Turn`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from accord import Agent, Turn
from accord.store import SqliteStore
from benchmarks.programs.payloads import (
    AGENT_NAME,
    MODE_ID,
    TOOL_CALL_ID,
    is_tool_update,
    read_order,
    text_of,
    tool_title,
)

STORES = [Path(argument.partition("=")[2]) for argument in sys.argv if argument.startswith("--store=")]

agent = Agent(AGENT_NAME, version=str(os.getpid()), merge_seconds=0, store=SqliteStore(STORES[0]) if STORES else None)
agent.option("mode", choices=[MODE_ID, "code"])


@agent.prompt
async def take_turn(turn: Turn) -> None:
    count, size, tool_every = read_order(turn.text)
    text = text_of(size)
    if not tool_every:
        for _ in range(count):
            await turn.say(text)
        return
    async with turn.tool_call("Work", id=f"{TOOL_CALL_ID}_{len(turn.session.transcript.tool_calls)}") as call:
        for number in range(count):
            if is_tool_update(number, tool_every):
                await call.update(title=tool_title(number))
            else:
                await turn.say(text)


if __name__ == "__main__":
    agent.run(http="127.0.0.1:0" if "--http" in sys.argv else None)
