"""Agents of ours to be tested with what is tested here."""

from __future__ import annotations

import pytest

from accord import Agent, Turn


@pytest.fixture
def echo() -> Agent:
    """Says what it hears; `hang` waits for a cancel, `ask` wants a permission, `fail` fails."""
    agent = Agent("echo", "1.0", merge_seconds=0.0)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        if turn.text == "hang":
            await turn.say("Hanging")
            import asyncio

            await asyncio.Event().wait()
        if turn.text == "ask":
            async with turn.tool_call("Sweep", kind="delete") as call:
                await turn.say("Yes" if await turn.allowed(call) else "No")
            return
        if turn.text == "fail":
            raise RuntimeError("out of coffee")
        for word in turn.text.split():
            await turn.say(f"{word} ")

    return agent
