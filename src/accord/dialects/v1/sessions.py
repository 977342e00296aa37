"""Sessions and prompts, between v1 and words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.dialects.absent import known, listed, told
from accord.dialects.dialect import Dialect
from accord.dialects.paths import absolute
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1.content import CONTENT, blocks_to_wire
from accord.dialects.v1.options import modes_from_wire, modes_of, modes_to_wire, option_from_wire, options_to_wire
from accord.errors import InvalidParams
from accord.schema import v1 as wire
from accord.schema.values import UNSET
from accord.session.entities import Modes
from accord.session.requests import (
    Asked,
    Done,
    ListSessions,
    NewSession,
    Prompt,
    PromptAnswer,
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
    "modes_shown",
    "new_from_wire",
    "new_to_wire",
    "opened_from_wire",
    "opened_to_wire",
    "page_from_wire",
    "page_to_wire",
    "prompt_answer_from_wire",
    "prompt_answer_to_wire",
    "prompt_from_wire",
    "prompt_to_wire",
    "set_option_from_wire",
    "set_option_to_wire",
    "stored_from_wire",
    "stored_to_wire",
]


def servers_to_wire(servers: Iterable[McpServer]) -> list[wire.McpServer]:
    written: list[wire.McpServer] = []
    for server in servers:
        match server:
            case StdioServer():
                env = [wire.EnvVariable(name=name, value=value) for name, value in server.env.items()]
                written.append(
                    wire.McpServer(
                        name=server.name, command=server.command, args=server.args, env=env, meta=told(server.meta)
                    )
                )
            case HttpServer() | SseServer():
                kind = "http" if isinstance(server, HttpServer) else "sse"
                headers = [wire.HttpHeader(name=name, value=value) for name, value in server.headers.items()]
                written.append(
                    wire.McpServer(type=kind, name=server.name, url=server.url, headers=headers, meta=told(server.meta))
                )
            case Unknown():
                written.append(wire.McpServer(type=server.tag, name=str(server.raw.get("name", server.tag))))
    return written


def servers_from_wire(servers: Any) -> list[McpServer]:
    """The servers; one of a kind v1 does not know keeps its kind and name, to be reported (FN-77)."""
    read: list[McpServer] = []
    for server in listed(servers):
        kind = known(server.type)
        if kind is None or kind == "stdio":
            read.append(
                StdioServer(
                    name=server.name,
                    command=server.command,
                    args=listed(server.args),
                    env={variable.name: variable.value for variable in listed(server.env)},
                    meta=known(server.meta),
                )
            )
        elif kind in ("http", "sse"):
            headers = {header.name: header.value for header in listed(server.headers)}
            made = HttpServer if kind == "http" else SseServer
            read.append(made(name=server.name, url=server.url, headers=headers, meta=known(server.meta)))
        else:
            read.append(Unknown(tag=kind, raw={"type": kind, "name": server.name}))
    return read


def directories_from_wire(directories: Any) -> list[str]:
    return [absolute(path, "additionalDirectories") for path in listed(directories)]


def new_to_wire(dialect: Dialect, asked: NewSession) -> wire.NewSessionRequest:
    return wire.NewSessionRequest(
        cwd=asked.cwd,
        mcp_servers=servers_to_wire(asked.servers),
        additional_directories=asked.additional_directories or UNSET,
        meta=told(asked.meta),
    )


def new_from_wire(dialect: Dialect, params: wire.NewSessionRequest) -> NewSession:
    return NewSession(
        cwd=absolute(params.cwd, "cwd"),
        servers=servers_from_wire(params.mcp_servers),
        additional_directories=directories_from_wire(params.additional_directories),
        meta=known(params.meta),
    )


def stored_to_wire(params: type[Any]) -> Any:
    """For load, resume and fork, which take the same."""

    def to_wire(dialect: Dialect, asked: Any) -> Any:
        return params(
            session_id=asked.session_id,
            cwd=asked.cwd,
            mcp_servers=servers_to_wire(asked.servers),
            additional_directories=asked.additional_directories or UNSET,
            meta=told(asked.meta),
        )

    return to_wire


def stored_from_wire(word: type[Any]) -> Any:
    """For load, resume and fork, which take the same."""

    def from_wire(dialect: Dialect, params: Any) -> Any:
        return word(
            session_id=params.session_id,
            cwd=absolute(params.cwd, "cwd"),
            servers=servers_from_wire(params.mcp_servers),
            additional_directories=directories_from_wire(params.additional_directories),
            meta=known(params.meta),
        )

    return from_wire


def opened_to_wire(result: type[Any], with_id: bool) -> Any:
    def to_wire(dialect: ShowingDialect, asked: Any, answer: SessionOpened) -> Any:
        fields: dict[str, Any] = {"session_id": answer.session_id} if with_id else {}
        modes = modes_shown(dialect, answer.session_id if with_id else asked.session_id, answer)
        if answer.commands:
            dialect.lose("opened-commands", asked.session_id if not with_id else str(answer.session_id))
        return result(
            modes=modes_to_wire(modes),
            config_options=UNSET if answer.options is UNSET else options_to_wire(dialect, answer.options),
            models=answer.models,
            meta=told(answer.meta),
            **fields,
        )

    return to_wire


def modes_shown(dialect: ShowingDialect, session_id: Any, answer: SessionOpened) -> Modes | None:
    """The modes to open a session with, made from the mode option if need be; they are kept in step from here on."""
    shown = dialect.shown(session_id)
    modes = answer.modes
    if answer.options is not UNSET:
        shown.options = answer.options
        modes = modes or modes_of(answer.options)
    if modes is not None:
        shown.mode = modes.current
    return modes


def opened_from_wire(dialect: Dialect, asked: Asked, result: Any) -> SessionOpened:
    options = known(getattr(result, "config_options", UNSET))
    return SessionOpened(
        session_id=getattr(result, "session_id", UNSET),
        modes=modes_from_wire(getattr(result, "modes", UNSET)),
        options=UNSET if options is None else [option_from_wire(option) for option in options],
        models=getattr(result, "models", UNSET),
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
        session_id=asked.session_id, prompt=blocks_to_wire(dialect, asked.content), meta=told(asked.meta)
    )


def prompt_from_wire(dialect: Dialect, params: Any) -> Prompt:
    content = CONTENT.all_from_wire(params.prompt)
    for index, block in enumerate(content):
        if isinstance(block, Unknown):  # nobody advertised that it takes these
            raise InvalidParams("this agent takes no content of this type", field=f"prompt[{index}].type")
    return Prompt(session_id=params.session_id, content=content, meta=known(params.meta))


STOP_REASONS = frozenset(("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"))


def prompt_answer_to_wire(dialect: Dialect, asked: Any, answer: PromptAnswer) -> wire.PromptResponse:
    reason = answer.stop_reason or "end_turn"
    meta = answer.meta
    if reason not in STOP_REASONS:
        dialect.lose("stop-reason", asked.session_id)
        meta = {**(meta or {}), "accord/stopReason": reason}
        reason = "end_turn"
    return wire.PromptResponse(stop_reason=reason, meta=told(meta))


def prompt_answer_from_wire(dialect: Dialect, asked: Any, result: Any) -> PromptAnswer:
    return PromptAnswer(stop_reason=result.stop_reason, meta=known(result.meta))


def set_option_to_wire(dialect: Dialect, asked: SetOption) -> wire.SetSessionConfigOptionRequest:
    return wire.SetSessionConfigOptionRequest(
        session_id=asked.session_id,
        config_id=asked.option_id,
        value=asked.value,
        type="boolean" if isinstance(asked.value, bool) else UNSET,
        meta=told(asked.meta),
    )


def set_option_from_wire(dialect: Dialect, params: Any) -> SetOption:
    return SetOption(
        session_id=params.session_id, option_id=params.config_id, value=params.value, meta=known(params.meta)
    )


def options_answer_to_wire(dialect: Dialect, asked: Any, answer: SessionOpened) -> Any:
    options = [] if answer.options is UNSET else answer.options
    return wire.SetSessionConfigOptionResponse(config_options=options_to_wire(dialect, options), meta=told(answer.meta))


def by_session_id(word: type[Any], params: type[Any], **names: str) -> tuple[Any, Any]:
    """Both directions of a request that is only ids: `names` gives the word's field for each member beside the session's."""

    def to_wire(dialect: Dialect, asked: Any) -> Any:
        members = {member: getattr(asked, field) for member, field in names.items()}
        return params(session_id=asked.session_id, meta=told(asked.meta), **members)

    def from_wire(dialect: Dialect, read: Any) -> Any:
        fields = {field: getattr(read, member) for member, field in names.items()}
        return word(session_id=read.session_id, meta=known(read.meta), **fields)

    return to_wire, from_wire


def done_to_wire(result: type[Any]) -> Any:
    """For answers that only say that it worked: an empty object."""

    def to_wire(dialect: Dialect, asked: Any, answer: Done) -> Any:
        return result(meta=told(answer.meta))

    return to_wire


def done_from_wire(dialect: Dialect, asked: Any, result: Any) -> Done:
    return Done(meta=known(result.meta))
