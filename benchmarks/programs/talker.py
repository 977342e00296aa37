"""An agent that sends many updates to the screen that is measured.

`stream CHUNKS CALLS` streams that much as fast as it is read; `lines LINES` sends a session of so many lines.
"""

from __future__ import annotations

import asyncio

from accord import Agent, Turn
from accord.session.entities import Diff, FileChange

__all__ = ["LAST_WORD", "LINES_EACH"]

LAST_WORD = "That-is-all."
LINES_EACH = 50
"""Lines per message of a long session."""
OLD = "".join(f"value_{number} = {number}\n" for number in range(30))
CODE = "\n\n```python\nfor x in range(3):\n    print(x)\n```\n\n"

agent = Agent("talker", version="1")


@agent.prompt
async def talk(turn: Turn) -> None:
    work, *sizes = turn.text.split()
    if work == "stream":
        await stream(turn, *map(int, sizes))
    else:
        await tell_lines(turn, int(sizes[0]))
    await turn.say(LAST_WORD)


async def stream(turn: Turn, chunks: int, calls: int) -> None:
    for number in range(calls):
        for _ in range(chunks // calls):
            await turn.say(f"word {number} of **many**, ")
        await turn.say("and so on.\n\n" if number % 10 else CODE)
        async with turn.tool_call(f"Edit file {number}", kind="edit") as call:
            new = OLD.replace(f"= {number % 30}\n", "= 0\n")
            path = str(turn.cwd / f"file{number}.py")
            await call.show(Diff(changes=[FileChange(operation="modify", path=path, old_text=OLD, new_text=new)]))
        await asyncio.sleep(0)


async def tell_lines(turn: Turn, lines: int) -> None:
    for number in range(lines // LINES_EACH):
        code = CODE if number % 4 == 0 else ""
        await turn.say(f"## Message {number}\n{code}" + "".join(f"- line {line}\n" for line in range(LINES_EACH)))
        async with turn.tool_call(f"Step {number}"):
            pass


if __name__ == "__main__":
    agent.run()
