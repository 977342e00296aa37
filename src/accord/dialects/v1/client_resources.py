"""Converts the requests of v1 for the client's files and terminals."""

from __future__ import annotations

from functools import partial
from typing import Any

from accord.dialects.all_versions.mcp_servers import pairs_from_wire, pairs_to_wire
from accord.dialects.all_versions.paths_and_lines import require_absolute, require_line
from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter, copied_request
from accord.dialects.unset_values import none_if_unset
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET
from accord.session import requests
from accord.session.entities import Exit

_READ_FILE = StructConverter(requests.ReadFile, wire.ReadTextFileRequest)
_WRITE_FILE = StructConverter(requests.WriteFile, wire.WriteTextFileRequest)
_CREATE = StructConverter(requests.CreateTerminal, wire.CreateTerminalRequest)
_SNAPSHOT = StructConverter(requests.TerminalSnapshot, wire.TerminalOutputResponse)
_STATUS = StructConverter(Exit, wire.TerminalExitStatus, code="exit_code")
_WAIT_RESULT = StructConverter(Exit, wire.WaitForTerminalExitResponse, code="exit_code")


def _read_file_from_wire(dialect: Dialect, params: wire.ReadTextFileRequest) -> requests.ReadFile:
    request = _READ_FILE.from_wire(params)
    require_absolute(request.path, "path")
    require_line(request.line, "line")
    return request


def _write_file_from_wire(dialect: Dialect, params: wire.WriteTextFileRequest) -> requests.WriteFile:
    require_absolute(params.path, "path")
    return _WRITE_FILE.from_wire(params)


def _create_to_wire(dialect: Dialect, request: requests.CreateTerminal) -> wire.CreateTerminalRequest:
    env = pairs_to_wire(wire.EnvVariable, request.env) or UNSET
    return _CREATE.to_wire(request, args=request.args or UNSET, env=env)


def _create_from_wire(dialect: Dialect, params: wire.CreateTerminalRequest) -> requests.CreateTerminal:
    request = _CREATE.from_wire(params, env=pairs_from_wire(params.env))
    if request.cwd is not None:
        require_absolute(request.cwd, "cwd")
    return request


def _snapshot_to_wire(dialect: Dialect, request: Any, result: requests.TerminalSnapshot) -> wire.TerminalOutputResponse:
    return _SNAPSHOT.to_wire(result, exit_status=UNSET if result.exit is None else _exit_to_wire(_STATUS, result.exit))


def _snapshot_from_wire(
    dialect: Dialect, request: Any, response: wire.TerminalOutputResponse
) -> requests.TerminalSnapshot:
    status = none_if_unset(response.exit_status)
    return _SNAPSHOT.from_wire(response, exit=None if status is None else _STATUS.from_wire(status))


def _wait_result_to_wire(dialect: Dialect, request: Any, result: Exit) -> wire.WaitForTerminalExitResponse:
    return _exit_to_wire(_WAIT_RESULT, result)


def _wait_result_from_wire(dialect: Dialect, request: Any, response: wire.WaitForTerminalExitResponse) -> Exit:
    return _WAIT_RESULT.from_wire(response)


def _exit_to_wire(converter: StructConverter[Exit], status: Exit) -> Any:
    return converter.to_wire(status, exit_code=status.code, signal=status.signal)  # null, not missing


_copied = partial(copied_request, wire.METHODS)

CLIENT_RESOURCES = (
    _copied(requests.ReadFile, "fs/read_text_file", from_wire=_read_file_from_wire),
    _copied(requests.WriteFile, "fs/write_text_file", from_wire=_write_file_from_wire),
    _copied(requests.CreateTerminal, "terminal/create", to_wire=_create_to_wire, from_wire=_create_from_wire),
    _copied(
        requests.ReadTerminal, "terminal/output", result_to_wire=_snapshot_to_wire, result_from_wire=_snapshot_from_wire
    ),
    _copied(
        requests.WaitForExit,
        "terminal/wait_for_exit",
        result_to_wire=_wait_result_to_wire,
        result_from_wire=_wait_result_from_wire,
    ),
    _copied(requests.KillTerminal, "terminal/kill"),
    _copied(requests.ReleaseTerminal, "terminal/release"),
)
