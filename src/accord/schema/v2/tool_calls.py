"""Tool calls and what they produce."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from msgspec import Meta

from accord.schema.v2.content import ContentBlock, MediaType
from accord.schema.v2.identifiers import AbsolutePath, SessionId, TerminalId, ToolCallId
from accord.schema.wire_values import UNSET, Known, Lenient, LenientItems, Open, Others, ValidItems, Wire

__all__ = [
    "CancelToolCallRequest",
    "CancelToolCallResponse",
    "Content",
    "Diff",
    "DiffAdd",
    "DiffChange",
    "DiffCopy",
    "DiffDelete",
    "DiffFileType",
    "DiffModify",
    "DiffMove",
    "DiffPatch",
    "DiffPatchFormat",
    "DiffPathChange",
    "DiffPathPairChange",
    "Terminal",
    "ToolCallCancelCapabilities",
    "ToolCallCapabilities",
    "ToolCallContent",
    "ToolCallContentChunk",
    "ToolCallLocation",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolCallUpdateVariant",
    "ToolKind",
]

ToolKind: TypeAlias = Annotated[
    str,
    Known("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"),
]
ToolCallStatus: TypeAlias = Annotated[
    str, Known("pending", "in_progress", "paused", "completed", "failed", "cancelled")
]
DiffFileType: TypeAlias = Annotated[str, Known("text", "binary", "directory", "symlink")]
DiffPatchFormat: TypeAlias = Annotated[str, Known("git_patch")]


class DiffPathChange(Wire):
    """A change to the file at one path; type and media type are those of the file after it, or of the deleted one."""

    path: AbsolutePath
    file_type: Lenient[DiffFileType] = UNSET
    mime_type: Lenient[MediaType] = UNSET


class DiffPathPairChange(DiffPathChange, kw_only=True):
    """A change that leads from one path to another."""

    old_path: AbsolutePath


class DiffAdd(DiffPathChange, tag_field="operation", tag="add"):
    """A new file."""


class DiffDelete(DiffPathChange, tag_field="operation", tag="delete"):
    """A file is gone."""


class DiffModify(DiffPathChange, tag_field="operation", tag="modify"):
    """A file has other contents."""


class DiffMove(DiffPathPairChange, tag_field="operation", tag="move"):
    """A file has another path."""


class DiffCopy(DiffPathPairChange, tag_field="operation", tag="copy"):
    """A file is there twice."""


class _OtherChange(Wire):
    file_type: Lenient[DiffFileType] = UNSET
    mime_type: Lenient[MediaType] = UNSET


DiffChange: TypeAlias = Annotated[
    Open[Union[DiffAdd, DiffDelete, DiffModify, DiffMove, DiffCopy]], Others(_OtherChange)
]


class DiffPatch(Wire):
    """The change line by line."""

    format: DiffPatchFormat
    text: str


class Content(Wire, tag_field="type", tag="content"):
    """A content block as the result of a tool."""

    content: ContentBlock


class Diff(Wire, tag_field="type", tag="diff"):
    """Changed files: `changes` is what counts, the patch only shows it."""

    changes: ValidItems[DiffChange]
    patch: Lenient[DiffPatch] = UNSET


class Terminal(Wire, tag_field="type", tag="terminal"):
    """A terminal to show here; its state may come before or after."""

    terminal_id: TerminalId


ToolCallContent: TypeAlias = Open[Union[Content, Diff, Terminal]]


class ToolCallLocation(Wire):
    """A file, and a line counted from 1, that the tool works on."""

    path: AbsolutePath
    line: Lenient[Annotated[int, Meta(ge=1, le=2**32 - 1)]] = UNSET


class ToolCallCancelCapabilities(Wire):
    """`tool_call/cancel` works for this call, as long as this is there."""


class ToolCallCapabilities(Wire):
    """What a client can do to a tool call."""

    cancel: Lenient[ToolCallCancelCapabilities] = UNSET


class ToolCallUpdate(Wire):
    """A tool call is new or has changed: a member left out stays, null clears, a value replaces."""

    tool_call_id: ToolCallId
    name: Lenient[str] = UNSET
    title: Lenient[str] = UNSET
    kind: Lenient[ToolKind] = UNSET
    status: Lenient[ToolCallStatus] = UNSET
    content: LenientItems[ToolCallContent] = UNSET
    locations: LenientItems[ToolCallLocation] = UNSET
    raw_input: Lenient[Any] = UNSET
    raw_output: Lenient[Any] = UNSET
    capabilities: Lenient[ToolCallCapabilities] = UNSET


class ToolCallUpdateVariant(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """A `ToolCallUpdate` as a session update."""


class ToolCallContentChunk(Wire, tag_field="sessionUpdate", tag="tool_call_content_chunk"):
    """One more item of content, after those the call has."""

    tool_call_id: ToolCallId
    content: ToolCallContent


class CancelToolCallRequest(Wire):
    """Stop one tool call and leave the rest running."""

    session_id: SessionId
    tool_call_id: ToolCallId


class CancelToolCallResponse(Wire):
    """The agent will stop it; a final status proves that it did."""
