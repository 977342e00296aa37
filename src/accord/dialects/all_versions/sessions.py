"""Converts the requests that open and list sessions, and prompts. MCP servers and results differ between versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.paths_and_lines import require_absolute
from accord.dialects.dialect import ConvertFunction, Dialect, RequestConverter
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.errors import InvalidParams
from accord.schema.all_versions import Usage
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

_TOKENS = StructConverter(
    TokenUsage,
    Usage,
    total="total_tokens",
    input="input_tokens",
    output="output_tokens",
    thought="thought_tokens",
    cached_read="cached_read_tokens",
    cached_write="cached_write_tokens",
)


class SessionConverter:
    """For the schema of one version, and its MCP servers."""

    def __init__(
        self,
        schema: Any,
        servers_to_wire: Callable[[Dialect, list[McpServer]], Any],
        servers_from_wire: Callable[[Any], list[McpServer]],
    ) -> None:
        self._new = schema.NewSessionRequest
        self._servers_to_wire = servers_to_wire
        self._servers_from_wire = servers_from_wire
        self._summary = StructConverter(SessionSummary, schema.SessionInfo)
        self._page = StructConverter(SessionPage, schema.ListSessionsResponse)
        self._list = StructConverter(ListSessions, schema.ListSessionsRequest)
        self.list = RequestConverter(
            ListSessions,
            "session/list",
            self._list_to_wire,
            self._list_from_wire,
            self._page_to_wire,
            self._page_from_wire,
        )

    def new_to_wire(self, dialect: Dialect, request: NewSession) -> Any:
        return self._new(**self._members_to_wire(dialect, request))

    def new_from_wire(self, dialect: Dialect, params: Any) -> NewSession:
        """InvalidParams for a path that is not absolute."""
        return NewSession(**self._members_from_wire(params))

    def stored_to_wire(self, params: Callable[..., Any]) -> ConvertFunction:
        """For load, resume and fork, which name a session."""

        def to_wire(dialect: Dialect, request: Any) -> Any:
            return params(session_id=request.session_id, **self._members_to_wire(dialect, request))

        return to_wire

    def stored_from_wire(self, request_type: type[Any]) -> ConvertFunction:
        """For load, resume and fork."""

        def from_wire(dialect: Dialect, params: Any) -> Any:
            return request_type(session_id=params.session_id, **self._members_from_wire(params))

        return from_wire

    def resume_from_wire(self, dialect: Dialect, params: Any) -> LoadSession | ResumeSession:
        """For v2's resume: with or without a replay from the start; InvalidParams for a replay from elsewhere."""
        replay_from = none_if_unset(params.replay_from)
        if isinstance(replay_from, UnknownOnWire):
            raise InvalidParams("this agent can't replay from there", field="replayFrom.type")
        request_type = ResumeSession if replay_from is None else LoadSession
        return request_type(session_id=params.session_id, **self._members_from_wire(params))

    def _members_to_wire(self, dialect: Dialect, request: Any) -> dict[str, Any]:
        return {
            "cwd": request.cwd,
            "mcp_servers": self._servers_to_wire(dialect, request.servers),
            "additional_directories": request.additional_directories or UNSET,
            "meta": unset_if_none(request.meta),
        }

    def _members_from_wire(self, params: Any) -> dict[str, Any]:
        directories = list_or_empty(params.additional_directories)
        return {
            "cwd": require_absolute(params.cwd, "cwd"),
            "servers": self._servers_from_wire(params.mcp_servers),
            "additional_directories": [require_absolute(path, "additionalDirectories") for path in directories],
            "meta": none_if_unset(params.meta),
        }

    def _list_to_wire(self, dialect: Dialect, request: ListSessions) -> Any:
        return self._list.to_wire(request)

    def _list_from_wire(self, dialect: Dialect, params: Any) -> ListSessions:
        request = self._list.from_wire(params)
        if request.cwd is not None:
            require_absolute(request.cwd, "cwd")
        return request

    def _page_to_wire(self, dialect: Dialect, request: ListSessions, result: SessionPage) -> Any:
        sessions = [
            self._summary.to_wire(summary, additional_directories=summary.additional_directories or UNSET)
            for summary in result.sessions
        ]
        return self._page.to_wire(result, sessions=sessions)

    def _page_from_wire(self, dialect: Dialect, request: ListSessions, response: Any) -> SessionPage:
        return self._page.from_wire(response, sessions=list(map(self._summary.from_wire, response.sessions)))


class PromptConverter:
    """For the params and the content blocks of one version; `min_blocks` is how many blocks a prompt must have."""

    def __init__(self, params: type[Any], content: ContentConverter, min_blocks: int = 0) -> None:
        self._params = params
        self._content = content
        self._min_blocks = min_blocks

    def to_wire(self, dialect: Dialect, request: Prompt) -> Any:
        """InvalidParams for an empty prompt where the version does not allow it."""
        if len(request.content) < self._min_blocks:
            raise InvalidParams("a prompt needs at least one content block", field="prompt")
        content = self._content.all_to_wire(dialect, request.content)
        return self._params(session_id=request.session_id, prompt=content, meta=unset_if_none(request.meta))

    def from_wire(self, dialect: Dialect, params: Any) -> Prompt:
        """InvalidParams for content of an unknown type, which no agent can have offered to accept."""
        content = self._content.all_from_wire(params.prompt)
        for index, block in enumerate(content):
            if isinstance(block, Unknown):
                raise InvalidParams("this agent does not accept content of this type", field=f"prompt[{index}].type")
        return Prompt(session_id=params.session_id, content=content, meta=none_if_unset(params.meta))


def tokens_to_wire(usage: TokenUsage | None) -> Any:
    return UNSET if usage is None else _TOKENS.to_wire(usage)


def tokens_from_wire(usage: Any) -> TokenUsage | None:
    return None if usage is UNSET or usage is None else _TOKENS.from_wire(usage)
