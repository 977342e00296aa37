"""Who answers a turn: the handler of a slash command, or that of prompts; plain functions get a thread."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from accord.agent.session_servers import show_unusable
from accord.agent.sessions import Session
from accord.agent.syncing import in_thread
from accord.agent.turn import Turn
from accord.errors import TurnStopped
from accord.session.content import Content, Text, newest_of
from accord.session.requests import Prompt

if TYPE_CHECKING:
    from accord.agent.app import Agent
    from accord.agent.registered import Handler, OfferedCommand

__all__ = ["handle", "is_command"]


async def handle(agent: Agent, turn: Turn) -> Any:
    """Call whoever the turn is for; their result is the stop reason."""
    handler = _handler(agent, turn)
    await show_unusable(turn)
    try:
        result = await (handler(turn) if inspect.iscoroutinefunction(handler) else in_thread(handler, turn))
    except TurnStopped:
        await _show_failed_meanwhile(turn)
        raise
    await _show_failed_meanwhile(turn)
    return result


async def _show_failed_meanwhile(turn: Turn) -> None:
    """The turn did not wait for the servers, and it may be the last one of the session."""
    if not turn.is_cancelled:
        await show_unusable(turn)


def is_command(agent: Agent, session: Session, asked: Prompt) -> bool:
    """Whether a prompt calls one of the agent's slash commands."""
    return _called(agent, newest_of(asked.content, session.cancelled_content)) is not None


def _called(agent: Agent, content: list[Content]) -> tuple[OfferedCommand, str] | None:
    """The slash command that the last text begins with, or else the first, and what stands behind it."""
    texts = [block.text for block in content if type(block) is Text]
    for text in (*texts[-1:], *texts[:1]):
        if text.startswith("/"):  # CMD-08
            word, *rest = text.split(maxsplit=1)  # a name has no white space of any kind, so any kind ends it
            offered = agent.commands.get(word[1:])
            if offered is not None:
                return offered, "".join(rest).strip()
    return None


def _handler(agent: Agent, turn: Turn) -> Handler:
    called = _called(agent, turn.new_content)
    if called is not None:
        offered, turn.arguments = called
        turn.command = offered.command.name
        return offered.handler
    if agent.prompt_handler is None:
        raise TypeError(f"the agent {agent.info.name!r} has no prompt handler: register one with @agent.prompt")
    return agent.prompt_handler
