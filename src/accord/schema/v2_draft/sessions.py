"""Sessions and prompts of the v2 draft, with the members of v1 and v2."""

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
    """Params of `session/prompt`: the user's message."""

    session_id: v2.SessionId
    prompt: list[v2.ContentBlock]


class PromptResponse(Wire):
    """Result of `session/prompt`: the turn has ended. Without a `stopReason` the peer means v2: it has only accepted."""

    stop_reason: Nullable[v2.StopReason] = UNSET
    message_id: Lenient[v2.MessageId] = UNSET
    usage: Lenient[v2.Usage] = UNSET

    def __post_init__(self) -> None:
        if not self.stop_reason and not self.message_id:
            raise ValueError("`stopReason` is required")


class SessionSetup(Wire, kw_only=True):
    """The initial modes, options and commands of a session. `models` is unstable and not validated."""

    modes: Lenient[v1.SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    available_commands: LenientItems[AvailableCommand] = UNSET
    models: Lenient[Any] = UNSET


class NewSessionResponse(SessionSetup):
    """Result of `session/new`."""

    session_id: v2.SessionId


class LoadSessionResponse(SessionSetup):
    """Result of `session/load`, sent after the replay."""


class ResumeSessionRequest(v1.ResumeSessionRequest):
    """Params of `session/resume`; the history is replayed only if the peer asks for it as in v2."""

    replay_from: Nullable[v2.ReplayFrom] = UNSET


class ResumeSessionResponse(SessionSetup):
    """Result of `session/resume`."""


class ForkSessionResponse(SessionSetup):
    """Result of `session/fork`: the new session, which is open. Unstable."""

    session_id: v2.SessionId
