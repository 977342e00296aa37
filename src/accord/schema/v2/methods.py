"""All methods of v2."""

from __future__ import annotations

from accord.schema.method import Method
from accord.schema.v2 import elicitation, lifecycle, options, permissions, sessions, terminals, tool_calls, updates

__all__ = ["METHODS"]

_SESSION = "capabilities.session"
_ELICITATION = "capabilities.elicitation"

_TABLE = (
    Method("initialize", "request", "client", lifecycle.InitializeRequest, lifecycle.InitializeResponse),
    Method(
        "auth/login",
        "request",
        "client",
        lifecycle.LoginAuthRequest,
        lifecycle.LoginAuthResponse,
        gate="authMethods",
    ),
    Method(
        "auth/logout",
        "request",
        "client",
        lifecycle.LogoutAuthRequest,
        lifecycle.LogoutAuthResponse,
        gate="authMethods",
    ),
    Method("session/new", "request", "client", sessions.NewSessionRequest, sessions.NewSessionResponse, gate=_SESSION),
    Method(
        "session/resume",
        "request",
        "client",
        sessions.ResumeSessionRequest,
        sessions.ResumeSessionResponse,
        gate=_SESSION,
    ),
    Method(
        "session/list",
        "request",
        "client",
        sessions.ListSessionsRequest,
        sessions.ListSessionsResponse,
        gate=_SESSION,
    ),
    Method(
        "session/close",
        "request",
        "client",
        sessions.CloseSessionRequest,
        sessions.CloseSessionResponse,
        gate=_SESSION,
    ),
    Method(
        "session/delete",
        "request",
        "client",
        sessions.DeleteSessionRequest,
        sessions.DeleteSessionResponse,
        gate=f"{_SESSION}.delete",
    ),
    Method(
        "session/fork",
        "request",
        "client",
        sessions.ForkSessionRequest,
        sessions.ForkSessionResponse,
        gate=f"{_SESSION}.fork",
        unstable=True,
    ),
    Method("session/prompt", "request", "client", sessions.PromptRequest, sessions.PromptResponse, gate=_SESSION),
    Method("session/cancel", "notification", "client", sessions.CancelSessionNotification, gate=_SESSION),
    Method(
        "session/set_config_option",
        "request",
        "client",
        options.SetSessionConfigOptionRequest,
        options.SetSessionConfigOptionResponse,
        gate="configOptions",
    ),
    Method(
        "tool_call/cancel",
        "request",
        "client",
        tool_calls.CancelToolCallRequest,
        tool_calls.CancelToolCallResponse,
        gate="toolCall.capabilities.cancel",
    ),
    Method(
        "terminal/cancel",
        "request",
        "client",
        terminals.CancelTerminalRequest,
        terminals.CancelTerminalResponse,
        gate="terminal.capabilities.cancel",
    ),
    Method("session/update", "notification", "agent", updates.UpdateSessionNotification),
    Method(
        "session/request_permission",
        "request",
        "agent",
        permissions.RequestPermissionRequest,
        permissions.RequestPermissionResponse,
    ),
    Method(
        "elicitation/create",
        "request",
        "agent",
        elicitation.CreateElicitationRequest,
        elicitation.CreateElicitationResponse,
        gate=f"{_ELICITATION}.{{mode}}",
    ),
    Method(
        "elicitation/complete",
        "notification",
        "agent",
        elicitation.CompleteElicitationNotification,
        gate=f"{_ELICITATION}.url",
    ),
    Method("$/cancel_request", "notification", "either", lifecycle.CancelRequestNotification),
)

METHODS: dict[str, Method] = {method.name: method for method in _TABLE}
