"""Terminals of the agent, which a client only shows."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from accord.schema.v2.identifiers import AbsolutePath, SessionId, TerminalId
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
    """All that was printed so far, in base64."""

    data: str


class TerminalExitStatus(Wire):
    """The process has ended; that the object is there says so, even when it is empty."""

    exit_code: Lenient[Int64] = UNSET
    signal: LenientText = UNSET  # AMB-65


class TerminalSize(Wire):
    """Columns and rows."""

    cols: _Extent
    rows: _Extent


class TerminalCancelCapabilities(Wire):
    """`terminal/cancel` works for this terminal, as long as this is there."""


class TerminalCapabilities(Wire):
    """What a client can do to a terminal."""

    cancel: Lenient[TerminalCancelCapabilities] = UNSET


class TerminalUpdate(Wire, tag_field="sessionUpdate", tag="terminal_update"):
    """A terminal is new or has changed: a member left out stays, null clears, a value replaces."""

    terminal_id: TerminalId
    command: Lenient[str] = UNSET
    cwd: Lenient[AbsolutePath] = UNSET
    output: Lenient[TerminalOutput] = UNSET
    exit_status: Lenient[TerminalExitStatus] = UNSET
    size: Lenient[TerminalSize] = UNSET
    capabilities: Lenient[TerminalCapabilities] = UNSET


class TerminalOutputChunk(Wire, tag_field="sessionUpdate", tag="terminal_output_chunk"):
    """More output: base64 that is decoded by itself and may end inside a character."""

    terminal_id: TerminalId
    data: str


class CancelTerminalRequest(Wire):
    """Stop the process of a terminal."""

    session_id: SessionId
    terminal_id: TerminalId


class CancelTerminalResponse(Wire):
    """The agent will stop it; an exit status proves that it did."""
