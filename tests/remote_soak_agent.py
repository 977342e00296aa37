"""The agent of `remote_soak`: counts as far as the prompt says. Its version is its process id."""

from __future__ import annotations

import os

from accord import Agent, Turn

agent = Agent("soak", version=str(os.getpid()), merge_seconds=0.0)


@agent.prompt
async def count(turn: Turn) -> None:
    for number in range(int(turn.text)):
        await turn.say(f"{number} ")


if __name__ == "__main__":
    agent.run(http="127.0.0.1:0")
