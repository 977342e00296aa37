"""All methods of v1: who sends them, what they carry, and which capability allows them."""

from __future__ import annotations

from typing import Any

from accord.schema.method import Method
from accord.schema.v1.elicitation import (
    CompleteElicitationNotification,
    CreateElicitationRequest,
    CreateElicitationResponse,
)
from accord.schema.v1.files_and_terminals import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
from accord.schema.v1.lifecycle import (
    AuthenticateRequest,
    AuthenticateResponse,
    CancelRequestNotification,
    InitializeRequest,
    InitializeResponse,
    LogoutRequest,
    LogoutResponse,
)
from accord.schema.v1.options import (
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModelRequest,
    SetSessionModelResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from accord.schema.v1.permissions import RequestPermissionRequest, RequestPermissionResponse
from accord.schema.v1.sessions import (
    CancelNotification,
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
)
from accord.schema.v1.updates import SessionNotification

__all__ = ["METHODS"]

_CLIENT = "clientCapabilities"
_SESSIONS = "agentCapabilities.sessionCapabilities"


def _by_client(name: str, params: Any, result: Any = None, gate: str | None = None, **others: bool) -> Method:
    return Method(name, "notification" if result is None else "request", "client", params, result, gate, **others)


def _by_agent(name: str, params: Any, result: Any = None, gate: str | None = None, **others: bool) -> Method:
    return Method(name, "notification" if result is None else "request", "agent", params, result, gate, **others)


_TABLE = (
    _by_client("initialize", InitializeRequest, InitializeResponse),
    _by_client("authenticate", AuthenticateRequest, AuthenticateResponse, "authMethods"),
    _by_client("logout", LogoutRequest, LogoutResponse, "agentCapabilities.auth.logout"),
    _by_client("session/new", NewSessionRequest, NewSessionResponse),
    _by_client(
        "session/load",
        LoadSessionRequest,
        LoadSessionResponse,
        "agentCapabilities.loadSession",
        shows_null_result=True,  # AMB-04
    ),
    _by_client("session/resume", ResumeSessionRequest, ResumeSessionResponse, f"{_SESSIONS}.resume"),
    _by_client("session/list", ListSessionsRequest, ListSessionsResponse, f"{_SESSIONS}.list"),
    _by_client("session/close", CloseSessionRequest, CloseSessionResponse, f"{_SESSIONS}.close"),
    _by_client("session/delete", DeleteSessionRequest, DeleteSessionResponse, f"{_SESSIONS}.delete"),
    _by_client("session/fork", ForkSessionRequest, ForkSessionResponse, f"{_SESSIONS}.fork", unstable=True),
    _by_client("session/prompt", PromptRequest, PromptResponse),
    _by_client("session/cancel", CancelNotification),
    _by_client("session/set_mode", SetSessionModeRequest, SetSessionModeResponse, "modes"),
    _by_client("session/set_model", SetSessionModelRequest, SetSessionModelResponse, "models", unstable=True),
    _by_client(
        "session/set_config_option", SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, "configOptions"
    ),
    _by_agent("session/update", SessionNotification),
    _by_agent("session/request_permission", RequestPermissionRequest, RequestPermissionResponse),
    _by_agent("fs/read_text_file", ReadTextFileRequest, ReadTextFileResponse, f"{_CLIENT}.fs.readTextFile"),
    _by_agent(
        "fs/write_text_file",
        WriteTextFileRequest,
        WriteTextFileResponse,
        f"{_CLIENT}.fs.writeTextFile",
        shows_null_result=True,  # AMB-01
    ),
    _by_agent("terminal/create", CreateTerminalRequest, CreateTerminalResponse, f"{_CLIENT}.terminal"),
    _by_agent("terminal/output", TerminalOutputRequest, TerminalOutputResponse, f"{_CLIENT}.terminal"),
    _by_agent("terminal/wait_for_exit", WaitForTerminalExitRequest, WaitForTerminalExitResponse, f"{_CLIENT}.terminal"),
    _by_agent("terminal/kill", KillTerminalRequest, KillTerminalResponse, f"{_CLIENT}.terminal"),
    _by_agent("terminal/release", ReleaseTerminalRequest, ReleaseTerminalResponse, f"{_CLIENT}.terminal"),
    _by_agent(
        "elicitation/create", CreateElicitationRequest, CreateElicitationResponse, f"{_CLIENT}.elicitation.{{mode}}"
    ),
    _by_agent("elicitation/complete", CompleteElicitationNotification, gate=f"{_CLIENT}.elicitation.url"),
    Method("$/cancel_request", "notification", "either", CancelRequestNotification),
)

METHODS: dict[str, Method] = {method.name: method for method in _TABLE}
