"""Prompts and how a turn ends."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from accord.schema.v1.content import ContentBlock
from accord.schema.v1.identifiers import SessionId
from accord.schema.values import UNSET, Known, Lenient, UInt64, Wire

__all__ = ["CancelNotification", "PromptRequest", "PromptResponse", "StopReason", "Usage"]

StopReason: TypeAlias = Annotated[
    str, Known("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", closed=True)
]


class PromptRequest(Wire):
    """Params of `session/prompt`: what the user says, in kinds of content that the agent advertised."""

    session_id: SessionId
    prompt: list[ContentBlock]


class Usage(Wire):
    """The tokens that a prompt took. Unstable."""

    total_tokens: UInt64
    input_tokens: UInt64
    output_tokens: UInt64
    thought_tokens: Lenient[UInt64] = UNSET
    cached_read_tokens: Lenient[UInt64] = UNSET
    cached_write_tokens: Lenient[UInt64] = UNSET


class PromptResponse(Wire):
    """Result of `session/prompt`: the turn is over, and all its updates were sent before. `usage` is unstable."""

    stop_reason: StopReason
    usage: Lenient[Usage] = UNSET


class CancelNotification(Wire):
    """Params of `session/cancel`: end the running turn, whose answer then says "cancelled"."""

    session_id: SessionId
