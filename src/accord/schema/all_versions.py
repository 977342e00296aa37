"""Types that v1 and v2 define alike, each defined once.

v1 and v2 import this module and never each other, so only the schema of the negotiated version is loaded.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from accord.schema.handshake import (
    AuthMethodId,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationUrlCapabilities,
    EnvVariable,
    Implementation,
    ProtocolVersion,
    SessionAdditionalDirectoriesCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionId,
)
from accord.schema.wire_values import UNSET, Int64, Known, Lenient, Nullable, UInt64, Wire, check_uint64

__all__ = [
    "AuthMethodId",
    "BooleanPropertySchema",
    "CancelledPermissionOutcome",
    "CloseSessionRequest",
    "CloseSessionResponse",
    "CompactionId",
    "CompactionStatus",
    "CompleteElicitationNotification",
    "Cost",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "ElicitationCancelAction",
    "ElicitationCapabilities",
    "ElicitationDeclineAction",
    "ElicitationFormCapabilities",
    "ElicitationId",
    "ElicitationUrlCapabilities",
    "EnumOption",
    "EnvVariable",
    "HttpHeader",
    "Implementation",
    "IntegerPropertySchema",
    "MessageId",
    "MultiSelectItemsType",
    "Notice",
    "NoticeSeverity",
    "NumberPropertySchema",
    "PermissionOptionId",
    "ProtocolVersion",
    "SelectedPermissionOutcome",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionConfigGroupId",
    "SessionConfigId",
    "SessionConfigOptionCategory",
    "SessionConfigSelectOption",
    "SessionConfigValueId",
    "SessionDeleteCapabilities",
    "SessionForkCapabilities",
    "SessionId",
    "SessionInfoUpdate",
    "Terminal",
    "TerminalId",
    "ToolCallId",
    "Usage",
    "UsageUpdate",
]

CompactionId: TypeAlias = str
ElicitationId: TypeAlias = str
MessageId: TypeAlias = str
PermissionOptionId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
TerminalId: TypeAlias = str
ToolCallId: TypeAlias = str


class HttpHeader(Wire):
    """A header that is sent with every request to the server."""

    name: str
    value: str


SessionConfigOptionCategory: TypeAlias = Annotated[
    str, Known("mode", "model", "model_config", "thought_level", free=True)
]
"""A hint where to show the option; only the display depends on it."""


class SessionConfigSelectOption(Wire):
    """A value of a select."""

    value: SessionConfigValueId
    name: str
    description: Lenient[str] = UNSET


class Usage(Wire):
    """The tokens that a prompt used. Unstable."""

    total_tokens: UInt64
    input_tokens: UInt64
    output_tokens: UInt64
    thought_tokens: Lenient[UInt64] = UNSET
    cached_read_tokens: Lenient[UInt64] = UNSET
    cached_write_tokens: Lenient[UInt64] = UNSET


class CloseSessionRequest(Wire):
    """Params of `session/close`: stop the work of a session and free its resources; it stays stored."""

    session_id: SessionId


class CloseSessionResponse(Wire):
    """Result of `session/close`: no more updates of the session follow on this connection."""


class DeleteSessionRequest(Wire):
    """Params of `session/delete`: the session is no longer listed."""

    session_id: SessionId


class DeleteSessionResponse(Wire):
    """Result of `session/delete`: the session is not listed, or never was."""


class Terminal(Wire, tag_field="type", tag="terminal"):
    """A terminal shown as content of a tool call; it may be reported before or after, and stays readable after its release."""

    terminal_id: TerminalId


class SelectedPermissionOutcome(Wire, tag_field="outcome", tag="selected"):
    """The user selected an option; the option decides whether that is an approval."""

    option_id: PermissionOptionId


class CancelledPermissionOutcome(Wire, tag_field="outcome", tag="cancelled"):
    """No option was selected, for example because the turn was cancelled. Never an approval."""


class SessionInfoUpdate(Wire, tag_field="sessionUpdate", tag="session_info_update"):
    """Changes title or time of last update: a missing member is unchanged, null clears it."""

    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class Cost(Wire):
    """The cost of the session so far; the currency is an ISO 4217 code or another unit."""

    amount: float
    currency: str


class UsageUpdate(Wire, tag_field="sessionUpdate", tag="usage_update"):
    """Tokens used in the context, and its size; a missing `cost` is unchanged, null clears it."""

    used: UInt64
    size: UInt64
    cost: Lenient[Cost] = UNSET

    def __post_init__(self) -> None:
        check_uint64(self.used, self.size)


NoticeSeverity: TypeAlias = Annotated[str, Known("info", "warning", "error")]


class Notice(Wire, tag_field="sessionUpdate", tag="notice"):
    """A message to show now; never replayed. In v1 only for clients with `session.notices`."""

    severity: NoticeSeverity
    title: Annotated[str, Meta(min_length=1)]
    description: Lenient[str] = UNSET


CompactionStatus: TypeAlias = Annotated[str, Known("in_progress", "completed", "failed", "cancelled")]


MultiSelectItemsType: TypeAlias = Annotated[str, Known("string")]


class EnumOption(Wire):
    """A value to select, with the title to show for it."""

    const: str
    title: str
    description: Lenient[str] = UNSET


class NumberPropertySchema(Wire, tag_field="type", tag="number"):
    """A number; the bounds are inclusive."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    minimum: Nullable[float] = UNSET
    maximum: Nullable[float] = UNSET
    default: Lenient[float] = UNSET


class IntegerPropertySchema(Wire, tag_field="type", tag="integer"):
    """An integer; the bounds are inclusive."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    minimum: Nullable[Int64] = UNSET
    maximum: Nullable[Int64] = UNSET
    default: Lenient[Int64] = UNSET


class BooleanPropertySchema(Wire, tag_field="type", tag="boolean"):
    """Yes or no."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    default: Lenient[bool] = UNSET


class ElicitationDeclineAction(Wire, tag_field="action", tag="decline"):
    """The user declined."""


class ElicitationCancelAction(Wire, tag_field="action", tag="cancel"):
    """The user dismissed the question without a decision."""


class CompleteElicitationNotification(Wire):
    """Params of `elicitation/complete`: the user has finished on the web page; an unknown id is ignored."""

    elicitation_id: ElicitationId
