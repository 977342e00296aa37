"""Checks what is about to be sent to an agent: what no agent could read, and what this one did not offer to take.

What is malformed is a ValueError or a TypeError. What the agent would refuse is the error that it would answer with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from accord.errors import InvalidParams, MethodNotFound
from accord.local.paths import directory_error
from accord.session.capabilities import AgentCapabilities
from accord.session.content import Audio, Content, Image, Resource, Text
from accord.session.entities import Option
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.paths import is_absolute, is_relative
from accord.session.requests import ElicitationAnswer, ElicitationRequest
from accord.session.type_checks import check_block, check_type, check_types

_SERVERS = get_args(McpServer)
_FIELDS = ("string", "number", "integer", "boolean", "array")


def absolute_path(path: str | os.PathLike[str]) -> str:
    """The path as the protocol wants it; one that is absolute on some other system stays as it is (SESS-19)."""
    text = os.fspath(path)
    return text if is_absolute(text) else str(Path(text).absolute())


def check_directory(path: str) -> None:
    """An agent that sees our directories is not asked to work in one that is missing."""
    fault = directory_error(path)
    if fault is not None:
        raise InvalidParams(fault, field="cwd")


def check_offered(offered: bool, method: str) -> None:
    """MethodNotFound, as the agent would answer, for what it does not have (SESS-10)."""
    if not offered:
        raise MethodNotFound(method)


def blocks_of(content: str | Content | Iterable[str | Content]) -> list[Content]:
    """A prompt, block by block; TypeError for what is no content."""
    if isinstance(content, Iterable) and not isinstance(content, str | bytes | Mapping):
        return [Text(text=each) if isinstance(each, str) else each for each in content]
    return [Text(text=content) if isinstance(content, str) else cast("Content", content)]


def check_content(blocks: Sequence[Content], can: AgentCapabilities) -> None:
    """Text and links are always taken, anything else when it was offered (PROMPT-05); ValueError for a malformed block."""
    if not blocks:
        raise ValueError("a prompt needs at least one block of content")
    taken: dict[type[Content], bool] = {Image: can.image, Audio: can.audio, Resource: can.embedded_context}
    for index, block in enumerate(blocks):
        if not taken.get(type(block), True):
            kind = type(block).__name__.lower()
            raise InvalidParams(f"the agent takes no content of type {kind}", field=f"prompt[{index}]")
        check_block(block)
        check_types(block)


def check_choice(options: Sequence[Option], option_id: str, value: str | bool) -> None:
    """An option is given a value that it lists; of an agent that never told its options, only the agent knows."""
    if not options:
        return
    option = next((each for each in options if each.id == option_id), None)
    if option is None:
        known = ", ".join(each.id for each in options)
        raise InvalidParams(f"the session has no option {option_id!r}: it has {known}", field="configId")
    if option.kind == "boolean" and not isinstance(value, bool):
        raise InvalidParams(
            f"the option {option_id!r} is a switch: expected True or False, not {value!r}", field="value"
        )
    values = [choice.value for choice in option.choices]
    if values and value not in values:
        known = ", ".join(values)
        raise InvalidParams(f"the option {option_id!r} has no choice {value!r}: it has {known}", field="value")


def takes_server(server: McpServer, can: AgentCapabilities) -> bool:
    """Of a type that we don't know, only the agent can tell."""
    taken: dict[type[McpServer], bool] = {StdioServer: can.mcp_stdio, HttpServer: can.mcp_http, SseServer: can.mcp_sse}
    return taken.get(type(server), True)


def check_servers(servers: Sequence[McpServer], can: AgentCapabilities) -> None:
    """An agent is only told of MCP servers that it can connect to (SESS-34, SESS-39), by absolute paths (SESS-26)."""
    for index, server in enumerate(servers):
        check_type(server, _SERVERS, "an MCP server")
        check_types(server)
        if isinstance(server, StdioServer) and is_relative(server.command):
            raise InvalidParams(
                "must be an absolute path, or the name of a program", field=f"mcpServers[{index}].command"
            )
        if not takes_server(server, can):
            raise InvalidParams(
                f"the agent does not connect to MCP servers of type {server_type(server)}",
                field=f"mcpServers[{index}].type",
            )


def server_type(server: McpServer) -> str:
    """As the protocol calls it."""
    return str(type(server).__struct_config__.tag)


def check_directories(directories: Sequence[str], can: AgentCapabilities) -> None:
    """A session never starts with fewer roots than were asked for."""
    if directories and not can.additional_directories:
        raise InvalidParams("the agent takes no further directories", field="additionalDirectories")


def check_filled(request: ElicitationRequest, answer: ElicitationAnswer) -> None:
    """An accepted form holds texts, numbers, truth values and lists of texts; anything, where it asks for something else."""
    check_types(answer)
    known = cast("dict[str, Any]", (request.schema or {}).get("properties") or {})
    for name, value in (answer.content or {}).items():
        texts = cast("list[Any]", value) if isinstance(value, list) else [None]
        is_plain = isinstance(value, str | int | float) or all(isinstance(each, str) for each in texts)
        if not is_plain and known.get(name, {}).get("type", "string") in _FIELDS:
            raise ValueError(
                f"{name}: expected a text, a number, True or False, or a list of texts, not {type(cast('object', value)).__name__}"
            )
