"""v1: the prompt's answer ends the turn, the client serves files and terminals, enums are closed."""

from __future__ import annotations

from typing import Any, ClassVar

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect, Exchange, Telling
from accord.dialects.elicitation import ElicitationMapping
from accord.dialects.permissions import permission_answer_from_wire, permission_answer_to_wire
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1 import client_requests as client
from accord.dialects.v1 import lifecycle, sessions
from accord.dialects.v1.updates_from_wire import UPDATES_FROM_WIRE
from accord.dialects.v1.updates_to_wire import UPDATES_TO_WIRE
from accord.schema import v1 as wire
from accord.session import requests as words

__all__ = ["EXCHANGES", "TELLINGS", "V1"]


def _authenticate_to_wire(dialect: Dialect, asked: words.Authenticate) -> Any:
    return wire.AuthenticateRequest(method_id=asked.method_id, meta=told(asked.meta))


def _authenticate_from_wire(dialect: Dialect, params: Any) -> words.Authenticate:
    return words.Authenticate(method_id=params.method_id, meta=known(params.meta))


def _logout_to_wire(dialect: Dialect, asked: words.Logout) -> Any:
    return wire.LogoutRequest(meta=told(asked.meta))


def _logout_from_wire(dialect: Dialect, params: Any) -> words.Logout:
    return words.Logout(meta=known(params.meta))


def _simple(word: type[Any], method: str, params: type[Any], result: type[Any], **names: str) -> Exchange:
    both = sessions.by_session_id(word, params, **names)
    return Exchange(word, method, *both, sessions.done_to_wire(result), sessions.done_from_wire)


def _stored(word: type[Any], method: str, params: type[Any], result: type[Any], with_id: bool = False) -> Exchange:
    return Exchange(
        word,
        method,
        sessions.stored_to_wire(params),
        sessions.stored_from_wire(word),
        sessions.opened_to_wire(result, with_id),
        sessions.opened_from_wire,
    )


_ELICITATION = ElicitationMapping(wire)

_EXCHANGES = (
    Exchange(
        words.Initialize,
        "initialize",
        lifecycle.initialize_to_wire,
        lifecycle.initialize_from_wire,
        lifecycle.initialized_to_wire,
        lifecycle.initialized_from_wire,
    ),
    Exchange(
        words.Authenticate,
        "authenticate",
        _authenticate_to_wire,
        _authenticate_from_wire,
        sessions.done_to_wire(wire.AuthenticateResponse),
        sessions.done_from_wire,
    ),
    Exchange(
        words.Logout,
        "logout",
        _logout_to_wire,
        _logout_from_wire,
        sessions.done_to_wire(wire.LogoutResponse),
        sessions.done_from_wire,
    ),
    Exchange(
        words.NewSession,
        "session/new",
        sessions.new_to_wire,
        sessions.new_from_wire,
        sessions.opened_to_wire(wire.NewSessionResponse, with_id=True),
        sessions.opened_from_wire,
    ),
    _stored(words.LoadSession, "session/load", wire.LoadSessionRequest, wire.LoadSessionResponse),
    _stored(words.ResumeSession, "session/resume", wire.ResumeSessionRequest, wire.ResumeSessionResponse),
    _stored(words.ForkSession, "session/fork", wire.ForkSessionRequest, wire.ForkSessionResponse, with_id=True),
    Exchange(
        words.ListSessions,
        "session/list",
        sessions.list_to_wire,
        sessions.list_from_wire,
        sessions.page_to_wire,
        sessions.page_from_wire,
    ),
    _simple(words.CloseSession, "session/close", wire.CloseSessionRequest, wire.CloseSessionResponse),
    _simple(words.DeleteSession, "session/delete", wire.DeleteSessionRequest, wire.DeleteSessionResponse),
    Exchange(
        words.Prompt,
        "session/prompt",
        sessions.prompt_to_wire,
        sessions.prompt_from_wire,
        sessions.prompt_answer_to_wire,
        sessions.prompt_answer_from_wire,
    ),
    _simple(
        words.SetMode,
        "session/set_mode",
        wire.SetSessionModeRequest,
        wire.SetSessionModeResponse,
        mode_id="mode_id",
    ),
    _simple(
        words.SetModel,
        "session/set_model",
        wire.SetSessionModelRequest,
        wire.SetSessionModelResponse,
        model_id="model_id",
    ),
    Exchange(
        words.SetOption,
        "session/set_config_option",
        sessions.set_option_to_wire,
        sessions.set_option_from_wire,
        sessions.options_answer_to_wire,
        sessions.opened_from_wire,
    ),
    Exchange(
        words.RequestPermission,
        "session/request_permission",
        client.permission_to_wire,
        client.permission_from_wire,
        permission_answer_to_wire(wire),
        permission_answer_from_wire,
    ),
    _ELICITATION.exchange,
    Exchange(
        words.ReadFile,
        "fs/read_text_file",
        client.read_file_to_wire,
        client.read_file_from_wire,
        client.file_to_wire,
        client.file_from_wire,
    ),
    Exchange(
        words.WriteFile,
        "fs/write_text_file",
        client.write_file_to_wire,
        client.write_file_from_wire,
        sessions.done_to_wire(wire.WriteTextFileResponse),
        sessions.done_from_wire,
    ),
    Exchange(
        words.CreateTerminal,
        "terminal/create",
        client.create_terminal_to_wire,
        client.create_terminal_from_wire,
        client.created_to_wire,
        client.created_from_wire,
    ),
    Exchange(
        words.ReadTerminal,
        "terminal/output",
        *sessions.by_session_id(words.ReadTerminal, wire.TerminalOutputRequest, terminal_id="terminal_id"),
        client.snapshot_to_wire,
        client.snapshot_from_wire,
    ),
    Exchange(
        words.WaitForExit,
        "terminal/wait_for_exit",
        *sessions.by_session_id(words.WaitForExit, wire.WaitForTerminalExitRequest, terminal_id="terminal_id"),
        client.exit_to_wire,
        client.exit_from_wire,
    ),
    _simple(
        words.KillTerminal,
        "terminal/kill",
        wire.KillTerminalRequest,
        wire.KillTerminalResponse,
        terminal_id="terminal_id",
    ),
    _simple(
        words.ReleaseTerminal,
        "terminal/release",
        wire.ReleaseTerminalRequest,
        wire.ReleaseTerminalResponse,
        terminal_id="terminal_id",
    ),
)

EXCHANGES: dict[type[words.Asked], Exchange] = {exchange.word: exchange for exchange in _EXCHANGES}


TELLINGS: dict[type[words.Told], Telling] = {
    words.Cancel: Telling(
        words.Cancel, "session/cancel", *sessions.by_session_id(words.Cancel, wire.CancelNotification)
    ),
    words.ElicitationCompleted: _ELICITATION.telling,
}


class V1(ShowingDialect):
    """ACP v1 as published, which takes in v1 as first documented."""

    name: ClassVar[str] = "v1"
    version: ClassVar[int] = 1
    answer_ends_turn: ClassVar[bool] = True
    tells_state: ClassVar[bool] = False
    echoes_prompt: ClassVar[bool] = False
    has_client_resources: ClassVar[bool] = True
    has_modes: ClassVar[bool] = True
    odd_ids_allowed: ClassVar[bool] = True
    batches_allowed: ClassVar[bool] = True

    METHODS = wire.METHODS
    EXCHANGES = EXCHANGES
    TELLINGS = TELLINGS
    UPDATES_TO_WIRE = UPDATES_TO_WIRE
    UPDATES_FROM_WIRE = UPDATES_FROM_WIRE
    UPDATE_PARAMS = wire.SessionNotification
