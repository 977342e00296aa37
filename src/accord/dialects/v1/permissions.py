"""Converts permission requests of v1, which are always about a tool call."""

from __future__ import annotations

from msgspec.structs import replace

from accord.dialects.all_versions.permissions import PermissionConverter
from accord.dialects.dialect import Dialect
from accord.dialects.display_state import DisplayDialect
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.dialects.v1.tool_calls import patch_from_wire, patch_to_wire
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET
from accord.session.content import Text
from accord.session.entities import ContentItem, ToolCallItem
from accord.session.requests import CommandSubject, PermissionOption, PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallPatch

_PERMISSIONS = PermissionConverter(wire, is_open=False)
_KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")


def _to_wire(dialect: DisplayDialect, request: PermissionRequest) -> wire.RequestPermissionRequest:
    call = subject_as_call(dialect, request)
    is_call = isinstance(request.subject, ToolCallSubject)
    if is_call and (request.description or request.title not in (None, call.title)):
        dialect.record_loss("permission-text", call.id)
    return wire.RequestPermissionRequest(
        session_id=request.session_id,
        tool_call=patch_to_wire(dialect, request.session_id, call, wire.ToolCallUpdate),
        options=_PERMISSIONS.options_to_wire(_known_kind(dialect, option) for option in request.options),
        meta=unset_if_none(request.meta),
    )


def _known_kind(dialect: Dialect, option: PermissionOption) -> PermissionOption:
    """An unknown kind must not look like an approval."""
    if option.kind in _KINDS:
        return option
    dialect.record_loss("permission-kind", option.id)
    return replace(option, kind="reject_once")


def subject_as_call(dialect: DisplayDialect, request: PermissionRequest) -> ToolCallPatch:
    """The subject as the tool call that v1 and the draft need; for other subjects one is generated."""
    subject = request.subject
    if isinstance(subject, ToolCallSubject):
        call = subject.call
        if call.title is UNSET and request.title is not None:
            call = replace(call, title=request.title)
        return call
    dialect.record_loss("permission-subject", request.session_id)
    title = request.title or "Permission required"
    content = [_text_item(request.description)] if request.description else []
    if not isinstance(subject, CommandSubject):
        return ToolCallPatch(id=_new_id(dialect), title=title, kind="other", content=content or UNSET)
    is_new = subject.tool_call_id is None  # otherwise the call has content already, which stays
    return ToolCallPatch(
        id=subject.tool_call_id or _new_id(dialect),
        title=title,
        kind="execute",
        content=[*content, _text_item(f"`{subject.command}`")] if is_new else UNSET,
        raw_input={"command": subject.command, "cwd": subject.cwd},
    )


def _text_item(text: str) -> ToolCallItem:
    return ContentItem(content=Text(text))


def _new_id(dialect: DisplayDialect) -> str:
    dialect.generated_calls += 1
    return f"accord-permission-{dialect.generated_calls}"


def _from_wire(dialect: Dialect, params: wire.RequestPermissionRequest) -> PermissionRequest:
    call = patch_from_wire(dialect, params.tool_call)
    return PermissionRequest(
        session_id=params.session_id,
        title=call.title or None,
        subject=ToolCallSubject(call=call),
        options=_PERMISSIONS.options_from_wire(params.options),
        meta=none_if_unset(params.meta),
    )


REQUEST_PERMISSION = _PERMISSIONS.request(_to_wire, _from_wire)
