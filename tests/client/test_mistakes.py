"""Mistakes that authors of clients make: each gets a sentence that says what to write."""

# pyright: reportUnnecessaryComparison=false, reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

import pytest

from accord import Agent, Client, Turn

agent = Agent("echo", version="1.0")


@agent.prompt
async def echo(turn: Turn) -> None:
    await turn.say(turn.text)


async def test_a_reply_that_is_not_awaited_is_not_true():
    async with Client(agent) as client:
        reply = (await client.new_session(cwd=".")).prompt("Hello")
        with pytest.raises(TypeError, match=r"write `await session\.prompt\(\.\.\.\)`"):
            bool(reply)
        assert (await reply).text == "Hello"


async def test_a_session_that_is_not_awaited_cannot_be_prompted():
    async with Client(agent) as client:
        session = client.new_session(cwd=".")
        with pytest.raises(AttributeError, match=r"write `await client\.new_session\(\.\.\.\)`"):
            session.prompt("Hello")
        session.close()
