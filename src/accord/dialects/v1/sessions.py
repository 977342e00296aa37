"""Sessions, prompts and choices, between v1 and words."""

from __future__ import annotations

from collections.abc import Iterable

from accord.dialects.absent import known, listed, told
from accord.dialects.dialect import Dialect
from accord.dialects.mcp_servers import pairs_to_wire, remote_server, stdio_server
from accord.dialects.sessions import PromptMapping, SessionMapping, tokens_from_wire, tokens_to_wire
from accord.dialects.v1.content import CONTENT
from accord.dialects.v1.opening import OpeningMapping
from accord.dialects.v1.options import options_from_wire, options_to_wire
from accord.schema import v1 as wire
from accord.schema.values import UNSET, UnsetType
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.requests import Prompt, PromptAnswer, SetOption
from accord.session.servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.word import Unknown

__all__ = [
    "OPENING",
    "PROMPTS",
    "SESSIONS",
    "prompt_answer_from_wire",
    "prompt_answer_to_wire",
    "set_option_to_wire",
]


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
                name=server.name, command=server.command, args=server.args, env=env, meta=told(server.meta)
            )
        case HttpServer() | SseServer():
            kind = "http" if isinstance(server, HttpServer) else "sse"
            headers = pairs_to_wire(wire.HttpHeader, server.headers)
            return wire.McpServer(type=kind, name=server.name, url=server.url, headers=headers, meta=told(server.meta))


def _servers_from_wire(servers: list[wire.McpServer | UnknownOnWire] | UnsetType) -> list[McpServer]:
    """The servers; one of a kind v1 does not know is kept whole, to be reported (FN-77)."""
    return [_server_from_wire(server, f"mcpServers[{index}]") for index, server in enumerate(listed(servers))]


def _server_from_wire(server: wire.McpServer | UnknownOnWire, field: str) -> McpServer:
    if isinstance(server, UnknownOnWire):
        return Unknown(tag=server.tag, raw=server.raw, version=CONTENT.closed_by)
    match known(server.type):
        case None | "stdio":
            return stdio_server(server, field)
        case "http":
            return remote_server(HttpServer, server)
        case _:
            return remote_server(SseServer, server)


SESSIONS = SessionMapping(wire, _servers_to_wire, _servers_from_wire)
OPENING = OpeningMapping(options_to_wire, options_from_wire, wire.SetSessionConfigOptionResponse)
PROMPTS = PromptMapping(wire.PromptRequest, CONTENT)
STOP_REASONS = frozenset(("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"))


def prompt_answer_to_wire(dialect: Dialect, asked: Prompt, answer: PromptAnswer) -> wire.PromptResponse:
    reason = answer.stop_reason or "end_turn"
    meta = answer.meta
    if reason not in STOP_REASONS:
        dialect.lose("stop-reason", asked.session_id)
        meta = {**(meta or {}), "accord/stopReason": reason}
        reason = "end_turn"
    return wire.PromptResponse(stop_reason=reason, usage=tokens_to_wire(wire, answer.token_usage), meta=told(meta))


def prompt_answer_from_wire(dialect: Dialect, asked: Prompt, result: wire.PromptResponse) -> PromptAnswer:
    usage = tokens_from_wire(result.usage)
    return PromptAnswer(stop_reason=result.stop_reason, token_usage=usage, meta=known(result.meta))


def set_option_to_wire(dialect: Dialect, asked: SetOption) -> wire.SetSessionConfigOptionRequest:
    return wire.SetSessionConfigOptionRequest(
        session_id=asked.session_id,
        config_id=asked.option_id,
        value=asked.value,
        type="boolean" if isinstance(asked.value, bool) else UNSET,
        meta=told(asked.meta),
    )
