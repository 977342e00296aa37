"""Tool calls of v2, their content, and permission requests."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from msgspec import Meta

from accord.schema.all_versions import (
    CancelledPermissionOutcome,
    PermissionOptionId,
    SelectedPermissionOutcome,
    SessionId,
    Terminal,
    TerminalId,
    ToolCallId,
)
from accord.schema.v2.content import AbsolutePath, ContentBlock, MediaType
from accord.schema.wire_values import (
    UNSET,
    Known,
    Lenient,
    LenientItems,
    Nullable,
    Open,
    UnknownVariant,
    ValidItems,
    Wire,
)

__all__ = [
    "CancelToolCallRequest",
    "CancelToolCallResponse",
    "CommandPermissionSubject",
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
    "PermissionOption",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "RequestPermissionSubject",
    "ToolCallCancelCapabilities",
    "ToolCallCapabilities",
    "ToolCallContent",
    "ToolCallContentChunk",
    "ToolCallLocation",
    "ToolCallPermissionSubject",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolCallUpdateVariant",
    "ToolKind",
]

ToolKind: TypeAlias = Annotated[
    str, Known("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
]
ToolCallStatus: TypeAlias = Annotated[
    str, Known("pending", "in_progress", "paused", "completed", "failed", "cancelled")
]
DiffFileType: TypeAlias = Annotated[str, Known("text", "binary", "directory", "symlink")]
DiffPatchFormat: TypeAlias = Annotated[str, Known("git_patch")]


class DiffPathChange(Wire):
    """A change of the file at one path; the types are those of the file after the change, or of the deleted file."""

    path: AbsolutePath
    file_type: Lenient[DiffFileType] = UNSET
    mime_type: Lenient[MediaType] = UNSET


class DiffPathPairChange(DiffPathChange, kw_only=True):
    """A change with an old and a new path."""

    old_path: AbsolutePath


class DiffAdd(DiffPathChange, tag_field="operation", tag="add"):
    """A new file."""


class DiffDelete(DiffPathChange, tag_field="operation", tag="delete"):
    """A deleted file."""


class DiffModify(DiffPathChange, tag_field="operation", tag="modify"):
    """A file with new contents."""


class DiffMove(DiffPathPairChange, tag_field="operation", tag="move"):
    """A file with a new path."""


class DiffCopy(DiffPathPairChange, tag_field="operation", tag="copy"):
    """A copy of a file."""


class _OtherChange(Wire):
    file_type: Lenient[DiffFileType] = UNSET
    mime_type: Lenient[MediaType] = UNSET


DiffChange: TypeAlias = Annotated[
    Open[Union[DiffAdd, DiffDelete, DiffModify, DiffMove, DiffCopy]], UnknownVariant(_OtherChange)
]


class DiffPatch(Wire):
    """The change, line by line."""

    format: DiffPatchFormat
    text: str


class Content(Wire, tag_field="type", tag="content"):
    """A content block as the result of a tool."""

    content: ContentBlock


class Diff(Wire, tag_field="type", tag="diff"):
    """Changed files; `changes` is authoritative, the patch is only for display."""

    changes: ValidItems[DiffChange]
    patch: Lenient[DiffPatch] = UNSET


ToolCallContent: TypeAlias = Open[Union[Content, Diff, Terminal]]


class ToolCallLocation(Wire):
    """A file, and a line counted from 1, that the tool works on."""

    path: AbsolutePath
    line: Lenient[Annotated[int, Meta(ge=1, le=2**32 - 1)]] = UNSET


class ToolCallCancelCapabilities(Wire):
    """`tool_call/cancel` is supported for this tool call while this is present."""


class ToolCallCapabilities(Wire):
    """The requests that a tool call supports."""

    cancel: Lenient[ToolCallCancelCapabilities] = UNSET


class ToolCallUpdate(Wire):
    """Creates or changes a tool call: a missing member is unchanged, null clears it, a value replaces it."""

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
    """Appends one item to the content of a tool call."""

    tool_call_id: ToolCallId
    content: ToolCallContent


class CancelToolCallRequest(Wire):
    """Params of `tool_call/cancel`: stop one tool call and nothing else."""

    session_id: SessionId
    tool_call_id: ToolCallId


class CancelToolCallResponse(Wire):
    """Result of `tool_call/cancel`: the agent will stop it; the final status reports that it has ended."""


PermissionOptionKind: TypeAlias = Annotated[str, Known("allow_once", "allow_always", "reject_once", "reject_always")]


class ToolCallPermissionSubject(Wire, tag_field="type", tag="tool_call"):
    """Permission for a tool call; its members change the tool call as an update does."""

    tool_call: ToolCallUpdate


class CommandPermissionSubject(Wire, tag_field="type", tag="command"):
    """Permission for a command that the agent wants to run."""

    command: str
    cwd: AbsolutePath
    tool_call_id: Lenient[ToolCallId] = UNSET
    terminal_id: Lenient[TerminalId] = UNSET


RequestPermissionSubject: TypeAlias = Open[Union[ToolCallPermissionSubject, CommandPermissionSubject]]


class PermissionOption(Wire):
    """An option to select; `kind` is only a hint for its display."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(Wire):
    """Params of `session/request_permission`; `title` is the question, not the title of a tool call."""

    session_id: SessionId
    title: str
    options: Annotated[list[PermissionOption], Meta(min_length=1)]
    description: Lenient[str] = UNSET
    subject: Nullable[RequestPermissionSubject] = UNSET


RequestPermissionOutcome: TypeAlias = Open[Union[SelectedPermissionOutcome, CancelledPermissionOutcome]]
"""An unknown outcome is never an approval."""


class RequestPermissionResponse(Wire):
    """Result of `session/request_permission`."""

    outcome: RequestPermissionOutcome
