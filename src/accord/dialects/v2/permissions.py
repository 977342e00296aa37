"""Converts the permission requests of v2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from accord.dialects.all_versions.permissions import PermissionConverter
from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.dialects.v2.tool_calls import patch_from_wire, patch_to_wire
from accord.errors import InvalidParams
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.requests import CommandSubject, PermissionRequest, Subject, ToolCallSubject
from accord.session.updates import ToolCallPatch
from accord.session.value import Unknown

AnyDialect = TypeVar("AnyDialect", bound=Dialect)

PERMISSIONS = PermissionConverter(wire)
_COMMAND = StructConverter(CommandSubject, wire.CommandPermissionSubject)
_DEFAULT_TITLE = "Permission required"


def _to_wire(dialect: Dialect, request: PermissionRequest) -> wire.RequestPermissionRequest:
    """A request without a title has the tool call's. InvalidParams for one without options."""
    if not request.options:
        raise InvalidParams("a permission request needs at least one option", field="options")
    return wire.RequestPermissionRequest(
        session_id=request.session_id,
        title=request.title or _title_of(request.subject),
        description=unset_if_none(request.description),
        subject=_subject_to_wire(dialect, request.subject),
        options=PERMISSIONS.options_to_wire(request.options),
        meta=unset_if_none(request.meta),
    )


def _title_of(subject: Subject | None) -> str:
    return (isinstance(subject, ToolCallSubject) and subject.call.title) or _DEFAULT_TITLE


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
    """A subject that is not a tool call."""
    return UnknownOnWire(subject.tag, subject.raw) if isinstance(subject, Unknown) else _COMMAND.to_wire(subject)


def _from_wire(dialect: Dialect, params: Any) -> PermissionRequest:
    """A request that has only a `toolCall`, as in the draft, is about that."""
    subject = subject_from_wire(dialect, params, patch_from_wire)
    title = none_if_unset(params.title)
    return PermissionRequest(
        session_id=params.session_id,
        title=_title_of(subject) if title is None else title,
        description=none_if_unset(params.description),
        subject=subject,
        options=PERMISSIONS.options_from_wire(params.options),
        meta=none_if_unset(params.meta),
    )


def subject_from_wire(
    dialect: AnyDialect, params: Any, call_from_wire: Callable[[AnyDialect, Any], ToolCallPatch]
) -> Subject | None:
    """The subject, otherwise the `toolCall`."""
    subject, call = none_if_unset(params.subject), none_if_unset(getattr(params, "tool_call", None))
    match subject:
        case None:
            return None if call is None else ToolCallSubject(call=call_from_wire(dialect, call))
        case UnknownOnWire():
            return Unknown(tag=subject.tag, raw=subject.raw)
        case wire.CommandPermissionSubject():
            return _COMMAND.from_wire(subject)
        case _:
            return ToolCallSubject(call=call_from_wire(dialect, subject.tool_call), meta=none_if_unset(subject.meta))


REQUEST_PERMISSION = PERMISSIONS.request(_to_wire, _from_wire)
