"""Changes and transcripts in short, for tests of what came in which order, and of whether two sides agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.session.content import Text
from accord.session.entities import ContentItem, Diff, TerminalItem, ToolCallItem
from accord.session.transcript import Transcript
from accord.session.updates import (
    CommandsChanged,
    CompactionChanged,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    PlanChanged,
    PromptChanged,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolCallChanged,
    UnknownUpdate,
    Update,
    UsageChanged,
)

__all__ = ["described", "told"]


LINES: dict[type[Any], Callable[[Any], str]] = {
    MessageChunk: lambda it: f"{it.role}: {it.text}",
    MessageChanged: lambda it: f"{it.message.role} is: {it.message.text}",
    PromptChanged: lambda it: f"{it.message.role} is: {it.message.text}",
    ToolCallChanged: lambda it: " ".join([it.call.id, it.call.status, *map(shown, it.call.content)]),
    TerminalChanged: lambda it: f"{it.terminal.id} {'runs' if it.terminal.exit is None else 'ended'}",
    TerminalOutput: lambda it: f"{it.terminal.id} writes {len(it.data)}",
    PlanChanged: lambda it: " ".join([f"plan {it.plan.id}", *(entry.status for entry in it.plan.entries)]),
    CommandsChanged: lambda it: " ".join(["commands", *(command.name for command in it.commands)]),
    OptionsChanged: lambda it: " ".join(["options", *(f"{option.id}={option.value}" for option in it.options)]),
    ModeChanged: lambda it: f"mode {it.mode_id}",
    InfoChanged: lambda it: f"title {it.info.title}",
    UsageChanged: lambda it: f"usage {it.usage.used} of {it.usage.size}",
    NoticeShown: lambda it: f"notice {it.notice.title}",
    CompactionChanged: lambda it: f"compaction {it.compaction.status}",
    StateChanged: lambda it: f"{it.state.state} {it.state.stop_reason or ''}".strip(),
    UnknownUpdate: lambda it: f"unknown {it.patch.tag}",
}


def described(change: Update) -> str:
    return LINES[type(change)](change)


def shown(item: ToolCallItem) -> str:
    match item:
        case ContentItem(content=Text(text=text)):
            return f"[{text}]"
        case Diff(changes=changes):
            return f"[{' '.join(f'{each.operation} {each.path}' for each in changes)}]"
        case TerminalItem(terminal_id=terminal_id):
            return f"[{terminal_id}]"
        case _:
            return "[?]"


def told(transcript: Transcript) -> dict[str, Any]:
    """The story that a transcript tells, as a JSON value."""
    return {
        "messages": [[message.role, message.text] for message in transcript.messages.values()],
        "calls": [
            [call.id, call.title, call.kind, call.status, call.raw_output, *map(shown, call.content)]
            for call in transcript.tool_calls.values()
        ],
        "plans": [
            [plan.id, *([entry.content, entry.priority, entry.status] for entry in plan.entries)]
            for plan in transcript.plans.values()
        ],
        "terminals": [[terminal.id, terminal.text] for terminal in transcript.terminals.values()],
        "title": transcript.info.title,
        "options": [[option.id, option.value] for option in transcript.options],
        "commands": [command.name for command in transcript.commands],
    }
