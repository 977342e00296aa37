"""Sessions: making, finding, resuming and ending them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from accord.schema.v2.commands import AvailableCommand
from accord.schema.v2.identifiers import AbsolutePath, SessionId
from accord.schema.v2.mcp_servers import McpServer
from accord.schema.v2.options import SessionConfigOption
from accord.schema.v2.tags import OpenOne
from accord.schema.values import REQUIRED, UNSET, DefaultedItems, Items, Lenient, Nullable, NullIsEmpty, Wire

__all__ = [
    "CloseSessionRequest",
    "CloseSessionResponse",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "NewSessionRequest",
    "NewSessionResponse",
    "ReplayFrom",
    "ReplayFromStart",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionInfo",
    "SessionListCursor",
]

SessionListCursor: TypeAlias = str
"""Opaque; the empty string is a cursor like any other."""


class NewSessionRequest(Wire):
    """Start a session in `cwd`."""

    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET


class NewSessionResponse(Wire):
    """The session is there, with its options and commands as they are at the start."""

    session_id: SessionId
    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ReplayFromStart(Wire, tag_field="type", tag="start"):
    """Everything that is kept."""


ReplayFrom: TypeAlias = OpenOne[ReplayFromStart]
"""Where to begin telling what happened; a beginning the agent does not know is an error, never a resume without."""


class ResumeSessionRequest(Wire):
    """Go on with a session; it is told again only from `replayFrom`."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET
    replay_from: Nullable[ReplayFrom] = UNSET


class ResumeSessionResponse(Wire):
    """The session is active; whether it works or rests was said by a state update before this."""

    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ForkSessionRequest(Wire):
    """Start a second session with the history of the first; unstable."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET


class ForkSessionResponse(Wire):
    """The new session, active at once; unstable."""

    session_id: SessionId
    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ListSessionsRequest(Wire):
    """The sessions of exactly this directory, or all; one page, from `cursor`."""

    cwd: Nullable[AbsolutePath] = UNSET
    cursor: Nullable[SessionListCursor] = UNSET


class SessionInfo(Wire):
    """A session as lists show it."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class ListSessionsResponse(Wire):
    """A page of sessions; without `nextCursor` it is the last, without `sessions` an empty one."""

    sessions: Annotated[Items[SessionInfo], REQUIRED] = []  # FN-103
    next_cursor: Nullable[SessionListCursor] = UNSET


class CloseSessionRequest(Wire):
    """Stop all work of a session and free what it holds."""

    session_id: SessionId


class CloseSessionResponse(Wire):
    """Nothing more comes from the session on this connection."""


class DeleteSessionRequest(Wire):
    """Take a session off the list."""

    session_id: SessionId


class DeleteSessionResponse(Wire):
    """The session is not listed any more, or never was."""
