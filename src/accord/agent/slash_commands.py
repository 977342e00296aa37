"""Slash commands: which handler answers a turn, that of a command or that of prompts. Plain functions get a thread."""

from __future__ import annotations

import inspect
from typing import Any

from accord.agent.definition import AgentDefinition, CommandDefinition, Handler
from accord.agent.session import AgentSession
from accord.agent.sync_turn import in_thread
from accord.agent.turn import Turn
from accord.errors import TurnStopped
from accord.session.content import Content, Text, drop_repeated
from accord.session.requests import Prompt

__all__ = ["handle", "is_command"]


async def handle(definition: AgentDefinition, turn: Turn) -> Any:
    """Call whoever the turn is for; their result is the stop reason."""
    handler = _handler(definition, turn)
    await _show_unusable_servers(turn)
    try:
        result = await (handler(turn) if inspect.iscoroutinefunction(handler) else in_thread(handler, turn))
    except TurnStopped:
        await _show_unusable_servers(turn)
        raise
    await _show_unusable_servers(turn)  # the turn did not wait for them, and it may be the last one of the session
    return result


async def _show_unusable_servers(turn: Turn) -> None:
    if not turn.is_cancelled:
        await turn.session.mcp_servers.show_unusable(turn.tool_call, shows_notices=turn.client.capabilities.notices)


def is_command(definition: AgentDefinition, session: AgentSession, asked: Prompt) -> bool:
    """Whether a prompt calls one of the agent's slash commands."""
    return _called(definition, drop_repeated(asked.content, session.cancelled_content)) is not None


def _called(definition: AgentDefinition, content: list[Content]) -> tuple[CommandDefinition, str] | None:
    """The slash command that the last text begins with, or else the first, and what stands behind it."""
    texts = [block.text for block in content if type(block) is Text]
    for text in (*texts[-1:], *texts[:1]):
        if text.startswith("/"):  # CMD-08
            word, *rest = text.split(maxsplit=1)  # a name has no white space of any kind, so any kind ends it
            offered = definition.commands.get(word[1:])
            if offered is not None:
                return offered, "".join(rest).strip()
    return None


def _handler(definition: AgentDefinition, turn: Turn) -> Handler:
    called = _called(definition, turn.new_content)
    if called is not None:
        offered, turn.arguments = called
        turn.command = offered.command.name
        return offered.handler
    if definition.prompt_handler is None:
        raise TypeError(f"the agent {definition.info.name!r} has no prompt handler: register one with @agent.prompt")
    return definition.prompt_handler
