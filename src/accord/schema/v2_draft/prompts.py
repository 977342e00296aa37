"""Prompts: the answer ends the turn."""

from __future__ import annotations

from accord.schema import v2
from accord.schema.values import UNSET, Lenient, Nullable, Wire

__all__ = ["PromptRequest", "PromptResponse"]


class PromptRequest(Wire):
    """What the user says."""

    session_id: v2.SessionId
    prompt: list[v2.ContentBlock]


class PromptResponse(Wire):
    """The turn is over, for the reason given. Without a reason the peer speaks v2 after all, and has only accepted."""

    stop_reason: Nullable[v2.StopReason] = UNSET
    message_id: Lenient[v2.MessageId] = UNSET
    usage: Lenient[v2.Usage] = UNSET

    def __post_init__(self) -> None:
        if not self.stop_reason and not self.message_id:
            raise ValueError("`stopReason` is required")
