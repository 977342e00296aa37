"""Opening, finding and ending sessions."""

from __future__ import annotations

from typing import Annotated, Any

from accord.schema.v1.identifiers import SessionId
from accord.schema.v1.mcp_servers import McpServer
from accord.schema.v1.options import SessionConfigOption, SessionModeState
from accord.schema.values import (
    DEFAULT_ON_NULL,
    REQUIRED,
    UNSET,
    Closed,
    DefaultedItems,
    Items,
    Lenient,
    LenientItems,
    Nullable,
    NullIsEmpty,
    Wire,
)

__all__ = [
    "CloseSessionRequest",
    "CloseSessionResponse",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "LoadSessionRequest",
    "LoadSessionResponse",
    "NewSessionRequest",
    "NewSessionResponse",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionInfo",
]


class NewSessionRequest(Wire):
    """Params of `session/new`; `mcp_servers` is always written, and may be missing when read."""

    cwd: str
    additional_directories: NullIsEmpty[list[str]] = UNSET
    mcp_servers: Annotated[list[Closed[McpServer]], DEFAULT_ON_NULL, REQUIRED] = []  # AMB-42


class NewSessionResponse(Wire):
    """Result of `session/new`. `models` is unstable and taken as it comes."""

    session_id: SessionId
    modes: Lenient[SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    models: Lenient[Any] = UNSET  # AMB-06


class LoadSessionRequest(Wire):
    """Params of `session/load`: open a stored session and tell its whole history again before answering."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsEmpty[list[str]] = UNSET
    mcp_servers: Annotated[list[Closed[McpServer]], DEFAULT_ON_NULL, REQUIRED] = []  # AMB-42


class LoadSessionResponse(Wire):
    """Result of `session/load`, sent after the last replayed update."""

    modes: Lenient[SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    models: Lenient[Any] = UNSET


class ResumeSessionRequest(Wire):
    """Params of `session/resume`: open a stored session without telling its history."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsEmpty[list[str]] = UNSET
    mcp_servers: NullIsEmpty[list[Closed[McpServer]]] = UNSET


class ResumeSessionResponse(Wire):
    """Result of `session/resume`."""

    modes: Lenient[SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    models: Lenient[Any] = UNSET


class ForkSessionRequest(Wire):
    """Params of `session/fork`: a new session that starts with what the given one knows. Unstable."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsEmpty[list[str]] = UNSET
    mcp_servers: NullIsEmpty[list[Closed[McpServer]]] = UNSET


class ForkSessionResponse(Wire):
    """Result of `session/fork`, with the id of the new session. Unstable."""

    session_id: SessionId
    modes: Lenient[SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    models: Lenient[Any] = UNSET


class ListSessionsRequest(Wire):
    """Params of `session/list`; a `cursor` comes from the page before and means nothing else."""

    cwd: Nullable[str] = UNSET
    cursor: Nullable[str] = UNSET


class SessionInfo(Wire):
    """What is known of a session without opening it."""

    session_id: SessionId
    cwd: str
    additional_directories: DefaultedItems[str] = UNSET
    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class ListSessionsResponse(Wire):
    """Result of `session/list`: one page, the last one if it has no `next_cursor`; without `sessions` an empty one."""

    sessions: Annotated[Items[SessionInfo], REQUIRED] = []  # FN-103
    next_cursor: Lenient[str] = UNSET


class CloseSessionRequest(Wire):
    """Params of `session/close`: end the running turn and free what the session holds; it stays stored."""

    session_id: SessionId


class CloseSessionResponse(Wire):
    """Result of `session/close`."""


class DeleteSessionRequest(Wire):
    """Params of `session/delete`: the session is no longer listed."""

    session_id: SessionId


class DeleteSessionResponse(Wire):
    """Result of `session/delete`."""
