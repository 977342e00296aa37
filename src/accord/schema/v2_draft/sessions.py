"""Sessions: resuming as in v1 or v2; answers with modes from v1, and options and commands with either key."""

from __future__ import annotations

from typing import Any

from accord.schema import v1, v2
from accord.schema.v2_draft.commands import AvailableCommand
from accord.schema.v2_draft.options import SessionConfigOption
from accord.schema.values import UNSET, Lenient, LenientItems, Nullable, Wire

__all__ = [
    "ForkSessionResponse",
    "LoadSessionResponse",
    "NewSessionResponse",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionSetup",
]


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
