"""Slash commands: chooses the handler of a turn, that of a command or that of prompts. Plain functions run in a thread."""

from __future__ import annotations

import inspect
from typing import Any

from accord.agent.definition import AgentDefinition, CommandDefinition, Handler
from accord.agent.sync_turn import run_in_thread
from accord.agent.turn import Turn, TurnState
from accord.errors import TurnStopped
from accord.session.content import Content, Text


async def handle(definition: AgentDefinition, state: TurnState) -> Any:
    """Call the handler of a turn; its result is the stop reason."""
    handler = _handler(definition, state)
    turn = Turn(state)
    await _report_unusable_servers(turn, state)
    try:
        result = await (handler(turn) if inspect.iscoroutinefunction(handler) else run_in_thread(handler, turn, state))
    except TurnStopped:
        await _report_unusable_servers(turn, state)
        raise
    await _report_unusable_servers(turn, state)  # those that failed meanwhile: it may be the session's last turn
    return result


async def _report_unusable_servers(turn: Turn, state: TurnState) -> None:
    if not state.is_cancelled:
        await state.servers.report_unusable(turn.tool_call, shows_notices=turn.client.capabilities.notices)


def is_command(definition: AgentDefinition, content: list[Content]) -> bool:
    """Whether a prompt calls one of the agent's slash commands."""
    return _find_command(definition, content) is not None


def _find_command(definition: AgentDefinition, content: list[Content]) -> tuple[CommandDefinition, str] | None:
    """The slash command that the last text begins with, or else the first text, and its arguments."""
    texts = [block.text for block in content if type(block) is Text]
    for text in (*texts[-1:], *texts[:1]):
        if text.startswith("/"):  # CMD-08
            word, *rest = text.split(maxsplit=1)  # any white space ends a name: names have none of any kind
            command = definition.commands.get(word[1:])
            if command is not None:
                return command, "".join(rest).strip()
    return None


def _handler(definition: AgentDefinition, state: TurnState) -> Handler:
    found = _find_command(definition, state.new_content)
    if found is not None:
        definition_of_command, state.arguments = found
        state.command = definition_of_command.command.name
        return definition_of_command.handler
    if definition.prompt_handler is None:
        raise TypeError(f"the agent {definition.info.name!r} has no prompt handler: register one with @agent.prompt")
    return definition.prompt_handler
