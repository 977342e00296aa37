"""What an agent asks of a client, between v1 and words: permission, files, terminals."""

from __future__ import annotations

import msgspec

from accord.dialects.all_versions.mcp_servers import pairs_from_wire, pairs_to_wire
from accord.dialects.all_versions.paths_and_lines import absolute, line_number
from accord.dialects.all_versions.permissions import PermissionConverter, permission_options
from accord.dialects.dialect import Dialect
from accord.dialects.display_fallback import DisplayDialect
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.dialects.v1.tool_calls import patch_from_wire, patch_to_wire
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET
from accord.session.content import Text
from accord.session.entities import ContentItem, Exit, ToolCallItem
from accord.session.requests import (
    CommandSubject,
    CreateTerminal,
    PermissionOption,
    PermissionRequest,
    ReadFile,
    ReadTerminal,
    TerminalSnapshot,
    ToolCallSubject,
    WaitForExit,
    WriteFile,
)
from accord.session.updates import ToolCallPatch

__all__ = [
    "PERMISSIONS",
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
    "subject_as_call",
    "write_file_from_wire",
    "write_file_to_wire",
]


PERMISSIONS = PermissionConverter(wire, is_open=False)
KINDS = frozenset(("allow_once", "allow_always", "reject_once", "reject_always"))


def permission_to_wire(dialect: DisplayDialect, asked: PermissionRequest) -> wire.RequestPermissionRequest:
    call = subject_as_call(dialect, asked)
    if isinstance(asked.subject, ToolCallSubject) and (asked.description or asked.title not in (None, call.title)):
        dialect.lose("permission-text", call.id)
    return wire.RequestPermissionRequest(
        session_id=asked.session_id,
        tool_call=patch_to_wire(dialect, asked.session_id, call, wire.ToolCallUpdate),
        options=PERMISSIONS.options_to_wire(_known_kind(dialect, option) for option in asked.options),
        meta=unset_if_none(asked.meta),
    )


def _known_kind(dialect: Dialect, option: PermissionOption) -> PermissionOption:
    """The option with a kind v1 has. What is not known must not look like an approval."""
    if option.kind in KINDS:
        return option
    dialect.lose("permission-kind", option.id)
    return msgspec.structs.replace(option, kind="reject_once")


def subject_as_call(dialect: DisplayDialect, asked: PermissionRequest) -> ToolCallPatch:
    """What is asked about, as the tool call that v1 and the draft need: for other subjects one is made up."""
    subject = asked.subject
    if isinstance(subject, ToolCallSubject):
        call = subject.call
        if call.title is UNSET and asked.title is not None:
            call = msgspec.structs.replace(call, title=asked.title)
        return call
    dialect.lose("permission-subject", asked.session_id)
    title = asked.title or "Permission required"
    content = [_text_item(asked.description)] if asked.description else []
    if not isinstance(subject, CommandSubject):
        return ToolCallPatch(id=_made_up(dialect), title=title, kind="other", content=content or UNSET)
    is_new = subject.tool_call_id is None  # otherwise the call has content already, which stays
    return ToolCallPatch(
        id=subject.tool_call_id or _made_up(dialect),
        title=title,
        kind="execute",
        content=[*content, _text_item(f"`{subject.command}`")] if is_new else UNSET,
        raw_input={"command": subject.command, "cwd": subject.cwd},
    )


def _text_item(text: str) -> ToolCallItem:
    return ContentItem(content=Text(text))


def _made_up(dialect: DisplayDialect) -> str:
    dialect.questions += 1
    return f"accord-permission-{dialect.questions}"


def permission_from_wire(dialect: Dialect, params: wire.RequestPermissionRequest) -> PermissionRequest:
    call = patch_from_wire(dialect, params.tool_call)
    return PermissionRequest(
        session_id=params.session_id,
        title=call.title or None,
        subject=ToolCallSubject(call=call),
        options=permission_options(params.options),
        meta=none_if_unset(params.meta),
    )


def read_file_to_wire(dialect: Dialect, asked: ReadFile) -> wire.ReadTextFileRequest:
    return wire.ReadTextFileRequest(
        session_id=asked.session_id,
        path=asked.path,
        line=unset_if_none(asked.line),
        limit=unset_if_none(asked.limit),
        meta=unset_if_none(asked.meta),
    )


def read_file_from_wire(dialect: Dialect, params: wire.ReadTextFileRequest) -> ReadFile:
    return ReadFile(
        session_id=params.session_id,
        path=absolute(params.path, "path"),
        line=line_number(none_if_unset(params.line), "line"),
        limit=none_if_unset(params.limit),
        meta=none_if_unset(params.meta),
    )


def write_file_to_wire(dialect: Dialect, asked: WriteFile) -> wire.WriteTextFileRequest:
    return wire.WriteTextFileRequest(
        session_id=asked.session_id, path=asked.path, content=asked.content, meta=unset_if_none(asked.meta)
    )


def write_file_from_wire(dialect: Dialect, params: wire.WriteTextFileRequest) -> WriteFile:
    return WriteFile(
        session_id=params.session_id,
        path=absolute(params.path, "path"),
        content=params.content,
        meta=none_if_unset(params.meta),
    )


def create_terminal_to_wire(dialect: Dialect, asked: CreateTerminal) -> wire.CreateTerminalRequest:
    return wire.CreateTerminalRequest(
        session_id=asked.session_id,
        command=asked.command,
        args=asked.args or UNSET,
        env=pairs_to_wire(wire.EnvVariable, asked.env) or UNSET,
        cwd=unset_if_none(asked.cwd),
        output_byte_limit=unset_if_none(asked.output_byte_limit),
        meta=unset_if_none(asked.meta),
    )


def create_terminal_from_wire(dialect: Dialect, params: wire.CreateTerminalRequest) -> CreateTerminal:
    cwd = none_if_unset(params.cwd)
    return CreateTerminal(
        session_id=params.session_id,
        command=params.command,
        args=list_or_empty(params.args),
        env=pairs_from_wire(params.env),
        cwd=None if cwd is None else absolute(cwd, "cwd"),
        output_byte_limit=none_if_unset(params.output_byte_limit),
        meta=none_if_unset(params.meta),
    )


def snapshot_to_wire(dialect: Dialect, asked: ReadTerminal, answer: TerminalSnapshot) -> wire.TerminalOutputResponse:
    ended = answer.exit
    status = UNSET
    if ended is not None:
        status = wire.TerminalExitStatus(exit_code=ended.code, signal=ended.signal, meta=unset_if_none(ended.meta))
    return wire.TerminalOutputResponse(
        output=answer.output, truncated=answer.truncated, exit_status=status, meta=unset_if_none(answer.meta)
    )


def snapshot_from_wire(dialect: Dialect, asked: ReadTerminal, result: wire.TerminalOutputResponse) -> TerminalSnapshot:
    ended = none_if_unset(result.exit_status)
    return TerminalSnapshot(
        output=result.output,
        truncated=result.truncated,
        exit=None if ended is None else _exit(ended),
        meta=none_if_unset(result.meta),
    )


def exit_to_wire(dialect: Dialect, asked: WaitForExit, answer: Exit) -> wire.WaitForTerminalExitResponse:
    return wire.WaitForTerminalExitResponse(
        exit_code=answer.code, signal=answer.signal, meta=unset_if_none(answer.meta)
    )


def exit_from_wire(dialect: Dialect, asked: WaitForExit, result: wire.WaitForTerminalExitResponse) -> Exit:
    return _exit(result)


def _exit(status: wire.TerminalExitStatus | wire.WaitForTerminalExitResponse) -> Exit:
    return Exit(
        code=none_if_unset(status.exit_code), signal=none_if_unset(status.signal), meta=none_if_unset(status.meta)
    )
