"""Changes as short lines, for tests of what came in which order."""

from __future__ import annotations

from typing import assert_never

from accord.session.entities import ContentItem, Diff, TerminalItem, ToolCallItem
from accord.session.content import Text
from accord.session.updates import (
    Change,
    CommandsChanged,
    CompactionChanged,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    PlanChanged,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolCallChanged,
    UnknownUpdate,
    UsageChanged,
)

__all__ = ["described", "shown"]


def described(change: Change) -> str:
    match change:
        case MessageChunk():
            return f"{change.role}: {change.text}"
        case MessageChanged():
            return f"{change.message.role} is: {change.message.text}"
        case ToolCallChanged(call=call):
            return " ".join([call.id, call.status, *map(shown, call.content)])
        case TerminalChanged(terminal=terminal):
            return f"{terminal.id} {'runs' if terminal.exit is None else 'ended'}"
        case TerminalOutput(terminal=terminal, data=data):
            return f"{terminal.id} writes {len(data)}"
        case PlanChanged(plan=plan):
            return " ".join([f"plan {plan.id}", *(entry.status for entry in plan.entries)])
        case CommandsChanged(commands=commands):
            return " ".join(["commands", *(command.name for command in commands)])
        case OptionsChanged(options=options):
            return " ".join(["options", *(f"{option.id}={option.value}" for option in options)])
        case ModeChanged(mode_id=mode_id):
            return f"mode {mode_id}"
        case InfoChanged(info=info):
            return f"title {info.title}"
        case UsageChanged(usage=usage):
            return f"usage {usage.used} of {usage.size}"
        case NoticeShown(notice=notice):
            return f"notice {notice.title}"
        case CompactionChanged(compaction=compaction):
            return f"compaction {compaction.status}"
        case StateChanged(state=state):
            return f"{state.state} {state.stop_reason or ''}".strip()
        case UnknownUpdate(patch=patch):
            return f"unknown {patch.tag}"
        case _:
            assert_never(change)


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
