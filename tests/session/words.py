"""Short ways to write reports, for the tests of the session layer."""

from __future__ import annotations

from typing import Any

from accord.session.content import Content, Text
from accord.session.entities import ContentItem, ToolCallItem
from accord.session.updates import MessageAppend, MessagePatch, Patch, ToolCallAppend
from accord.session.value import UNSET


def piece(content: str | Content, role: str = "agent", id: str | None = None, **rest: Any) -> MessageAppend:
    return MessageAppend(role=role, id=id, content=Text(content) if isinstance(content, str) else content, **rest)


def whole(*texts: str, role: str = "agent", id: str | None = "m", **rest: Any) -> MessagePatch:
    return MessagePatch(role=role, id=id, content=[Text(text) for text in texts], **rest)


def patch(role: str = "agent", id: str | None = "m", content: Any = UNSET, **rest: Any) -> MessagePatch:
    return MessagePatch(role=role, id=id, content=content, **rest)


def item(text: str) -> ToolCallItem:
    return ContentItem(Text(text))


def tool_piece(text: str, id: str = "c") -> ToolCallAppend:
    return ToolCallAppend(id=id, item=item(text))


def texts(blocks: Any) -> list[str]:
    """The texts of blocks, or of blocks inside a tool call's items."""
    inner: list[Any] = [block.content if isinstance(block, ContentItem) else block for block in blocks]
    return [block.text for block in inner]


def apply_all(transcript: Any, *reports: Patch) -> list[Any]:
    return [transcript.apply(report) for report in reports]
