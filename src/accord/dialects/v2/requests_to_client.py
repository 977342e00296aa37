"""Permission requests, between v2 and words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from accord.dialects.all_versions.permissions import PermissionConverter, permission_options
from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.dialects.v2.tool_calls import patch_from_wire, patch_to_wire
from accord.errors import InvalidParams
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.requests import CommandSubject, PermissionRequest, Subject, ToolCallSubject
from accord.session.updates import ToolCallPatch
from accord.session.value import Unknown

__all__ = [
    "PERMISSIONS",
    "other_subject_to_wire",
    "permission_from_wire",
    "permission_to_wire",
    "subject_from_wire",
]

Speaking = TypeVar("Speaking", bound=Dialect)

PERMISSIONS = PermissionConverter(wire)
UNTITLED = "Permission required"


def permission_to_wire(dialect: Dialect, asked: PermissionRequest) -> wire.RequestPermissionRequest:
    """The question; where it has no title of its own, with the tool call's. InvalidParams for one without options."""
    if not asked.options:
        raise InvalidParams("a permission request needs at least one option", field="options")
    return wire.RequestPermissionRequest(
        session_id=asked.session_id,
        title=asked.title or _title_of(asked.subject),
        description=unset_if_none(asked.description),
        subject=_subject_to_wire(dialect, asked.subject),
        options=PERMISSIONS.options_to_wire(asked.options),
        meta=unset_if_none(asked.meta),
    )


def _title_of(subject: Subject | None) -> str:
    return (isinstance(subject, ToolCallSubject) and subject.call.title) or UNTITLED


def _subject_to_wire(dialect: Dialect, subject: Subject | None) -> wire.RequestPermissionSubject | UnsetType:
    match subject:
        case None:
            return UNSET
        case ToolCallSubject():
            call = patch_to_wire(dialect, subject.call, wire.ToolCallUpdate)
            return wire.ToolCallPermissionSubject(tool_call=call, meta=unset_if_none(subject.meta))
        case _:
            return other_subject_to_wire(subject)


def other_subject_to_wire(subject: CommandSubject | Unknown) -> wire.CommandPermissionSubject | UnknownOnWire:
    """What is asked about, where it is not a tool call."""
    if isinstance(subject, Unknown):
        return UnknownOnWire(subject.tag, subject.raw)
    return wire.CommandPermissionSubject(
        command=subject.command,
        cwd=subject.cwd,
        tool_call_id=unset_if_none(subject.tool_call_id),
        terminal_id=unset_if_none(subject.terminal_id),
        meta=unset_if_none(subject.meta),
    )


def permission_from_wire(dialect: Dialect, params: Any) -> PermissionRequest:
    """The question; one that has only a `toolCall`, as in the draft, is about that."""
    subject = subject_from_wire(dialect, params, patch_from_wire)
    title = none_if_unset(params.title)
    return PermissionRequest(
        session_id=params.session_id,
        title=_title_of(subject) if title is None else title,
        description=none_if_unset(params.description),
        subject=subject,
        options=permission_options(params.options),
        meta=none_if_unset(params.meta),
    )


def subject_from_wire(
    dialect: Speaking, params: Any, call_from_wire: Callable[[Speaking, Any], ToolCallPatch]
) -> Subject | None:
    """What is asked about: the subject that is named, otherwise the `toolCall`."""
    subject, call = none_if_unset(params.subject), none_if_unset(getattr(params, "tool_call", None))
    match subject:
        case None:
            return None if call is None else ToolCallSubject(call=call_from_wire(dialect, call))
        case UnknownOnWire():
            return Unknown(tag=subject.tag, raw=subject.raw)
        case wire.CommandPermissionSubject():
            return CommandSubject(
                command=subject.command,
                cwd=subject.cwd,
                tool_call_id=none_if_unset(subject.tool_call_id),
                terminal_id=none_if_unset(subject.terminal_id),
                meta=none_if_unset(subject.meta),
            )
        case _:
            return ToolCallSubject(call=call_from_wire(dialect, subject.tool_call), meta=none_if_unset(subject.meta))
