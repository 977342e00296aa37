"""Checked by pyright and mypy, never run: what `accord` exports is enough to match every update and every block of content."""

from __future__ import annotations

from typing import assert_never

from accord import (
    Audio,
    CommandsChanged,
    CompactionChanged,
    Content,
    Image,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    PlanChanged,
    PromptChanged,
    Reply,
    Resource,
    ResourceLink,
    SessionUpdate,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    Text,
    ToolCallChanged,
    Unknown,
    UnknownUpdate,
    Update,
    UsageChanged,
)


def match_update(update: Update) -> None:
    match update:
        case MessageChunk() | MessageChanged() | PromptChanged() | ToolCallChanged() | TerminalChanged():
            pass
        case TerminalOutput() | PlanChanged() | CommandsChanged() | OptionsChanged() | ModeChanged() | InfoChanged():
            pass
        case UsageChanged() | NoticeShown() | CompactionChanged() | StateChanged() | UnknownUpdate():
            pass
        case _:
            assert_never(update)


def match_content(block: Content) -> None:
    match block:
        case Text() | Image() | Audio() | Resource() | ResourceLink() | Unknown():
            pass
        case _:
            assert_never(block)


async def replies_and_callbacks_give_updates(reply: Reply, late: SessionUpdate) -> None:
    async for update in reply:
        match_update(update)
    match_update(late.update)
