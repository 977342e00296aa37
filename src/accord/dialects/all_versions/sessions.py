"""Asking for a session, listing them, and prompts: spelled alike in every version but for MCP servers and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.paths_and_lines import absolute
from accord.dialects.dialect import Dialect, RequestConverter, RequestFunction
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.errors import InvalidParams
from accord.schema.wire_values import UNSET
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import TokenUsage
from accord.session.mcp_servers import McpServer
from accord.session.requests import (
    ListSessions,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
    SessionPage,
    SessionSummary,
)
from accord.session.value import Unknown

__all__ = ["PromptConverter", "SessionConverter", "tokens_from_wire", "tokens_to_wire"]


class SessionConverter:
    """Bound to the schema of one version, and to how it names MCP servers."""

    def __init__(
        self,
        schema: Any,
        servers_to_wire: Callable[[Dialect, list[McpServer]], Any],
        servers_from_wire: Callable[[Any], list[McpServer]],
    ) -> None:
        self._schema = schema
        self._servers_to_wire = servers_to_wire
        self._servers_from_wire = servers_from_wire
        self.listing = RequestConverter(
            ListSessions, "session/list", self._list_to_wire, _list_from_wire, self._page_to_wire, _page_from_wire
        )

    def new_to_wire(self, dialect: Dialect, asked: NewSession) -> Any:
        """A session that is to begin."""
        return self._schema.NewSessionRequest(**self._place_to_wire(dialect, asked))

    def new_from_wire(self, dialect: Dialect, params: Any) -> NewSession:
        """A session that is to begin; InvalidParams for a path that is not absolute."""
        return NewSession(**self._place_from_wire(params))

    def stored_to_wire(self, params: Callable[..., Any]) -> RequestFunction:
        """For load, resume and fork, which name a session beside what a new one takes."""

        def to_wire(dialect: Dialect, asked: Any) -> Any:
            return params(session_id=asked.session_id, **self._place_to_wire(dialect, asked))

        return to_wire

    def stored_from_wire(self, word: type[Any]) -> RequestFunction:
        """For load, resume and fork."""

        def from_wire(dialect: Dialect, params: Any) -> Any:
            return word(session_id=params.session_id, **self._place_from_wire(params))

        return from_wire

    def taken_up_from_wire(self, dialect: Dialect, params: Any) -> LoadSession | ResumeSession:
        """For v2's resume: a session to be told from the start or not at all; InvalidParams for another beginning."""
        beginning = none_if_unset(params.replay_from)
        if isinstance(beginning, UnknownOnWire):
            raise InvalidParams("this agent cannot begin there", field="replayFrom.type")
        word = ResumeSession if beginning is None else LoadSession
        return word(session_id=params.session_id, **self._place_from_wire(params))

    def _place_to_wire(self, dialect: Dialect, asked: Any) -> dict[str, Any]:
        return {
            "cwd": asked.cwd,
            "mcp_servers": self._servers_to_wire(dialect, asked.servers),
            "additional_directories": asked.additional_directories or UNSET,
            "meta": unset_if_none(asked.meta),
        }

    def _place_from_wire(self, params: Any) -> dict[str, Any]:
        directories = list_or_empty(params.additional_directories)
        return {
            "cwd": absolute(params.cwd, "cwd"),
            "servers": self._servers_from_wire(params.mcp_servers),
            "additional_directories": [absolute(path, "additionalDirectories") for path in directories],
            "meta": none_if_unset(params.meta),
        }

    def _list_to_wire(self, dialect: Dialect, asked: ListSessions) -> Any:
        return self._schema.ListSessionsRequest(
            cwd=unset_if_none(asked.cwd), cursor=unset_if_none(asked.cursor), meta=unset_if_none(asked.meta)
        )

    def _page_to_wire(self, dialect: Dialect, asked: ListSessions, answer: SessionPage) -> Any:
        sessions = [
            self._schema.SessionInfo(
                session_id=summary.session_id,
                cwd=summary.cwd,
                additional_directories=summary.additional_directories or UNSET,
                title=unset_if_none(summary.title),
                updated_at=unset_if_none(summary.updated_at),
                meta=unset_if_none(summary.meta),
            )
            for summary in answer.sessions
        ]
        return self._schema.ListSessionsResponse(
            sessions=sessions, next_cursor=unset_if_none(answer.next_cursor), meta=unset_if_none(answer.meta)
        )


def _list_from_wire(dialect: Dialect, params: Any) -> ListSessions:
    cwd = none_if_unset(params.cwd)
    if cwd is not None:
        absolute(cwd, "cwd")
    return ListSessions(cwd=cwd, cursor=none_if_unset(params.cursor), meta=none_if_unset(params.meta))


def _page_from_wire(dialect: Dialect, asked: ListSessions, result: Any) -> SessionPage:
    sessions = [
        SessionSummary(
            session_id=info.session_id,
            cwd=info.cwd,
            additional_directories=list_or_empty(info.additional_directories),
            title=none_if_unset(info.title),
            updated_at=none_if_unset(info.updated_at),
            meta=none_if_unset(info.meta),
        )
        for info in result.sessions
    ]
    return SessionPage(
        sessions=sessions, next_cursor=none_if_unset(result.next_cursor), meta=none_if_unset(result.meta)
    )


class PromptConverter:
    """Bound to the request and the content blocks of one version; `least` is how many of these there must be."""

    def __init__(self, params: type[Any], content: ContentConverter, least: int = 0) -> None:
        self._params = params
        self._content = content
        self._least = least

    def to_wire(self, dialect: Dialect, asked: Prompt) -> Any:
        """The user's message; InvalidParams for an empty one where that cannot be said."""
        if len(asked.content) < self._least:
            raise InvalidParams("a prompt needs at least one block of content", field="prompt")
        content = self._content.all_to_wire(dialect, asked.content)
        return self._params(session_id=asked.session_id, prompt=content, meta=unset_if_none(asked.meta))

    def from_wire(self, dialect: Dialect, params: Any) -> Prompt:
        """The user's message; InvalidParams for content that no agent can have said it takes."""
        content = self._content.all_from_wire(params.prompt)
        for index, block in enumerate(content):
            if isinstance(block, Unknown):
                raise InvalidParams("this agent takes no content of this type", field=f"prompt[{index}].type")
        return Prompt(session_id=params.session_id, content=content, meta=none_if_unset(params.meta))


def tokens_to_wire(schema: Any, usage: TokenUsage | None) -> Any:
    """What a prompt took, if that is known."""
    if usage is None:
        return UNSET
    return schema.Usage(
        total_tokens=usage.total,
        input_tokens=usage.input,
        output_tokens=usage.output,
        thought_tokens=unset_if_none(usage.thought),
        cached_read_tokens=unset_if_none(usage.cached_read),
        cached_write_tokens=unset_if_none(usage.cached_write),
        meta=unset_if_none(usage.meta),
    )


def tokens_from_wire(usage: Any) -> TokenUsage | None:
    """What a prompt took, if it was said."""
    said = none_if_unset(usage)
    if said is None:
        return None
    return TokenUsage(
        total=said.total_tokens,
        input=said.input_tokens,
        output=said.output_tokens,
        thought=none_if_unset(said.thought_tokens),
        cached_read=none_if_unset(said.cached_read_tokens),
        cached_write=none_if_unset(said.cached_write_tokens),
        meta=none_if_unset(said.meta),
    )
