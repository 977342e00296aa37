"""Converts the opening of sessions, and prompts, of v1."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.all_versions.mcp_servers import pairs_to_wire, remote_server_from_wire, stdio_server_from_wire
from accord.dialects.all_versions.options import OptionReader, commands_from_wire, set_option_from_wire
from accord.dialects.all_versions.sessions import PromptConverter, SessionConverter, tokens_from_wire, tokens_to_wire
from accord.dialects.dialect import ConvertResultFunction, Dialect, RequestConverter
from accord.dialects.display_state import DisplayDialect
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.dialects.v1.modes_and_options import (
    OPTIONS,
    modes_from_wire,
    modes_of_options,
    modes_to_wire,
    options_to_wire,
)
from accord.dialects.v1.tool_calls import CONTENT
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Modes, Option
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.requests import (
    AcpRequest,
    ForkSession,
    LoadSession,
    NewSession,
    Prompt,
    PromptResult,
    ResumeSession,
    SessionSetup,
    SetOption,
)
from accord.session.value import Unknown

_STOP_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")


class SetupConverter:
    """Converts the results that open a session; for the options of one version."""

    def __init__(
        self,
        options_to_wire: Callable[[Dialect, Iterable[Option]], list[Any]],
        options: OptionReader,
        set_option_response: type[Any],
    ) -> None:
        self._options_to_wire = options_to_wire
        self._options = options
        self._set_option_response = set_option_response

    def to_wire(self, response: type[Any]) -> ConvertResultFunction:
        """For a response that may name a new session. Commands are left to updates: clients need not look here."""
        names_session = "session_id" in response.__struct_fields__

        def to_wire(dialect: DisplayDialect, request: Any, result: SessionSetup) -> Any:
            session_id: Any = result.session_id if names_session else request.session_id
            if result.commands:
                dialect.record_loss("opened-commands", session_id)
            return response(
                modes=modes_to_wire(_track_modes(dialect, session_id, result)),
                config_options=UNSET if result.options is UNSET else self._options_to_wire(dialect, result.options),
                models=result.models,
                meta=unset_if_none(result.meta),
                **({"session_id": session_id} if names_session else {}),
            )

        return to_wire

    def from_wire(self, dialect: Dialect, request: AcpRequest, response: Any) -> SessionSetup:
        options = none_if_unset(response.config_options)
        commands = none_if_unset(getattr(response, "available_commands", UNSET))
        return SessionSetup(
            session_id=getattr(response, "session_id", UNSET),
            modes=modes_from_wire(getattr(response, "modes", UNSET)),
            options=UNSET if options is None else self._options.all_from_wire(dialect, options),
            commands=UNSET if commands is None else commands_from_wire(dialect, commands),
            models=getattr(response, "models", UNSET),
            meta=none_if_unset(response.meta),
        )

    def set_option_result_to_wire(self, dialect: Dialect, request: SetOption, result: SessionSetup) -> Any:
        options = [] if result.options is UNSET else result.options
        return self._set_option_response(
            config_options=self._options_to_wire(dialect, options), meta=unset_if_none(result.meta)
        )


def _track_modes(dialect: DisplayDialect, session_id: str, result: SessionSetup) -> Modes | None:
    """The modes of a new session, made from the mode option if need be; the two are kept equal from here on."""
    display = dialect.displays[session_id]
    modes = result.modes
    if result.options is not UNSET:
        display.options = result.options
        modes = modes or modes_of_options(result.options)
    if modes is not None:
        display.mode = modes.current
    return modes


def _servers_to_wire(dialect: Dialect, servers: Iterable[McpServer]) -> list[wire.McpServer | UnknownOnWire]:
    """A server of an unknown type is sent only if it was received in v1."""
    wire_servers: list[wire.McpServer | UnknownOnWire] = []
    for server in servers:
        if not isinstance(server, Unknown):
            wire_servers.append(_server_to_wire(server))
        elif server.version == CONTENT.closed_by:
            wire_servers.append(UnknownOnWire(server.tag, server.raw))
        else:
            dialect.record_loss("mcp-type", server.tag)
    return wire_servers


def _server_to_wire(server: StdioServer | HttpServer | SseServer) -> wire.McpServer:
    meta = unset_if_none(server.meta)
    if isinstance(server, StdioServer):
        env = pairs_to_wire(wire.EnvVariable, server.env)
        return wire.McpServer(name=server.name, command=server.command, args=server.args, env=env, meta=meta)
    kind = "http" if isinstance(server, HttpServer) else "sse"
    headers = pairs_to_wire(wire.HttpHeader, server.headers)
    return wire.McpServer(type=kind, name=server.name, url=server.url, headers=headers, meta=meta)


def _servers_from_wire(servers: list[wire.McpServer | UnknownOnWire] | UnsetType) -> list[McpServer]:
    """A server of an unknown type is kept whole, to be reported (FN-77)."""
    return [_server_from_wire(server, f"mcpServers[{index}]") for index, server in enumerate(list_or_empty(servers))]


def _server_from_wire(server: wire.McpServer | UnknownOnWire, field: str) -> McpServer:
    if isinstance(server, UnknownOnWire):
        return Unknown(tag=server.tag, raw=server.raw, version=CONTENT.closed_by)
    match none_if_unset(server.type):
        case None | "stdio":
            return stdio_server_from_wire(server, field)
        case "http":
            return remote_server_from_wire(HttpServer, server)
        case _:
            return remote_server_from_wire(SseServer, server)


def _prompt_result_to_wire(dialect: Dialect, request: Prompt, result: PromptResult) -> wire.PromptResponse:
    reason, meta = result.stop_reason or "end_turn", result.meta
    if reason not in _STOP_REASONS:
        dialect.record_loss("stop-reason", request.session_id)
        meta = {**(meta or {}), "accord/stopReason": reason}
        reason = "end_turn"
    return wire.PromptResponse(stop_reason=reason, usage=tokens_to_wire(result.token_usage), meta=unset_if_none(meta))


def _prompt_result_from_wire(dialect: Dialect, request: Prompt, response: wire.PromptResponse) -> PromptResult:
    usage = tokens_from_wire(response.usage)
    return PromptResult(stop_reason=response.stop_reason, token_usage=usage, meta=none_if_unset(response.meta))


def _set_option_to_wire(dialect: Dialect, request: SetOption) -> wire.SetSessionConfigOptionRequest:
    return wire.SetSessionConfigOptionRequest(
        session_id=request.session_id,
        config_id=request.option_id,
        value=request.value,
        type="boolean" if isinstance(request.value, bool) else UNSET,
        meta=unset_if_none(request.meta),
    )


def _stored(request_type: type[AcpRequest], method: str, params: type[Any], response: type[Any]) -> RequestConverter:
    to_wire, from_wire = SESSIONS.stored_to_wire(params), SESSIONS.stored_from_wire(request_type)
    return RequestConverter(request_type, method, to_wire, from_wire, _SETUP.to_wire(response), _SETUP.from_wire)


SESSIONS = SessionConverter(wire, _servers_to_wire, _servers_from_wire)
_SETUP = SetupConverter(options_to_wire, OPTIONS, wire.SetSessionConfigOptionResponse)
_PROMPTS = PromptConverter(wire.PromptRequest, CONTENT)

SESSION_REQUESTS = (
    RequestConverter(
        NewSession,
        "session/new",
        SESSIONS.new_to_wire,
        SESSIONS.new_from_wire,
        _SETUP.to_wire(wire.NewSessionResponse),
        _SETUP.from_wire,
    ),
    _stored(LoadSession, "session/load", wire.LoadSessionRequest, wire.LoadSessionResponse),
    _stored(ResumeSession, "session/resume", wire.ResumeSessionRequest, wire.ResumeSessionResponse),
    _stored(ForkSession, "session/fork", wire.ForkSessionRequest, wire.ForkSessionResponse),
    SESSIONS.list,
    RequestConverter(
        Prompt, "session/prompt", _PROMPTS.to_wire, _PROMPTS.from_wire, _prompt_result_to_wire, _prompt_result_from_wire
    ),
    RequestConverter(
        SetOption,
        "session/set_config_option",
        _set_option_to_wire,
        set_option_from_wire,
        _SETUP.set_option_result_to_wire,
        _SETUP.from_wire,
    ),
)
