"""What an agent asks of a client, between v1 and words: permission, files, terminals."""

from __future__ import annotations

from typing import Any

import msgspec

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.dialects.paths import absolute, line_number
from accord.dialects.permissions import permission_options
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1.tool_calls import patch_from_wire
from accord.dialects.v1.updates_to_wire import patched
from accord.schema import v1 as wire
from accord.schema.values import UNSET
from accord.session.content import Text
from accord.session.entities import ContentItem, Exit
from accord.session.requests import (
    CommandSubject,
    CreateTerminal,
    FileContent,
    ReadFile,
    RequestPermission,
    TerminalCreated,
    TerminalSnapshot,
    ToolCallSubject,
    WriteFile,
)
from accord.session.updates import ToolCallPatch

__all__ = [
    "create_terminal_from_wire",
    "create_terminal_to_wire",
    "exit_from_wire",
    "exit_to_wire",
    "permission_from_wire",
    "permission_to_wire",
    "read_file_from_wire",
    "read_file_to_wire",
    "snapshot_from_wire",
    "snapshot_to_wire",
    "write_file_from_wire",
    "write_file_to_wire",
]


def permission_to_wire(dialect: ShowingDialect, asked: RequestPermission) -> wire.RequestPermissionRequest:
    call = subject_as_call(dialect, asked)
    return wire.RequestPermissionRequest(
        session_id=asked.session_id,
        tool_call=patched(dialect, asked.session_id, call, wire.ToolCallUpdate),
        options=[
            wire.PermissionOption(option_id=option.id, name=option.name, kind=option.kind, meta=told(option.meta))
            for option in asked.options
        ],
        meta=told(asked.meta),
    )


def subject_as_call(dialect: Dialect, asked: RequestPermission) -> ToolCallPatch:
    """v1 asks about tool calls only: other subjects are shown as one."""
    subject = asked.subject
    if isinstance(subject, ToolCallSubject):
        call = subject.call
        if call.title is UNSET and asked.title is not None:
            call = msgspec.structs.replace(call, title=asked.title)
        return call
    dialect.lose("permission-subject", asked.session_id)
    about = [ContentItem(content=Text(asked.description))] if asked.description else UNSET
    title = asked.title or "Permission required"
    if isinstance(subject, CommandSubject):
        return ToolCallPatch(
            id=subject.tool_call_id or f"permission {title}",
            title=title,
            kind="execute",
            content=about if about is not UNSET else [ContentItem(content=Text(f"`{subject.command}`"))],
            raw_input={"command": subject.command, "cwd": subject.cwd},
        )
    return ToolCallPatch(id=f"permission {title}", title=title, kind="other", content=about)


def permission_from_wire(dialect: Dialect, params: wire.RequestPermissionRequest) -> RequestPermission:
    call = patch_from_wire(params.tool_call)
    return RequestPermission(
        session_id=params.session_id,
        title=call.title or None,
        subject=ToolCallSubject(call=call),
        options=permission_options(params.options),
        meta=known(params.meta),
    )


def read_file_to_wire(dialect: Dialect, asked: ReadFile) -> wire.ReadTextFileRequest:
    return wire.ReadTextFileRequest(
        session_id=asked.session_id,
        path=asked.path,
        line=told(asked.line),
        limit=told(asked.limit),
        meta=told(asked.meta),
    )


def read_file_from_wire(dialect: Dialect, params: Any) -> ReadFile:
    return ReadFile(
        session_id=params.session_id,
        path=absolute(params.path, "path"),
        line=line_number(known(params.line), "line"),
        limit=known(params.limit),
        meta=known(params.meta),
    )


def file_to_wire(dialect: Dialect, asked: Any, answer: FileContent) -> wire.ReadTextFileResponse:
    return wire.ReadTextFileResponse(content=answer.content, meta=told(answer.meta))


def file_from_wire(dialect: Dialect, asked: Any, result: Any) -> FileContent:
    return FileContent(content=result.content, meta=known(result.meta))


def write_file_to_wire(dialect: Dialect, asked: WriteFile) -> wire.WriteTextFileRequest:
    return wire.WriteTextFileRequest(
        session_id=asked.session_id, path=asked.path, content=asked.content, meta=told(asked.meta)
    )


def write_file_from_wire(dialect: Dialect, params: Any) -> WriteFile:
    return WriteFile(
        session_id=params.session_id,
        path=absolute(params.path, "path"),
        content=params.content,
        meta=known(params.meta),
    )


def create_terminal_to_wire(dialect: Dialect, asked: CreateTerminal) -> wire.CreateTerminalRequest:
    return wire.CreateTerminalRequest(
        session_id=asked.session_id,
        command=asked.command,
        args=asked.args or UNSET,
        env=[wire.EnvVariable(name=name, value=value) for name, value in asked.env.items()] or UNSET,
        cwd=told(asked.cwd),
        output_byte_limit=told(asked.output_byte_limit),
        meta=told(asked.meta),
    )


def create_terminal_from_wire(dialect: Dialect, params: Any) -> CreateTerminal:
    cwd = known(params.cwd)
    return CreateTerminal(
        session_id=params.session_id,
        command=params.command,
        args=known(params.args) or [],
        env={variable.name: variable.value for variable in known(params.env) or []},
        cwd=None if cwd is None else absolute(cwd, "cwd"),
        output_byte_limit=known(params.output_byte_limit),
        meta=known(params.meta),
    )


def created_to_wire(dialect: Dialect, asked: Any, answer: TerminalCreated) -> wire.CreateTerminalResponse:
    return wire.CreateTerminalResponse(terminal_id=answer.terminal_id, meta=told(answer.meta))


def created_from_wire(dialect: Dialect, asked: Any, result: Any) -> TerminalCreated:
    return TerminalCreated(terminal_id=result.terminal_id, meta=known(result.meta))


def snapshot_to_wire(dialect: Dialect, asked: Any, answer: TerminalSnapshot) -> wire.TerminalOutputResponse:
    ended = answer.exit
    status = UNSET
    if ended is not None:
        status = wire.TerminalExitStatus(exit_code=ended.code, signal=ended.signal, meta=told(ended.meta))
    return wire.TerminalOutputResponse(
        output=answer.output, truncated=answer.truncated, exit_status=status, meta=told(answer.meta)
    )


def snapshot_from_wire(dialect: Dialect, asked: Any, result: Any) -> TerminalSnapshot:
    ended = known(result.exit_status)
    return TerminalSnapshot(
        output=result.output,
        truncated=result.truncated,
        exit=None if ended is None else exit_from_wire(dialect, asked, ended),
        meta=known(result.meta),
    )


def exit_to_wire(dialect: Dialect, asked: Any, answer: Exit) -> wire.WaitForTerminalExitResponse:
    return wire.WaitForTerminalExitResponse(exit_code=answer.code, signal=answer.signal, meta=told(answer.meta))


def exit_from_wire(dialect: Dialect, asked: Any, result: Any) -> Exit:
    return Exit(code=known(result.exit_code), signal=known(result.signal), meta=known(result.meta))
