"""Sessions, prompts and choices, between v2 and words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.dialects.all_versions.mcp_servers import pairs_to_wire, remote_server, stdio_server
from accord.dialects.all_versions.options import commands_from_wire
from accord.dialects.all_versions.options import set_option_from_wire as value_from_wire
from accord.dialects.all_versions.sessions import PromptConverter, SessionConverter, tokens_from_wire
from accord.dialects.dialect import Dialect, RequestFunction, ResultFunction
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.dialects.v2.lifecycle import OptionsDialect
from accord.dialects.v2.options import COMMANDS, options_from_wire, options_to_wire
from accord.dialects.v2.tool_calls import CONTENT
from accord.errors import InvalidParams
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.requests import AcpRequest, Prompt, PromptResult, SessionSetup, SetOption
from accord.session.value import Unknown

__all__ = [
    "PROMPTS",
    "SESSIONS",
    "opened_from_wire",
    "opened_to_wire",
    "options_set_to_wire",
    "prompt_answer_from_wire",
    "prompt_answer_to_wire",
    "set_option_from_wire",
    "set_option_to_wire",
]


def _servers_to_wire(dialect: Dialect, servers: Iterable[McpServer]) -> list[wire.McpServer] | UnsetType:
    """The servers; InvalidParams, as an agent would answer, for one of the kind that v2 no longer has."""
    return [_server_to_wire(server, f"mcpServers[{index}]") for index, server in enumerate(servers)] or UNSET


def _server_to_wire(server: McpServer, field: str) -> wire.McpServer:
    match server:
        case StdioServer():
            return wire.McpServerStdio(
                name=server.name,
                command=server.command,
                args=server.args or UNSET,
                env=pairs_to_wire(wire.EnvVariable, server.env) or UNSET,
                meta=unset_if_none(server.meta),
            )
        case HttpServer():
            headers = pairs_to_wire(wire.HttpHeader, server.headers) or UNSET
            return wire.McpServerHttp(
                name=server.name, url=server.url, headers=headers, meta=unset_if_none(server.meta)
            )
        case SseServer():
            raise InvalidParams("v2 has no MCP servers of type sse", field=f"{field}.type")
        case Unknown():
            return UnknownOnWire(server.tag, server.raw)


def _servers_from_wire(servers: list[wire.McpServer] | UnsetType) -> list[McpServer]:
    """The servers; InvalidParams for a kind that is not known, and for two of the same name."""
    read: list[McpServer] = []
    names: set[str] = set()
    for index, server in enumerate(list_or_empty(servers)):
        if isinstance(server, UnknownOnWire):
            raise InvalidParams("this agent has no such MCP transport", field=f"mcpServers[{index}].type")
        if server.name in names:
            raise InvalidParams("two MCP servers have this name", field=f"mcpServers[{index}].name")
        names.add(server.name)
        is_stdio = isinstance(server, wire.McpServerStdio)
        field = f"mcpServers[{index}]"
        read.append(stdio_server(server, field) if is_stdio else remote_server(HttpServer, server))
    return read


SESSIONS = SessionConverter(wire, _servers_to_wire, _servers_from_wire)
PROMPTS = PromptConverter(wire.PromptRequest, CONTENT, least=1)


def opened_to_wire(result: type[Any]) -> ResultFunction:
    """For a result that may name a new session."""
    names_session = "session_id" in result.__struct_fields__

    def to_wire(dialect: OptionsDialect, asked: Any, answer: SessionSetup) -> Any:
        if none_if_unset(answer.models) is not None:
            dialect.lose("models", "models")
        named: dict[str, Any] = {"session_id": answer.session_id} if names_session else {}
        session_id = named["session_id"] if names_session else asked.session_id
        offered = dialect.offered(session_id)
        if answer.options is not UNSET:
            offered.options = answer.options
        if answer.modes is not None:
            offered.modes = answer.modes
            if not offered.has_mode_option:
                dialect.lose("mode", session_id)
        is_silent = answer.options is UNSET and answer.modes is None
        return result(
            config_options=UNSET if is_silent else options_to_wire(dialect, offered.complete()),
            available_commands=UNSET if answer.commands is UNSET else COMMANDS.all_to_wire(answer.commands),
            meta=unset_if_none(answer.meta),
            **named,
        )

    return to_wire


def opened_from_wire(dialect: Dialect, asked: AcpRequest, result: Any) -> SessionSetup:
    options = none_if_unset(result.config_options)
    commands = none_if_unset(getattr(result, "available_commands", UNSET))
    return SessionSetup(
        session_id=getattr(result, "session_id", UNSET),
        options=UNSET if options is None else options_from_wire(dialect, options),
        commands=UNSET if commands is None else commands_from_wire(dialect, commands),
        meta=none_if_unset(result.meta),
    )


def prompt_answer_to_wire(dialect: Dialect, asked: Prompt, answer: PromptResult) -> wire.PromptResponse:
    """Where the message has its place; the stop reason is told by a state report."""
    if answer.message_id is None:
        raise ValueError("in v2 a prompt is answered with the id of its message")
    return wire.PromptResponse(message_id=answer.message_id, meta=unset_if_none(answer.meta))


def prompt_answer_from_wire(dialect: Dialect, asked: Prompt, result: Any) -> PromptResult:
    """The message's id. A stop reason beside or in place of it shows that the agent speaks the draft."""
    return PromptResult(
        message_id=none_if_unset(result.message_id),
        stop_reason=none_if_unset(getattr(result, "stop_reason", None)),
        token_usage=tokens_from_wire(getattr(result, "usage", None)),
        meta=none_if_unset(result.meta),
    )


def set_option_to_wire(params: type[Any]) -> RequestFunction:
    """For params that always name the type of the value."""

    def to_wire(dialect: Dialect, asked: SetOption) -> Any:
        return params(
            session_id=asked.session_id,
            config_id=asked.option_id,
            type="boolean" if isinstance(asked.value, bool) else "id",
            value=asked.value,
            meta=unset_if_none(asked.meta),
        )

    return to_wire


def set_option_from_wire(dialect: Dialect, params: wire.SetSessionConfigOptionRequest) -> SetOption:
    """The choice of a value; InvalidParams for one of an unknown type."""
    if params.type not in ("id", "boolean"):
        raise InvalidParams("this agent has no options of this type", field="type")
    return value_from_wire(dialect, params)


def options_set_to_wire(dialect: OptionsDialect, asked: SetOption, answer: SessionSetup) -> Any:
    """All options, after one was set."""
    offered = dialect.offered(asked.session_id)
    if answer.options is not UNSET:
        offered.options = answer.options
    options = options_to_wire(dialect, offered.complete())
    return wire.SetSessionConfigOptionResponse(config_options=options, meta=unset_if_none(answer.meta))
