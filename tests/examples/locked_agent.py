"""An agent that asks for everything a client may be asked for: a login, files, a terminal, patience; then it can be stopped."""

from __future__ import annotations

import asyncio
import sys

from accord import Agent, Turn

agent = Agent("locked", version="1.0", logged_in="open" in sys.argv)


@agent.login("key", name="With a key")
async def login(client: object) -> None:
    return


@agent.prompt
async def work(turn: Turn) -> None:
    await turn.plan(["Look", "Wait"])
    async with turn.tool_call("Look around", kind="execute") as call:
        if await turn.allowed(call):
            ran = await turn.run(sys.executable, "-c", "print('inside')", call=call)
            await turn.files.write("seen.txt", ran.output)
    await turn.say("Waiting")
    if turn.text == "wait":
        await asyncio.Event().wait()


if __name__ == "__main__":
    agent.run()
