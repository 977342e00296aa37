"""Sessions, prompts and choices, between v2 and words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.dialects.absent import known, listed, told
from accord.dialects.dialect import Dialect
from accord.dialects.paths import absolute
from accord.dialects.v2.content import CONTENT
from accord.dialects.v2.offered import OfferingDialect
from accord.dialects.v2.options import commands_from_wire, commands_to_wire, options_from_wire, options_to_wire
from accord.errors import InvalidParams
from accord.schema import v2 as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.requests import (
    Asked,
    Done,
    ListSessions,
    LoadSession,
    NewSession,
    Prompt,
    PromptAnswer,
    ResumeSession,
    SessionOpened,
    SessionPage,
    SessionSummary,
    SetOption,
)
from accord.session.servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.word import Unknown

__all__ = [
    "by_session_id",
    "done_from_wire",
    "done_to_wire",
    "list_from_wire",
    "list_to_wire",
    "load_to_wire",
    "new_from_wire",
    "new_to_wire",
    "opened_from_wire",
    "opened_to_wire",
    "options_answer_to_wire",
    "page_from_wire",
    "page_to_wire",
    "prompt_answer_from_wire",
    "prompt_answer_to_wire",
    "prompt_from_wire",
    "prompt_to_wire",
    "servers_from_wire",
    "servers_to_wire",
    "set_option_from_wire",
    "set_option_to_wire",
    "stored_from_wire",
    "stored_to_wire",
    "taken_up_from_wire",
]


def servers_to_wire(servers: Iterable[McpServer]) -> Any:
    """The servers; InvalidParams, as an agent would answer, for one of the kind that v2 no longer has."""
    written: list[Any] = []
    for index, server in enumerate(servers):
        match server:
            case StdioServer():
                env = [wire.EnvVariable(name=name, value=value) for name, value in server.env.items()]
                written.append(
                    wire.McpServerStdio(
                        name=server.name,
                        command=server.command,
                        args=server.args or UNSET,
                        env=env or UNSET,
                        meta=told(server.meta),
                    )
                )
            case HttpServer():
                headers = [wire.HttpHeader(name=name, value=value) for name, value in server.headers.items()]
                written.append(
                    wire.McpServerHttp(
                        name=server.name, url=server.url, headers=headers or UNSET, meta=told(server.meta)
                    )
                )
            case SseServer():
                raise InvalidParams("v2 has no MCP servers of type sse", field=f"mcpServers[{index}].type")
            case Unknown():
                written.append(UnknownOnWire(server.tag, server.raw))
    return written or UNSET


def servers_from_wire(servers: Any) -> list[McpServer]:
    """The servers; InvalidParams for a kind that is not known, and for two of the same name."""
    read: list[McpServer] = []
    names: set[str] = set()
    for index, server in enumerate(listed(servers)):
        if isinstance(server, UnknownOnWire):
            raise InvalidParams("this agent has no such MCP transport", field=f"mcpServers[{index}].type")
        if server.name in names:
            raise InvalidParams("two MCP servers have this name", field=f"mcpServers[{index}].name")
        names.add(server.name)
        if isinstance(server, wire.McpServerStdio):
            read.append(
                StdioServer(
                    name=server.name,
                    command=server.command,
                    args=listed(server.args),
                    env={variable.name: variable.value for variable in listed(server.env)},
                    meta=known(server.meta),
                )
            )
        else:
            headers = {header.name: header.value for header in listed(server.headers)}
            read.append(HttpServer(name=server.name, url=server.url, headers=headers, meta=known(server.meta)))
    return read


def _place_to_wire(asked: Any) -> dict[str, Any]:
    return {
        "cwd": asked.cwd,
        "mcp_servers": servers_to_wire(asked.servers),
        "additional_directories": asked.additional_directories or UNSET,
        "meta": told(asked.meta),
    }


def _place_from_wire(params: Any) -> dict[str, Any]:
    directories = listed(params.additional_directories)
    return {
        "cwd": absolute(params.cwd, "cwd"),
        "servers": servers_from_wire(params.mcp_servers),
        "additional_directories": [absolute(path, "additionalDirectories") for path in directories],
        "meta": known(params.meta),
    }


def new_to_wire(dialect: Dialect, asked: NewSession) -> wire.NewSessionRequest:
    return wire.NewSessionRequest(**_place_to_wire(asked))


def new_from_wire(dialect: Dialect, params: wire.NewSessionRequest) -> NewSession:
    return NewSession(**_place_from_wire(params))


def stored_to_wire(params: type[Any]) -> Any:
    """For resume and fork, which take the same."""

    def to_wire(dialect: Dialect, asked: Any) -> Any:
        return params(session_id=asked.session_id, **_place_to_wire(asked))

    return to_wire


def stored_from_wire(word: type[Any]) -> Any:
    def from_wire(dialect: Dialect, params: Any) -> Any:
        return word(session_id=params.session_id, **_place_from_wire(params))

    return from_wire


def load_to_wire(dialect: Dialect, asked: LoadSession) -> wire.ResumeSessionRequest:
    return wire.ResumeSessionRequest(
        session_id=asked.session_id, replay_from=wire.ReplayFromStart(), **_place_to_wire(asked)
    )


def taken_up_from_wire(dialect: Dialect, params: wire.ResumeSessionRequest) -> LoadSession | ResumeSession:
    """A session to be told from the start, or not at all; InvalidParams for any other beginning."""
    beginning = known(params.replay_from)
    if isinstance(beginning, UnknownOnWire):
        raise InvalidParams("this agent cannot begin there", field="replayFrom.type")
    word = ResumeSession if beginning is None else LoadSession
    return word(session_id=params.session_id, **_place_from_wire(params))


def opened_to_wire(result: type[Any], with_id: bool = False) -> Any:
    def to_wire(dialect: OfferingDialect, asked: Any, answer: SessionOpened) -> Any:
        if known(answer.models) is not None:
            dialect.lose("models", "models")
        fields: dict[str, Any] = {"session_id": answer.session_id} if with_id else {}
        session_id = fields["session_id"] if with_id else asked.session_id
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
            available_commands=UNSET if answer.commands is UNSET else commands_to_wire(answer.commands),
            meta=told(answer.meta),
            **fields,
        )

    return to_wire


def opened_from_wire(dialect: Dialect, asked: Asked, result: Any) -> SessionOpened:
    options = known(result.config_options)
    commands = known(getattr(result, "available_commands", UNSET))
    return SessionOpened(
        session_id=getattr(result, "session_id", UNSET),
        options=UNSET if options is None else options_from_wire(dialect, options),
        commands=UNSET if commands is None else commands_from_wire(dialect, commands),
        meta=known(result.meta),
    )


def list_to_wire(dialect: Dialect, asked: ListSessions) -> wire.ListSessionsRequest:
    return wire.ListSessionsRequest(cwd=told(asked.cwd), cursor=told(asked.cursor), meta=told(asked.meta))


def list_from_wire(dialect: Dialect, params: Any) -> ListSessions:
    cwd = known(params.cwd)
    if cwd is not None:
        absolute(cwd, "cwd")
    return ListSessions(cwd=cwd, cursor=known(params.cursor), meta=known(params.meta))


def page_to_wire(dialect: Dialect, asked: Any, answer: SessionPage) -> wire.ListSessionsResponse:
    sessions = [
        wire.SessionInfo(
            session_id=summary.session_id,
            cwd=summary.cwd,
            additional_directories=summary.additional_directories or UNSET,
            title=told(summary.title),
            updated_at=told(summary.updated_at),
            meta=told(summary.meta),
        )
        for summary in answer.sessions
    ]
    return wire.ListSessionsResponse(sessions=sessions, next_cursor=told(answer.next_cursor), meta=told(answer.meta))


def page_from_wire(dialect: Dialect, asked: Any, result: Any) -> SessionPage:
    sessions = [
        SessionSummary(
            session_id=info.session_id,
            cwd=info.cwd,
            additional_directories=listed(info.additional_directories),
            title=known(info.title),
            updated_at=known(info.updated_at),
            meta=known(info.meta),
        )
        for info in result.sessions
    ]
    return SessionPage(sessions=sessions, next_cursor=known(result.next_cursor), meta=known(result.meta))


def prompt_to_wire(dialect: Dialect, asked: Prompt) -> wire.PromptRequest:
    return wire.PromptRequest(
        session_id=asked.session_id, prompt=CONTENT.all_to_wire(asked.content), meta=told(asked.meta)
    )


def prompt_from_wire(dialect: Dialect, params: Any) -> Prompt:
    content = CONTENT.all_from_wire(params.prompt)
    for index, block in enumerate(content):
        if isinstance(block, Unknown):  # nobody advertised that it takes these
            raise InvalidParams("this agent takes no content of this type", field=f"prompt[{index}].type")
    return Prompt(session_id=params.session_id, content=content, meta=known(params.meta))


def prompt_answer_to_wire(dialect: Dialect, asked: Any, answer: PromptAnswer) -> wire.PromptResponse:
    """Where the message has its place; the stop reason is told by a state report."""
    assert answer.message_id is not None
    return wire.PromptResponse(message_id=answer.message_id, meta=told(answer.meta))


def prompt_answer_from_wire(dialect: Dialect, asked: Any, result: Any) -> PromptAnswer:
    """The message's id. A stop reason beside or in place of it shows that the agent speaks the draft."""
    return PromptAnswer(
        message_id=known(result.message_id),
        stop_reason=known(getattr(result, "stop_reason", None)),
        meta=known(result.meta),
    )


def set_option_to_wire(dialect: Dialect, asked: SetOption) -> wire.SetSessionConfigOptionRequest:
    return wire.SetSessionConfigOptionRequest(
        session_id=asked.session_id,
        config_id=asked.option_id,
        type="boolean" if isinstance(asked.value, bool) else "id",
        value=asked.value,
        meta=told(asked.meta),
    )


def set_option_from_wire(dialect: Dialect, params: Any) -> SetOption:
    if params.type not in ("id", "boolean"):
        raise InvalidParams("this agent has no options of this type", field="type")
    return SetOption(
        session_id=params.session_id, option_id=params.config_id, value=params.value, meta=known(params.meta)
    )


def options_answer_to_wire(dialect: OfferingDialect, asked: Any, answer: SessionOpened) -> Any:
    offered = dialect.offered(asked.session_id)
    if answer.options is not UNSET:
        offered.options = answer.options
    options = options_to_wire(dialect, offered.complete())
    return wire.SetSessionConfigOptionResponse(config_options=options, meta=told(answer.meta))


def by_session_id(word: type[Any], params: type[Any], *names: str) -> tuple[Any, Any]:
    """Both directions of a request that is only ids: the session's, and those that word and params name alike."""

    def to_wire(dialect: Dialect, asked: Any) -> Any:
        members = {name: getattr(asked, name) for name in names}
        return params(session_id=asked.session_id, meta=told(asked.meta), **members)

    def from_wire(dialect: Dialect, read: Any) -> Any:
        fields = {name: getattr(read, name) for name in names}
        return word(session_id=read.session_id, meta=known(read.meta), **fields)

    return to_wire, from_wire


def done_to_wire(result: type[Any]) -> Any:
    """For answers that only say that it worked: an empty object."""

    def to_wire(dialect: Dialect, asked: Any, answer: Done) -> Any:
        return result(meta=told(answer.meta))

    return to_wire


def done_from_wire(dialect: Dialect, asked: Any, result: Any) -> Done:
    return Done(meta=known(result.meta))
