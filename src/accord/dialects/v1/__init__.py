"""v1: the prompt's answer ends the turn, the client serves files and terminals, enums are closed."""

from __future__ import annotations

from typing import Any, ClassVar

from accord.dialects.all_versions.elicitation import ElicitationConverter
from accord.dialects.all_versions.options import set_option_from_wire
from accord.dialects.dialect import NotificationConverter, RequestConverter
from accord.dialects.struct_converter import acknowledged, plain, plain_answer
from accord.dialects.v1 import lifecycle, sessions
from accord.dialects.v1 import requests_to_client as client
from accord.dialects.v1.requests_to_client import PERMISSIONS
from accord.dialects.v1.rewrites import RewriteDialect
from accord.dialects.v1.sessions import OPENING, PROMPTS, SESSIONS
from accord.dialects.v1.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE, settled_to_wire
from accord.schema import v1 as wire
from accord.session import requests as words
from accord.session.updates import Update

__all__ = ["EXCHANGES", "TELLINGS", "V1"]


def _stored(word: type[words.AcpRequest], method: str, params: type[Any], result: type[Any]) -> RequestConverter:
    to_wire, from_wire = SESSIONS.stored_to_wire(params), SESSIONS.stored_from_wire(word)
    return RequestConverter(word, method, to_wire, from_wire, OPENING.to_wire(result), OPENING.from_wire)


_ELICITATION = ElicitationConverter(wire, is_open=False)

_EXCHANGES = (
    RequestConverter(
        words.Initialize,
        "initialize",
        lifecycle.initialize_to_wire,
        lifecycle.initialize_from_wire,
        lifecycle.initialized_to_wire,
        lifecycle.initialized_from_wire,
    ),
    acknowledged(words.Authenticate, "authenticate", wire.AuthenticateRequest, wire.AuthenticateResponse),
    acknowledged(words.Logout, "logout", wire.LogoutRequest, wire.LogoutResponse),
    RequestConverter(
        words.NewSession,
        "session/new",
        SESSIONS.new_to_wire,
        SESSIONS.new_from_wire,
        OPENING.to_wire(wire.NewSessionResponse),
        OPENING.from_wire,
    ),
    _stored(words.LoadSession, "session/load", wire.LoadSessionRequest, wire.LoadSessionResponse),
    _stored(words.ResumeSession, "session/resume", wire.ResumeSessionRequest, wire.ResumeSessionResponse),
    _stored(words.ForkSession, "session/fork", wire.ForkSessionRequest, wire.ForkSessionResponse),
    SESSIONS.listing,
    acknowledged(words.CloseSession, "session/close", wire.CloseSessionRequest, wire.CloseSessionResponse),
    acknowledged(words.DeleteSession, "session/delete", wire.DeleteSessionRequest, wire.DeleteSessionResponse),
    RequestConverter(
        words.Prompt,
        "session/prompt",
        PROMPTS.to_wire,
        PROMPTS.from_wire,
        sessions.prompt_answer_to_wire,
        sessions.prompt_answer_from_wire,
    ),
    acknowledged(words.SetMode, "session/set_mode", wire.SetSessionModeRequest, wire.SetSessionModeResponse),
    acknowledged(words.SetModel, "session/set_model", wire.SetSessionModelRequest, wire.SetSessionModelResponse),
    RequestConverter(
        words.SetOption,
        "session/set_config_option",
        sessions.set_option_to_wire,
        set_option_from_wire,
        OPENING.options_set_to_wire,
        OPENING.from_wire,
    ),
    PERMISSIONS.exchange(client.permission_to_wire, client.permission_from_wire),
    _ELICITATION.exchange,
    RequestConverter(
        words.ReadFile,
        "fs/read_text_file",
        client.read_file_to_wire,
        client.read_file_from_wire,
        *plain_answer(words.FileContent, wire.ReadTextFileResponse),
    ),
    RequestConverter(
        words.WriteFile,
        "fs/write_text_file",
        client.write_file_to_wire,
        client.write_file_from_wire,
        *plain_answer(words.EmptyResult, wire.WriteTextFileResponse),
    ),
    RequestConverter(
        words.CreateTerminal,
        "terminal/create",
        client.create_terminal_to_wire,
        client.create_terminal_from_wire,
        *plain_answer(words.CreateTerminalResult, wire.CreateTerminalResponse),
    ),
    RequestConverter(
        words.ReadTerminal,
        "terminal/output",
        *plain(words.ReadTerminal, wire.TerminalOutputRequest),
        client.snapshot_to_wire,
        client.snapshot_from_wire,
    ),
    RequestConverter(
        words.WaitForExit,
        "terminal/wait_for_exit",
        *plain(words.WaitForExit, wire.WaitForTerminalExitRequest),
        client.exit_to_wire,
        client.exit_from_wire,
    ),
    acknowledged(words.KillTerminal, "terminal/kill", wire.KillTerminalRequest, wire.KillTerminalResponse),
    acknowledged(words.ReleaseTerminal, "terminal/release", wire.ReleaseTerminalRequest, wire.ReleaseTerminalResponse),
)

EXCHANGES: dict[type[words.AcpRequest], RequestConverter] = {exchange.word: exchange for exchange in _EXCHANGES}

TELLINGS: dict[type[words.AcpNotification], NotificationConverter] = {
    words.Cancel: NotificationConverter(words.Cancel, "session/cancel", *plain(words.Cancel, wire.CancelNotification)),
    words.ElicitationCompleted: _ELICITATION.telling,
}


class V1(RewriteDialect):
    """ACP v1 as published, which takes in v1 as first documented."""

    name: ClassVar[str] = "v1"
    version: ClassVar[int] = 1
    result_ends_turn: ClassVar[bool] = True
    reports_state: ClassVar[bool] = False
    echoes_prompt: ClassVar[bool] = False
    has_client_resources: ClassVar[bool] = True
    has_modes: ClassVar[bool] = True
    announces_tool_calls: ClassVar[bool] = True
    has_models: ClassVar[bool] = True
    initialize_may_repeat: ClassVar[bool] = False
    replay_may_follow_load: ClassVar[bool] = True
    refuses_other_servers: ClassVar[bool] = False
    odd_ids_allowed: ClassVar[bool] = True
    batches_allowed: ClassVar[bool] = True

    METHODS = wire.METHODS
    EXCHANGES = EXCHANGES
    TELLINGS = TELLINGS
    UPDATES_TO_WIRE = UPDATES_TO_WIRE
    UPDATES_FROM_WIRE = UPDATES_FROM_WIRE
    UPDATE_PARAMS = wire.SessionNotification

    def update_to_wire(self, session_id: str, change: Update) -> list[Any]:
        """The params that tell a change; before it, what was held back of messages that are settled by it."""
        settled = self.rewrites(session_id).settled(change)
        updates = [update for each in settled for update in settled_to_wire(self, session_id, each)]
        held = [self.UPDATE_PARAMS(session_id=session_id, update=update) for update in updates]
        return [*held, *super().update_to_wire(session_id, change)]
