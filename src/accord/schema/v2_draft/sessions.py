"""Sessions and prompts of the v2 draft, which takes the shapes of v1 and v2."""

from __future__ import annotations

from typing import Any

from accord.schema import v1, v2
from accord.schema.v2_draft.options import AvailableCommand, SessionConfigOption
from accord.schema.wire_values import UNSET, Lenient, LenientItems, Nullable, Wire

__all__ = [
    "ForkSessionResponse",
    "LoadSessionResponse",
    "NewSessionResponse",
    "PromptRequest",
    "PromptResponse",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionSetup",
]


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


class SessionSetup(Wire, kw_only=True):
    """How a session is set up when it opens. `models` is unstable and taken as it comes."""

    modes: Lenient[v1.SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    available_commands: LenientItems[AvailableCommand] = UNSET
    models: Lenient[Any] = UNSET


class NewSessionResponse(SessionSetup):
    """The session is there."""

    session_id: v2.SessionId


class LoadSessionResponse(SessionSetup):
    """The session is active and was told again."""


class ResumeSessionRequest(v1.ResumeSessionRequest):
    """Go on with a session, told again only if the peer asks for it as in v2."""

    replay_from: Nullable[v2.ReplayFrom] = UNSET


class ResumeSessionResponse(SessionSetup):
    """The session is active."""


class ForkSessionResponse(SessionSetup):
    """The new session, active at once; unstable."""

    session_id: v2.SessionId
