"""The smallest agent: it says what it was told. Have an editor run it: python echo_agent.py"""

from __future__ import annotations

from accord import Agent, Turn

agent = Agent("echo", version="1.0")


@agent.prompt
async def echo(turn: Turn) -> None:
    await turn.say(turn.text)


if __name__ == "__main__":
    agent.run()
