"""Terminals of v2: they belong to the agent, the client only shows them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from accord.schema.all_versions import SessionId, TerminalId
from accord.schema.v2.content import AbsolutePath
from accord.schema.wire_values import UNSET, Int64, Lenient, LenientText, Wire

__all__ = [
    "CancelTerminalRequest",
    "CancelTerminalResponse",
    "TerminalCancelCapabilities",
    "TerminalCapabilities",
    "TerminalExitStatus",
    "TerminalOutput",
    "TerminalOutputChunk",
    "TerminalSize",
    "TerminalUpdate",
]


_Extent: TypeAlias = Annotated[int, Meta(ge=1, le=2**16 - 1)]


class TerminalOutput(Wire):
    """The complete output so far, in base64."""

    data: str


class TerminalExitStatus(Wire):
    """The process has ended, even if this object is empty."""

    exit_code: Lenient[Int64] = UNSET
    signal: LenientText = UNSET  # AMB-65


class TerminalSize(Wire):
    """Columns and rows."""

    cols: _Extent
    rows: _Extent


class TerminalCancelCapabilities(Wire):
    """`terminal/cancel` is supported for this terminal while this is present."""


class TerminalCapabilities(Wire):
    """The requests that a terminal supports."""

    cancel: Lenient[TerminalCancelCapabilities] = UNSET


class TerminalUpdate(Wire, tag_field="sessionUpdate", tag="terminal_update"):
    """Creates or changes a terminal: a missing member is unchanged, null clears it, a value replaces it."""

    terminal_id: TerminalId
    command: Lenient[str] = UNSET
    cwd: Lenient[AbsolutePath] = UNSET
    output: Lenient[TerminalOutput] = UNSET
    exit_status: Lenient[TerminalExitStatus] = UNSET
    size: Lenient[TerminalSize] = UNSET
    capabilities: Lenient[TerminalCapabilities] = UNSET


class TerminalOutputChunk(Wire, tag_field="sessionUpdate", tag="terminal_output_chunk"):
    """More output: base64 of its own, whose bytes may end inside a character."""

    terminal_id: TerminalId
    data: str


class CancelTerminalRequest(Wire):
    """Params of `terminal/cancel`: stop the process of a terminal."""

    session_id: SessionId
    terminal_id: TerminalId


class CancelTerminalResponse(Wire):
    """Result of `terminal/cancel`: the agent will stop it; the exit status reports that it has ended."""
