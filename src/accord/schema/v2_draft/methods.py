"""All methods of the v2 draft: those of v1 with the types that differ, and those of v2 whose name is new."""

from __future__ import annotations

import msgspec

from accord.schema import v1, v2
from accord.schema.method import Method
from accord.schema.v2_draft import lifecycle, options, sessions, tool_calls, updates

__all__ = ["METHODS"]

_DIFFERENT_PARAMS = {
    "initialize": lifecycle.InitializeRequest,
    "session/resume": sessions.ResumeSessionRequest,
    "session/prompt": sessions.PromptRequest,
    "session/set_config_option": options.SetSessionConfigOptionRequest,
    "session/request_permission": tool_calls.RequestPermissionRequest,
    "session/update": updates.SessionNotification,
}
_DIFFERENT_RESULTS = {
    "initialize": lifecycle.InitializeResponse,
    "session/new": sessions.NewSessionResponse,
    "session/load": sessions.LoadSessionResponse,
    "session/resume": sessions.ResumeSessionResponse,
    "session/fork": sessions.ForkSessionResponse,
    "session/prompt": sessions.PromptResponse,
    "session/set_config_option": options.SetSessionConfigOptionResponse,
    "session/request_permission": v2.RequestPermissionResponse,
}
_TAKEN_FROM_V2 = ("auth/login", "auth/logout", "tool_call/cancel", "terminal/cancel")

METHODS: dict[str, Method] = {
    name: msgspec.structs.replace(
        method, params=_DIFFERENT_PARAMS.get(name, method.params), result=_DIFFERENT_RESULTS.get(name, method.result)
    )
    for name, method in v1.METHODS.items()
} | {name: v2.METHODS[name] for name in _TAKEN_FROM_V2}
