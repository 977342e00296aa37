"""Mistakes that authors of agents make: each gets a sentence that says what to write."""

# pyright: reportUnnecessaryComparison=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from accord import Agent, Client, Turn, permissions


async def mistake(make: Callable[[Turn], Awaitable[Any]], **options: Any) -> str:
    """What the handler is told."""
    agent, messages = Agent("clumsy", version="1.0"), list[str]()

    @agent.prompt
    async def answer(turn: Turn) -> None:
        try:
            await make(turn)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is looked at
            messages.append(f"{type(error).__name__}: {error}")

    async with Client(agent, on_permission=permissions.allow_all, **options) as client:
        await (await client.new_session(cwd=".")).prompt("Go")
    [message] = messages
    return message


@pytest.mark.parametrize(
    ("spelling", "call"),
    [
        ("turn.allowed", lambda turn: turn.allowed("May I?")),
        ("turn.ask", lambda turn: turn.ask("Which?", {})),
        ("turn.ask_to_open", lambda turn: turn.ask_to_open("Log in", "https://example.com", "1")),
        ("turn.files.read", lambda turn: turn.files.read("notes.md")),
        ("turn.run", lambda turn: turn.run("true")),
        ("turn.next_prompt", lambda turn: turn.next_prompt()),
        ("turn.servers", lambda turn: turn.servers()),
        ("turn.client.request", lambda turn: turn.client.request("_acme/x")),
    ],
)
async def test_a_forgotten_await_is_not_a_yes(spelling: str, call: Callable[[Turn], Any]):
    async def decide(turn: Turn) -> None:
        if call(turn):
            raise AssertionError("taken for a yes")

    assert await mistake(decide) == (
        f"TypeError: {spelling}(...) has no result until it is awaited: write `await {spelling}(...)`"
    )
