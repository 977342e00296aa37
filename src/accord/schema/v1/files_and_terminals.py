"""Requests of v1 to the client: reading and writing files, running commands in terminals."""

from __future__ import annotations

from accord.schema.all_versions import EnvVariable, SessionId, TerminalId
from accord.schema.wire_values import (
    UNSET,
    Lenient,
    LenientText,
    Nullable,
    NullIsEmpty,
    UInt32,
    UInt64,
    Wire,
    check_uint64,
)

__all__ = [
    "CreateTerminalRequest",
    "CreateTerminalResponse",
    "KillTerminalRequest",
    "KillTerminalResponse",
    "ReadTextFileRequest",
    "ReadTextFileResponse",
    "ReleaseTerminalRequest",
    "ReleaseTerminalResponse",
    "TerminalExitStatus",
    "TerminalOutputRequest",
    "TerminalOutputResponse",
    "WaitForTerminalExitRequest",
    "WaitForTerminalExitResponse",
    "WriteTextFileRequest",
    "WriteTextFileResponse",
]


class ReadTextFileRequest(Wire):
    """Params of `fs/read_text_file`: at most `limit` lines, beginning with `line`; the first line is 1."""

    session_id: SessionId
    path: str
    line: Nullable[UInt32] = UNSET
    limit: Nullable[UInt32] = UNSET


class ReadTextFileResponse(Wire):
    """Result of `fs/read_text_file`."""

    content: str


class WriteTextFileRequest(Wire):
    """Params of `fs/write_text_file`: the complete new text of a file, which is created if it does not exist."""

    session_id: SessionId
    path: str
    content: str


class WriteTextFileResponse(Wire):
    """Result of `fs/write_text_file`."""


class CreateTerminalRequest(Wire):
    """Params of `terminal/create`; beyond `output_byte_limit` the oldest output is dropped, at a character boundary."""

    session_id: SessionId
    command: str
    args: NullIsEmpty[list[str]] = UNSET
    env: NullIsEmpty[list[EnvVariable]] = UNSET
    cwd: Nullable[str] = UNSET
    output_byte_limit: Nullable[UInt64] = UNSET

    def __post_init__(self) -> None:
        check_uint64(self.output_byte_limit)


class CreateTerminalResponse(Wire):
    """Result of `terminal/create`, sent as soon as the command runs; the terminal exists until it is released."""

    terminal_id: TerminalId


class TerminalOutputRequest(Wire):
    """Params of `terminal/output`."""

    session_id: SessionId
    terminal_id: TerminalId


class TerminalExitStatus(Wire):
    """How a command ended: with an exit code, or by a signal and without one."""

    exit_code: Lenient[UInt32] = UNSET
    signal: LenientText = UNSET  # AMB-65


class TerminalOutputResponse(Wire):
    """Result of `terminal/output`: the output so far, within the limit; `exit_status` only after the command has ended."""

    output: str
    truncated: bool
    exit_status: Lenient[TerminalExitStatus] = UNSET


class WaitForTerminalExitRequest(Wire):
    """Params of `terminal/wait_for_exit`."""

    session_id: SessionId
    terminal_id: TerminalId


class WaitForTerminalExitResponse(Wire):
    """Result of `terminal/wait_for_exit`: the members of the exit status, without an object around them."""

    exit_code: Lenient[UInt32] = UNSET
    signal: LenientText = UNSET  # AMB-65


class KillTerminalRequest(Wire):
    """Params of `terminal/kill`: end the command; the terminal and its output stay."""

    session_id: SessionId
    terminal_id: TerminalId


class KillTerminalResponse(Wire):
    """Result of `terminal/kill`."""


class ReleaseTerminalRequest(Wire):
    """Params of `terminal/release`: end the command if it still runs, and remove the terminal."""

    session_id: SessionId
    terminal_id: TerminalId


class ReleaseTerminalResponse(Wire):
    """Result of `terminal/release`."""
