"""Makes `tests/fixtures/sessions-layout-1.db` with the accord that wrote layout 1: it does not run with this one.

That is the last commit before layout 2 was added:

    mkdir /tmp/old
    added=$(git log --format=%h -S'LAYOUT = 2' -- src/accord/store | tail -1)
    git archive "$added^" src | tar -x -C /tmp/old
    PYTHONPATH=/tmp/old/src python tests/store/layout_1.py tests/fixtures/sessions-layout-1.db

Session `shared` was held by two agents at the same time, prompted in turn, as two processes would: their ids count from
the same number. Session `alone` had one agent, which gave a message an id of its own and corrected it a turn later.
"""

# pyright: basic
from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Any

from accord import Agent, Client, Turn, permissions
from accord.agent import open_sessions  # type: ignore[attr-defined]  # as that commit called it
from accord.session.content import Text
from accord.session.updates import MessageAppend, MessagePatch
from accord.store import SqliteStore

PROMPTS = 10


def talker(path: Path, name: str) -> Agent:
    agent = Agent(name, store=SqliteStore(path))

    @agent.prompt
    async def talk(turn: Turn) -> None:
        await turn.think(f"{name} thinks about {turn.text}")
        async with turn.tool_call(f"{name} looks at {turn.text}", kind="read") as call:
            await call.say(f"{name} found {turn.text}")
        await turn.say(f"{name} answers ")
        await turn.say(f"{turn.text}.")
        if turn.text == "by name":
            await turn.send(MessageAppend(role="agent", id="mine", content=Text("A first try.")))
        if turn.text == "correct it":
            await turn.send(MessagePatch(role="agent", id="mine", content=[Text("Corrected.")]))
        await turn.set_title(turn.text)

    return agent


async def main(path: Path) -> None:
    agents = [talker(path, "one"), talker(path, "other")]
    names = iter(["shared", "alone"])
    open_sessions._new_id = lambda: next(names)  # type: ignore[attr-defined]
    answer: Any = permissions.allow_all
    async with Client(agents[0], on_permission=answer) as one, Client(agents[1], on_permission=answer) as other:
        first = await one.new_session(cwd=Path("/repo"))
        await first.prompt("prompt 0")
        second = await other.load_session(first.id, Path("/repo"))
        for number in range(1, PROMPTS):
            await (second if number % 2 else first).prompt(f"prompt {number}")
        alone = await one.new_session(cwd=Path("/elsewhere"))
        for text in ("by name", "correct it"):
            await alone.prompt(text)
    for agent in agents:
        assert agent.store is not None  # type: ignore[attr-defined]
        await agent.store.aclose()  # type: ignore[attr-defined]
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
