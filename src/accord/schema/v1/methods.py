"""All methods of v1: the sender, the params and result types, and the capability that allows each."""

from __future__ import annotations

from accord.schema import all_versions
from accord.schema.method import Method, by_agent, by_client, method_table
from accord.schema.v1 import elicitation, files_and_terminals, lifecycle, options, sessions, tool_calls, updates

__all__ = ["METHODS"]

_CLIENT = "clientCapabilities"
_TERMINAL = f"{_CLIENT}.terminal"
_SESSIONS = "agentCapabilities.sessionCapabilities"

METHODS: dict[str, Method] = method_table(
    lifecycle.INITIALIZE,
    by_client("authenticate", lifecycle.AuthenticateRequest, lifecycle.AuthenticateResponse, "authMethods"),
    by_client("logout", lifecycle.LogoutRequest, lifecycle.LogoutResponse, "agentCapabilities.auth.logout"),
    by_client("session/new", sessions.NewSessionRequest, sessions.NewSessionResponse),
    by_client(
        "session/load",
        sessions.LoadSessionRequest,
        sessions.LoadSessionResponse,
        "agentCapabilities.loadSession",
        shows_null_result=True,  # AMB-04
    ),
    by_client("session/resume", sessions.ResumeSessionRequest, sessions.ResumeSessionResponse, f"{_SESSIONS}.resume"),
    by_client("session/list", sessions.ListSessionsRequest, sessions.ListSessionsResponse, f"{_SESSIONS}.list"),
    by_client(
        "session/close", all_versions.CloseSessionRequest, all_versions.CloseSessionResponse, f"{_SESSIONS}.close"
    ),
    by_client(
        "session/delete", all_versions.DeleteSessionRequest, all_versions.DeleteSessionResponse, f"{_SESSIONS}.delete"
    ),
    by_client(
        "session/fork", sessions.ForkSessionRequest, sessions.ForkSessionResponse, f"{_SESSIONS}.fork", unstable=True
    ),
    by_client("session/prompt", sessions.PromptRequest, sessions.PromptResponse),
    by_client("session/cancel", sessions.CancelNotification),
    by_client("session/set_mode", options.SetSessionModeRequest, options.SetSessionModeResponse, "modes"),
    by_client(
        "session/set_model", options.SetSessionModelRequest, options.SetSessionModelResponse, "models", unstable=True
    ),
    by_client(
        "session/set_config_option",
        options.SetSessionConfigOptionRequest,
        options.SetSessionConfigOptionResponse,
        "configOptions",
    ),
    by_agent("session/update", updates.SessionNotification),
    by_agent("session/request_permission", tool_calls.RequestPermissionRequest, tool_calls.RequestPermissionResponse),
    by_agent(
        "fs/read_text_file",
        files_and_terminals.ReadTextFileRequest,
        files_and_terminals.ReadTextFileResponse,
        f"{_CLIENT}.fs.readTextFile",
    ),
    by_agent(
        "fs/write_text_file",
        files_and_terminals.WriteTextFileRequest,
        files_and_terminals.WriteTextFileResponse,
        f"{_CLIENT}.fs.writeTextFile",
        shows_null_result=True,  # AMB-01
    ),
    by_agent(
        "terminal/create",
        files_and_terminals.CreateTerminalRequest,
        files_and_terminals.CreateTerminalResponse,
        _TERMINAL,
    ),
    by_agent(
        "terminal/output",
        files_and_terminals.TerminalOutputRequest,
        files_and_terminals.TerminalOutputResponse,
        _TERMINAL,
    ),
    by_agent(
        "terminal/wait_for_exit",
        files_and_terminals.WaitForTerminalExitRequest,
        files_and_terminals.WaitForTerminalExitResponse,
        _TERMINAL,
    ),
    by_agent(
        "terminal/kill", files_and_terminals.KillTerminalRequest, files_and_terminals.KillTerminalResponse, _TERMINAL
    ),
    by_agent(
        "terminal/release",
        files_and_terminals.ReleaseTerminalRequest,
        files_and_terminals.ReleaseTerminalResponse,
        _TERMINAL,
    ),
    by_agent(
        "elicitation/create",
        elicitation.CreateElicitationRequest,
        elicitation.CreateElicitationResponse,
        f"{_CLIENT}.elicitation.{{mode}}",
    ),
    by_agent("elicitation/complete", all_versions.CompleteElicitationNotification, gate=f"{_CLIENT}.elicitation.url"),
    Method("$/cancel_request", "notification", "either", lifecycle.CancelRequestNotification),
)
