"""Names for the strings that stand for things; only a path has a form that means something."""

from __future__ import annotations

from typing import TypeAlias, Union

from accord.schema.values import Int64

__all__ = [
    "AbsolutePath",
    "AuthMethodId",
    "CompactionId",
    "ElicitationId",
    "MessageId",
    "PermissionOptionId",
    "PlanId",
    "RequestId",
    "SessionConfigGroupId",
    "SessionConfigId",
    "SessionConfigValueId",
    "SessionId",
    "TerminalId",
    "ToolCallId",
]

AbsolutePath: TypeAlias = str
"""A path in the syntax of the agent's system; that it is absolute is checked where it is used."""

AuthMethodId: TypeAlias = str
CompactionId: TypeAlias = str
ElicitationId: TypeAlias = str
PermissionOptionId: TypeAlias = str
PlanId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionId: TypeAlias = str
TerminalId: TypeAlias = str
ToolCallId: TypeAlias = str

MessageId: TypeAlias = str
"""Unique among the messages of its kind: a user message and a thought may have the same."""

RequestId: TypeAlias = Union[Int64, str]
"""The id of a JSON-RPC request, where a payload refers to one."""
