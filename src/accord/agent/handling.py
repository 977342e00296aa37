"""Who answers a turn: the handler of a slash command, or that of prompts; plain functions get a thread."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from accord.agent.syncing import in_thread
from accord.agent.turn import Turn
from accord.session.content import Text

if TYPE_CHECKING:
    from accord.agent.app import Agent
    from accord.agent.registered import Handler

__all__ = ["handle"]


async def handle(agent: Agent, turn: Turn) -> Any:
    """Call whoever the turn is for; their result is the stop reason."""
    handler = _handler(agent, turn)
    if turn.session.connecting is not None:
        await asyncio.wait([turn.session.connecting])
    if inspect.iscoroutinefunction(handler):
        return await handler(turn)
    return await in_thread(handler, turn)


def _handler(agent: Agent, turn: Turn) -> Handler:
    first = next((block.text for block in turn.content if type(block) is Text), "")
    if first.startswith("/"):  # CMD-08
        name, _, arguments = first[1:].partition(" ")
        offered = agent.commands.get(name.strip())
        if offered is not None:
            turn.command, turn.arguments = offered.command.name, arguments.strip()
            return offered.handler
    if agent.prompt_handler is None:
        raise TypeError(f"the agent {agent.info.name!r} has no prompt handler: register one with @agent.prompt")
    return agent.prompt_handler
