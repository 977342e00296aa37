"""Permission requests between the draft and words: about `toolCall`, with v2's title beside it."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.permissions import permission_options
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1.client_requests import subject_as_call
from accord.dialects.v2_draft.tool_calls import patch_from_wire, patch_to_wire
from accord.schema import v2
from accord.schema import v2_draft as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.requests import CommandSubject, RequestPermission, Subject, ToolCallSubject
from accord.session.word import Unknown

__all__ = ["permission_from_wire", "permission_to_wire"]


def permission_to_wire(dialect: ShowingDialect, asked: RequestPermission) -> wire.RequestPermissionRequest:
    """A subject that is not a tool call is named, too, for clients that look for one."""
    call = subject_as_call(dialect, asked)
    return wire.RequestPermissionRequest(
        session_id=asked.session_id,
        tool_call=patch_to_wire(dialect, asked.session_id, call, wire.ToolCallUpdate),
        title=told(asked.title or known(call.title)),
        description=told(asked.description),
        subject=_subject_to_wire(asked.subject),
        options=[
            v2.PermissionOption(option_id=option.id, name=option.name, kind=option.kind, meta=told(option.meta))
            for option in asked.options
        ],
        meta=told(asked.meta),
    )


def _subject_to_wire(subject: Subject | None) -> Any:
    match subject:
        case CommandSubject():
            return v2.CommandPermissionSubject(
                command=subject.command,
                cwd=subject.cwd,
                tool_call_id=told(subject.tool_call_id),
                terminal_id=told(subject.terminal_id),
                meta=told(subject.meta),
            )
        case Unknown():
            return UnknownOnWire(subject.tag, subject.raw)
        case _:
            return UNSET


def permission_from_wire(dialect: Any, params: wire.RequestPermissionRequest) -> RequestPermission:
    """The question; its subject, if it names one, counts before `toolCall`."""
    if known(params.subject) is not None or known(params.title) is not None:
        dialect.null_clears = True
    subject = _subject_from_wire(dialect, known(params.subject))
    call = known(params.tool_call)
    if subject is None and call is not None:
        subject = ToolCallSubject(call=patch_from_wire(dialect, call))
    title = known(params.title)
    if title is None and isinstance(subject, ToolCallSubject):
        title = subject.call.title or None
    return RequestPermission(
        session_id=params.session_id,
        title=title,
        description=known(params.description),
        subject=subject,
        options=permission_options(params.options),
        meta=known(params.meta),
    )


def _subject_from_wire(dialect: Any, subject: Any) -> Subject | None:
    match subject:
        case None:
            return None
        case wire.ToolCallPermissionSubject():
            return ToolCallSubject(call=patch_from_wire(dialect, subject.tool_call), meta=known(subject.meta))
        case v2.CommandPermissionSubject():
            return CommandSubject(
                command=subject.command,
                cwd=subject.cwd,
                tool_call_id=known(subject.tool_call_id),
                terminal_id=known(subject.terminal_id),
                meta=known(subject.meta),
            )
        case _:
            return Unknown(tag=subject.tag, raw=subject.raw)
