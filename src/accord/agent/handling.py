"""Who answers a turn: the handler of a slash command, or that of prompts; plain functions get a thread."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from accord.agent.syncing import in_thread
from accord.agent.turn import Turn
from accord.session.content import Content, Text
from accord.session.requests import Prompt

if TYPE_CHECKING:
    from accord.agent.app import Agent
    from accord.agent.registered import Handler, OfferedCommand

__all__ = ["handle", "is_command"]


async def handle(agent: Agent, turn: Turn) -> Any:
    """Call whoever the turn is for; their result is the stop reason."""
    handler = _handler(agent, turn)
    if turn.session.connecting is not None:
        await asyncio.wait([turn.session.connecting])
    if inspect.iscoroutinefunction(handler):
        return await handler(turn)
    return await in_thread(handler, turn)


def is_command(agent: Agent, asked: Prompt) -> bool:
    """Whether a prompt calls one of the agent's slash commands."""
    return _called(agent, asked.content) is not None


def _called(agent: Agent, content: list[Content]) -> tuple[OfferedCommand, str] | None:
    """The slash command that a prompt begins with, and what stands behind it."""
    first = next((block.text for block in content if type(block) is Text), "")
    if not first.startswith("/"):  # CMD-08
        return None
    name, _, arguments = first[1:].partition(" ")
    offered = agent.commands.get(name.strip())
    return None if offered is None else (offered, arguments.strip())


def _handler(agent: Agent, turn: Turn) -> Handler:
    called = _called(agent, turn.content)
    if called is not None:
        offered, turn.arguments = called
        turn.command = offered.command.name
        return offered.handler
    if agent.prompt_handler is None:
        raise TypeError(f"the agent {agent.info.name!r} has no prompt handler: register one with @agent.prompt")
    return agent.prompt_handler
