"""Identifiers of v2, and open unions that have one variant so far.

msgspec asks for the tag only where it has two types to choose from: a union of one would take an object without a tag,
or any object at all where no member is required. `OpenOne` adds a second type that no message can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar, Union

from accord.schema.wire_values import OPEN, Int64, Unknown, Wire

__all__ = [
    "AbsolutePath",
    "AuthMethodId",
    "CompactionId",
    "ElicitationId",
    "MessageId",
    "OpenOne",
    "PermissionOptionId",
    "PlanId",
    "RequestId",
    "SessionConfigGroupId",
    "SessionConfigId",
    "SessionConfigValueId",
    "SessionId",
    "TerminalId",
    "ToolCallId",
    "Untagged",
]

T = TypeVar("T")


class Untagged(Wire, tag_field="type", tag=""):
    """Nothing decodes to it and nothing can make one."""

    def __post_init__(self) -> None:
        raise ValueError("`type` is empty")


if TYPE_CHECKING:
    OpenOne: TypeAlias = Union[T, Unknown]
else:
    OpenOne = Annotated[Union[T, Untagged], OPEN]

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
