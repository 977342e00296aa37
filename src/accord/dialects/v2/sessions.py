"""Converts the opening of sessions, and prompts, of v2."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from accord.dialects.all_versions.mcp_servers import pairs_to_wire, remote_server_from_wire, stdio_server_from_wire
from accord.dialects.all_versions.options import commands_from_wire, set_option_from_wire
from accord.dialects.all_versions.sessions import PromptConverter, SessionConverter, tokens_from_wire
from accord.dialects.dialect import ConvertFunction, ConvertResultFunction, Dialect, RequestConverter
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.dialects.v2.options import COMMANDS, OPTIONS, options_to_wire
from accord.dialects.v2.session_options import OptionsDialect
from accord.dialects.v2.tool_calls import CONTENT
from accord.errors import InvalidParams
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
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


def _servers_to_wire(dialect: Dialect, servers: Iterable[McpServer]) -> list[wire.McpServer] | UnsetType:
    """InvalidParams, as an agent would respond, for a server of the type that v2 no longer has."""
    return [_server_to_wire(server, f"mcpServers[{index}]") for index, server in enumerate(servers)] or UNSET


def _server_to_wire(server: McpServer, field: str) -> wire.McpServer:
    meta = unset_if_none(server.meta)
    match server:
        case StdioServer():
            env = pairs_to_wire(wire.EnvVariable, server.env) or UNSET
            return wire.McpServerStdio(
                name=server.name, command=server.command, args=server.args or UNSET, env=env, meta=meta
            )
        case HttpServer():
            headers = pairs_to_wire(wire.HttpHeader, server.headers) or UNSET
            return wire.McpServerHttp(name=server.name, url=server.url, headers=headers, meta=meta)
        case SseServer():
            raise InvalidParams("v2 has no MCP servers of type sse", field=f"{field}.type")
        case Unknown():
            return UnknownOnWire(server.tag, server.raw)


def _servers_from_wire(servers: list[wire.McpServer] | UnsetType) -> list[McpServer]:
    """InvalidParams for an unknown type, and for two servers of the same name."""
    read: list[McpServer] = []
    names: set[str] = set()
    for index, server in enumerate(list_or_empty(servers)):
        field = f"mcpServers[{index}]"
        if isinstance(server, UnknownOnWire):
            raise InvalidParams("this agent has no such MCP transport", field=f"{field}.type")
        if server.name in names:
            raise InvalidParams("two MCP servers have this name", field=f"{field}.name")
        names.add(server.name)
        is_stdio = isinstance(server, wire.McpServerStdio)
        read.append(stdio_server_from_wire(server, field) if is_stdio else remote_server_from_wire(HttpServer, server))
    return read


def _setup_to_wire(response: type[Any]) -> ConvertResultFunction:
    """For a response that may name a new session."""
    names_session = "session_id" in response.__struct_fields__

    def to_wire(dialect: OptionsDialect, request: Any, result: SessionSetup) -> Any:
        if none_if_unset(result.models) is not None:
            dialect.record_loss("models", "models")
        session_id: Any = result.session_id if names_session else request.session_id
        options = dialect.session_options[session_id]
        if result.options is not UNSET:
            options.options = result.options
        if result.modes is not None:
            options.modes = result.modes
            if not options.has_mode_option:
                dialect.record_loss("mode", session_id)
        has_options = result.options is not UNSET or result.modes is not None
        return response(
            config_options=options_to_wire(dialect, options.with_mode_option()) if has_options else UNSET,
            available_commands=UNSET if result.commands is UNSET else COMMANDS.all_to_wire(result.commands),
            meta=unset_if_none(result.meta),
            **({"session_id": session_id} if names_session else {}),
        )

    return to_wire


def _setup_from_wire(dialect: Dialect, request: AcpRequest, response: Any) -> SessionSetup:
    options = none_if_unset(response.config_options)
    commands = none_if_unset(getattr(response, "available_commands", UNSET))
    return SessionSetup(
        session_id=getattr(response, "session_id", UNSET),
        options=UNSET if options is None else OPTIONS.all_from_wire(dialect, options),
        commands=UNSET if commands is None else commands_from_wire(dialect, commands),
        meta=none_if_unset(response.meta),
    )


def _prompt_result_to_wire(dialect: Dialect, request: Prompt, result: PromptResult) -> wire.PromptResponse:
    """The message's id; a state update has the stop reason."""
    if result.message_id is None:
        raise ValueError("in v2 the result of a prompt needs the id of its message")
    return wire.PromptResponse(message_id=result.message_id, meta=unset_if_none(result.meta))


def _prompt_result_from_wire(dialect: Dialect, request: Prompt, response: Any) -> PromptResult:
    """The message's id. A stop reason beside or in place of it shows that the agent speaks the draft."""
    return PromptResult(
        message_id=none_if_unset(response.message_id),
        stop_reason=none_if_unset(getattr(response, "stop_reason", None)),
        token_usage=tokens_from_wire(getattr(response, "usage", None)),
        meta=none_if_unset(response.meta),
    )


def set_option_to_wire(params: type[Any]) -> ConvertFunction:
    """For params that always have the type of the value."""

    def to_wire(dialect: Dialect, request: SetOption) -> Any:
        return params(
            session_id=request.session_id,
            config_id=request.option_id,
            type="boolean" if isinstance(request.value, bool) else "id",
            value=request.value,
            meta=unset_if_none(request.meta),
        )

    return to_wire


def _set_option_from_wire(dialect: Dialect, params: wire.SetSessionConfigOptionRequest) -> SetOption:
    """InvalidParams for a value of an unknown type."""
    if params.type not in ("id", "boolean"):
        raise InvalidParams("this agent has no options of this type", field="type")
    return set_option_from_wire(dialect, params)


def _set_option_result_to_wire(dialect: OptionsDialect, request: SetOption, result: SessionSetup) -> Any:
    options = dialect.session_options[request.session_id]
    if result.options is not UNSET:
        options.options = result.options
    wire_options = options_to_wire(dialect, options.with_mode_option())
    return wire.SetSessionConfigOptionResponse(config_options=wire_options, meta=unset_if_none(result.meta))


_SESSIONS = SessionConverter(wire, _servers_to_wire, _servers_from_wire)
_PROMPTS = PromptConverter(wire.PromptRequest, CONTENT, min_blocks=1)
_LOAD = partial(wire.ResumeSessionRequest, replay_from=wire.ReplayFromStart())


def _opens(
    request_type: type[AcpRequest], method: str, to_wire: ConvertFunction, from_wire: ConvertFunction, response: Any
) -> RequestConverter:
    return RequestConverter(request_type, method, to_wire, from_wire, _setup_to_wire(response), _setup_from_wire)


SESSION_REQUESTS = (
    _opens(NewSession, "session/new", _SESSIONS.new_to_wire, _SESSIONS.new_from_wire, wire.NewSessionResponse),
    _opens(
        LoadSession,
        "session/resume",
        _SESSIONS.stored_to_wire(_LOAD),
        _SESSIONS.resume_from_wire,
        wire.ResumeSessionResponse,
    ),
    _opens(
        ResumeSession,
        "session/resume",
        _SESSIONS.stored_to_wire(wire.ResumeSessionRequest),
        _SESSIONS.resume_from_wire,
        wire.ResumeSessionResponse,
    ),
    _opens(
        ForkSession,
        "session/fork",
        _SESSIONS.stored_to_wire(wire.ForkSessionRequest),
        _SESSIONS.stored_from_wire(ForkSession),
        wire.ForkSessionResponse,
    ),
    _SESSIONS.list,
    RequestConverter(
        Prompt, "session/prompt", _PROMPTS.to_wire, _PROMPTS.from_wire, _prompt_result_to_wire, _prompt_result_from_wire
    ),
    RequestConverter(
        SetOption,
        "session/set_config_option",
        set_option_to_wire(wire.SetSessionConfigOptionRequest),
        _set_option_from_wire,
        _set_option_result_to_wire,
        _setup_from_wire,
    ),
)
