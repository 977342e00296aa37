"""Names for the strings that identify things; nothing may be read into their form."""

from __future__ import annotations

from typing import TypeAlias, Union

from accord.schema.wire_values import Int64

__all__ = [
    "AuthMethodId",
    "CompactionId",
    "ElicitationId",
    "MessageId",
    "ModelId",
    "PermissionOptionId",
    "RequestId",
    "SessionConfigGroupId",
    "SessionConfigId",
    "SessionConfigValueId",
    "SessionId",
    "SessionModeId",
    "TerminalId",
    "ToolCallId",
]

AuthMethodId: TypeAlias = str
CompactionId: TypeAlias = str
ElicitationId: TypeAlias = str
MessageId: TypeAlias = str
ModelId: TypeAlias = str
PermissionOptionId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionId: TypeAlias = str
SessionModeId: TypeAlias = str
TerminalId: TypeAlias = str
ToolCallId: TypeAlias = str

RequestId: TypeAlias = Union[Int64, str, None]
"""The id of a JSON-RPC request, where a payload refers to one; `null` is an id too."""
