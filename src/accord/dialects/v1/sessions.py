"""Maps sessions, prompts and the options a session opens with, between v1 and the session model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.all_versions.mcp_servers import pairs_to_wire, remote_server, stdio_server
from accord.dialects.all_versions.options import commands_from_wire, mode_option
from accord.dialects.all_versions.sessions import PromptConverter, SessionConverter, tokens_from_wire, tokens_to_wire
from accord.dialects.dialect import Dialect, ResultFunction
from accord.dialects.display_fallback import DisplayDialect
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.dialects.v1.modes_and_options import options_from_wire, options_to_wire
from accord.dialects.v1.tool_calls import CONTENT
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Mode, Modes, Option
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.requests import AcpRequest, Prompt, PromptResult, SessionSetup, SetOption
from accord.session.value import Unknown

__all__ = [
    "OPENING",
    "PROMPTS",
    "SESSIONS",
    "SetupConverter",
    "prompt_answer_from_wire",
    "prompt_answer_to_wire",
    "set_option_to_wire",
]


class SetupConverter:
    """Bound to how one version spells options."""

    def __init__(
        self,
        options_to_wire: Callable[[Dialect, Iterable[Option]], list[Any]],
        options_from_wire: Callable[[Dialect, Iterable[Any]], list[Option]],
        options_set: type[Any],
    ) -> None:
        self._options_to_wire = options_to_wire
        self._options_from_wire = options_from_wire
        self._options_set = options_set

    def to_wire(self, result: type[Any]) -> ResultFunction:
        """For a result that may name a new session. Clients need not look for commands in it: those are left to updates."""
        names_session = "session_id" in result.__struct_fields__

        def opened_to_wire(dialect: DisplayDialect, asked: Any, answer: SessionSetup) -> Any:
            named: dict[str, Any] = {"session_id": answer.session_id} if names_session else {}
            session_id = named["session_id"] if names_session else asked.session_id
            if answer.commands:
                dialect.lose("opened-commands", session_id)
            return result(
                modes=_modes_to_wire(_modes_shown(dialect, session_id, answer)),
                config_options=UNSET if answer.options is UNSET else self._options_to_wire(dialect, answer.options),
                models=answer.models,
                meta=unset_if_none(answer.meta),
                **named,
            )

        return opened_to_wire

    def from_wire(self, dialect: Dialect, asked: AcpRequest, result: Any) -> SessionSetup:
        options = none_if_unset(result.config_options)
        commands = none_if_unset(getattr(result, "available_commands", UNSET))
        return SessionSetup(
            session_id=getattr(result, "session_id", UNSET),
            modes=_modes_from_wire(getattr(result, "modes", UNSET)),
            options=UNSET if options is None else self._options_from_wire(dialect, options),
            commands=UNSET if commands is None else commands_from_wire(dialect, commands),
            models=getattr(result, "models", UNSET),
            meta=none_if_unset(result.meta),
        )

    def options_set_to_wire(self, dialect: Dialect, asked: SetOption, answer: SessionSetup) -> Any:
        """All options, after one was set."""
        options = [] if answer.options is UNSET else answer.options
        return self._options_set(
            config_options=self._options_to_wire(dialect, options), meta=unset_if_none(answer.meta)
        )


def _modes_shown(dialect: DisplayDialect, session_id: str, answer: SessionSetup) -> Modes | None:
    """The modes to open a session with, made from the mode option if need be; they are kept in step from here on."""
    shown = dialect.shown(session_id)
    modes = answer.modes
    if answer.options is not UNSET:
        shown.options = answer.options
        modes = modes or _modes_of(answer.options)
    if modes is not None:
        shown.mode = modes.current
    return modes


def _modes_of(options: Iterable[Option]) -> Modes | None:
    option = mode_option(options)
    if option is None:
        return None
    available = [Mode(id=each.value, name=each.name, description=each.description) for each in option.choices]
    return Modes(current=str(option.value), available=available)


def _modes_to_wire(modes: Modes | None) -> wire.SessionModeState | UnsetType:
    if modes is None:
        return UNSET
    available = [
        wire.SessionMode(
            id=mode.id, name=mode.name, description=unset_if_none(mode.description), meta=unset_if_none(mode.meta)
        )
        for mode in modes.available
    ]
    return wire.SessionModeState(
        current_mode_id=modes.current, available_modes=available, meta=unset_if_none(modes.meta)
    )


def _modes_from_wire(state: wire.SessionModeState | None | UnsetType) -> Modes | None:
    said = none_if_unset(state)
    if said is None:
        return None
    available = [
        Mode(id=mode.id, name=mode.name, description=none_if_unset(mode.description), meta=none_if_unset(mode.meta))
        for mode in said.available_modes
    ]
    return Modes(current=said.current_mode_id, available=available, meta=none_if_unset(said.meta))


def _servers_to_wire(dialect: Dialect, servers: Iterable[McpServer]) -> list[wire.McpServer | UnknownOnWire]:
    """The servers; one of a kind v1 does not know only if it was read in v1."""
    written: list[wire.McpServer | UnknownOnWire] = []
    for server in servers:
        if not isinstance(server, Unknown):
            written.append(_server_to_wire(server))
        elif server.version == CONTENT.closed_by:
            written.append(UnknownOnWire(server.tag, server.raw))
        else:
            dialect.lose("mcp-type", server.tag)
    return written


def _server_to_wire(server: StdioServer | HttpServer | SseServer) -> wire.McpServer:
    match server:
        case StdioServer():
            env = pairs_to_wire(wire.EnvVariable, server.env)
            return wire.McpServer(
                name=server.name, command=server.command, args=server.args, env=env, meta=unset_if_none(server.meta)
            )
        case HttpServer() | SseServer():
            kind = "http" if isinstance(server, HttpServer) else "sse"
            headers = pairs_to_wire(wire.HttpHeader, server.headers)
            return wire.McpServer(
                type=kind, name=server.name, url=server.url, headers=headers, meta=unset_if_none(server.meta)
            )


def _servers_from_wire(servers: list[wire.McpServer | UnknownOnWire] | UnsetType) -> list[McpServer]:
    """The servers; one of a kind v1 does not know is kept whole, to be reported (FN-77)."""
    return [_server_from_wire(server, f"mcpServers[{index}]") for index, server in enumerate(list_or_empty(servers))]


def _server_from_wire(server: wire.McpServer | UnknownOnWire, field: str) -> McpServer:
    if isinstance(server, UnknownOnWire):
        return Unknown(tag=server.tag, raw=server.raw, version=CONTENT.closed_by)
    match none_if_unset(server.type):
        case None | "stdio":
            return stdio_server(server, field)
        case "http":
            return remote_server(HttpServer, server)
        case _:
            return remote_server(SseServer, server)


SESSIONS = SessionConverter(wire, _servers_to_wire, _servers_from_wire)
OPENING = SetupConverter(options_to_wire, options_from_wire, wire.SetSessionConfigOptionResponse)
PROMPTS = PromptConverter(wire.PromptRequest, CONTENT)
STOP_REASONS = frozenset(("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"))


def prompt_answer_to_wire(dialect: Dialect, asked: Prompt, answer: PromptResult) -> wire.PromptResponse:
    reason = answer.stop_reason or "end_turn"
    meta = answer.meta
    if reason not in STOP_REASONS:
        dialect.lose("stop-reason", asked.session_id)
        meta = {**(meta or {}), "accord/stopReason": reason}
        reason = "end_turn"
    return wire.PromptResponse(
        stop_reason=reason, usage=tokens_to_wire(wire, answer.token_usage), meta=unset_if_none(meta)
    )


def prompt_answer_from_wire(dialect: Dialect, asked: Prompt, result: wire.PromptResponse) -> PromptResult:
    usage = tokens_from_wire(result.usage)
    return PromptResult(stop_reason=result.stop_reason, token_usage=usage, meta=none_if_unset(result.meta))


def set_option_to_wire(dialect: Dialect, asked: SetOption) -> wire.SetSessionConfigOptionRequest:
    return wire.SetSessionConfigOptionRequest(
        session_id=asked.session_id,
        config_id=asked.option_id,
        value=asked.value,
        type="boolean" if isinstance(asked.value, bool) else UNSET,
        meta=unset_if_none(asked.meta),
    )
