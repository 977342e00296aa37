"""The facts about a message that are counted, logged and traced: never its content.

Labels are bounded: a client can name any method, but `method_label` has a fixed number of results.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.error_codes import REQUEST_CANCELLED
from accord.relay.envelope import UNREADABLE, Envelope
from accord.transports.trace_context import valid_trace

METHODS = frozenset((
    "$/cancel_request", "auth/login", "auth/logout", "authenticate", "elicitation/complete", "elicitation/create",
    "fs/read_text_file", "fs/write_text_file", "initialize", "logout", "session/cancel", "session/close",
    "session/delete", "session/fork", "session/list", "session/load", "session/new", "session/prompt",
    "session/request_permission", "session/resume", "session/set_config_option", "session/set_mode",
    "session/set_model", "session/update", "terminal/cancel", "terminal/create", "terminal/kill", "terminal/output",
    "terminal/release", "terminal/wait_for_exit", "tool_call/cancel",
))  # fmt: skip
"""The methods of all versions."""

STOP_REASONS = frozenset(("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"))

_NAME_LIMIT = 200  # characters of what clients call themselves


class Message(Envelope, gc=False):
    """A message, as far as it is read. Everything else in it stays bytes."""

    @property
    def session_id(self) -> str | None:
        """The session that the params or the result name."""
        members = _members(self.params if self.method is not UNSET else self.result)
        return None if members is None else members.session_id

    @property
    def trace(self) -> dict[str, str]:
        """The trace context in the `_meta` of the params."""
        members = _members(self.params)
        return {} if members is None or members.meta is None else valid_trace(members.meta)

    @property
    def client(self) -> str | None:
        """The name and version of the client, of `initialize`."""
        members = _members(self.params)
        info = None if members is None else members.client_info or members.info
        if info is None or not isinstance(info.get("name"), str):
            return None
        version = info.get("version")
        return f"{info['name']} {version if isinstance(version, str) else ''}".strip()[:_NAME_LIMIT]

    @property
    def stop_reason(self) -> str | None:
        """Of a response in v1 that ends a turn; one of a bounded number of words."""
        members = _members(self.result)
        reason = None if members is None else members.stop_reason
        return reason if reason is None or reason in STOP_REASONS else "other"

    @property
    def outcome(self) -> str:
        """`ok`, `cancelled` or `error`, of a response."""
        if self.error is UNSET:
            return "cancelled" if self.stop_reason == "cancelled" else "ok"
        return "cancelled" if self.error_code == REQUEST_CANCELLED else "error"

    @property
    def error_code(self) -> int | None:
        try:
            return None if self.error is UNSET else _read_error(self.error).code
        except UNREADABLE:
            return None

    @property
    def state(self) -> tuple[str, str | None] | None:
        """The state of the session and the stop reason, of a `state_update` in v2."""
        try:
            update = None if self.params is UNSET else _read_update(self.params).update
        except UNREADABLE:
            return None
        if update is None or update.session_update != "state_update" or update.state is None:
            return None
        reason = update.stop_reason
        return update.state, reason if reason is None or reason in STOP_REASONS else "other"


class _Members(msgspec.Struct, rename="camel", gc=False):
    session_id: str | None = None
    stop_reason: str | None = None
    client_info: dict[str, Any] | None = None
    info: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class _Update(msgspec.Struct, rename="camel", gc=False):
    session_update: str | None = None
    state: str | None = None
    stop_reason: str | None = None


class _UpdateParams(msgspec.Struct, gc=False):
    update: _Update | None = None


class _Error(msgspec.Struct, gc=False):
    code: int | None = None


_read_one = msgspec.json.Decoder(Message).decode
_read_batch = msgspec.json.Decoder(list[Message]).decode
_read_members = msgspec.json.Decoder(_Members).decode
_read_update = msgspec.json.Decoder(_UpdateParams).decode
_read_error = msgspec.json.Decoder(_Error).decode


def read(frame: bytes) -> list[Message]:
    """The message of a frame, or those of a batch; nothing for what is neither."""
    try:
        return _read_batch(frame) if frame[:1] == b"[" else [_read_one(frame)]
    except UNREADABLE:
        return []


def method_label(method: str) -> str:
    """The method if the protocol has it, otherwise `extension` or `unknown`."""
    if method in METHODS:
        return method
    return "extension" if method.startswith("_") else "unknown"


def _members(raw: Raw | UnsetType) -> _Members | None:
    if raw is UNSET:
        return None
    try:
        return _read_members(raw)
    except UNREADABLE:
        return None
