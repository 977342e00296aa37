"""All methods of v2: the sender, the params and result types, and the capability that allows each."""

from __future__ import annotations

from accord.schema import all_versions
from accord.schema.method import Method, by_agent, by_client, method_table
from accord.schema.v2 import elicitation, lifecycle, options, sessions, terminals, tool_calls, updates

__all__ = ["METHODS"]

_SESSION = "capabilities.session"
_ELICITATION = "capabilities.elicitation"

METHODS: dict[str, Method] = method_table(
    lifecycle.INITIALIZE,
    by_client("auth/login", lifecycle.LoginAuthRequest, lifecycle.LoginAuthResponse, "authMethods"),
    by_client("auth/logout", lifecycle.LogoutAuthRequest, lifecycle.LogoutAuthResponse, "authMethods"),
    by_client("session/new", sessions.NewSessionRequest, sessions.NewSessionResponse, _SESSION),
    by_client("session/resume", sessions.ResumeSessionRequest, sessions.ResumeSessionResponse, _SESSION),
    by_client("session/list", sessions.ListSessionsRequest, sessions.ListSessionsResponse, _SESSION),
    by_client("session/close", all_versions.CloseSessionRequest, all_versions.CloseSessionResponse, _SESSION),
    by_client(
        "session/delete", all_versions.DeleteSessionRequest, all_versions.DeleteSessionResponse, f"{_SESSION}.delete"
    ),
    by_client(
        "session/fork", sessions.ForkSessionRequest, sessions.ForkSessionResponse, f"{_SESSION}.fork", unstable=True
    ),
    by_client("session/prompt", sessions.PromptRequest, sessions.PromptResponse, _SESSION),
    by_client("session/cancel", sessions.CancelSessionNotification, gate=_SESSION),
    by_client(
        "session/set_config_option",
        options.SetSessionConfigOptionRequest,
        options.SetSessionConfigOptionResponse,
        "configOptions",
    ),
    by_client(
        "tool_call/cancel",
        tool_calls.CancelToolCallRequest,
        tool_calls.CancelToolCallResponse,
        "toolCall.capabilities.cancel",
    ),
    by_client(
        "terminal/cancel",
        terminals.CancelTerminalRequest,
        terminals.CancelTerminalResponse,
        "terminal.capabilities.cancel",
    ),
    by_agent("session/update", updates.UpdateSessionNotification),
    by_agent("session/request_permission", tool_calls.RequestPermissionRequest, tool_calls.RequestPermissionResponse),
    by_agent(
        "elicitation/create",
        elicitation.CreateElicitationRequest,
        elicitation.CreateElicitationResponse,
        f"{_ELICITATION}.{{mode}}",
    ),
    by_agent("elicitation/complete", all_versions.CompleteElicitationNotification, gate=f"{_ELICITATION}.url"),
    Method("$/cancel_request", "notification", "either", lifecycle.CancelRequestNotification),
)
