"""Converts the handshake of the draft: read in the shape of v1, of v2 or of both, and answered in both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from accord.dialects.all_versions.lifecycle import (
    group_meta,
    info_from_wire,
    info_to_wire,
    marker,
    markers,
    read_unstable,
    unstable_members,
)
from accord.dialects.all_versions.mcp_servers import pairs_to_wire
from accord.dialects.dialect import Dialect, RequestConverter
from accord.dialects.negotiation import displays_terminals
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.dialects.v1 import lifecycle as v1_lifecycle
from accord.dialects.v2_draft.tool_calls import DraftDialect
from accord.schema import v1, v2
from accord.schema import v2_draft as wire
from accord.schema.v2_draft import Support, is_supported
from accord.schema.wire_values import UNSET, UnsetType
from accord.session.capabilities import AgentCapabilities, AgentLogin, ClientCapabilities, TerminalLogin
from accord.session.mcp_servers import Pairs
from accord.session.requests import Initialize, InitializeResult

Capabilities = TypeVar("Capabilities", ClientCapabilities, AgentCapabilities)


class _AuthMethodConverter(v1_lifecycle.AuthMethodConverter):
    """A method has its id under the names of both versions."""

    def _raw_ids(self, method: AgentLogin) -> dict[str, str]:
        return {"id": method.id, "methodId": method.id}

    def _env_to_wire(self, dialect: Dialect, method: TerminalLogin) -> Any:
        return pairs_to_wire(v2.EnvVariable, method.env) if isinstance(method.env, Pairs) else dict(method.env)


_AUTH_METHODS = _AuthMethodConverter(wire.AuthMethod, agent_type="agent")


def _from_wire(dialect: DraftDialect, params: wire.InitializeRequest) -> Initialize:
    if none_if_unset(params.capabilities) is not None and none_if_unset(params.client_capabilities) is None:
        dialect.null_clears = True
    return Initialize(
        version=params.protocol_version,
        info=info_from_wire(params.client_info) or info_from_wire(params.info),
        capabilities=_client_capabilities_from_wire(params.client_capabilities, params.capabilities),
        meta=none_if_unset(params.meta),
    )


def _result_to_wire(dialect: Dialect, request: Initialize, result: InitializeResult) -> wire.InitializeResponse:
    return wire.InitializeResponse(
        protocol_version=result.version,
        info=info_to_wire(result.info),
        agent_info=info_to_wire(result.info),
        capabilities=_agent_capabilities_to_wire(result.capabilities),
        agent_capabilities=v1_lifecycle.agent_capabilities_to_wire(result.capabilities),
        auth_methods=_AUTH_METHODS.all_to_wire(dialect, result.auth_methods),
        meta=unset_if_none(result.meta),
    )


def _result_from_wire(
    dialect: DraftDialect, request: Initialize, response: wire.InitializeResponse
) -> InitializeResult:
    if none_if_unset(response.capabilities) is not None and none_if_unset(response.agent_capabilities) is None:
        dialect.null_clears = True
    return InitializeResult(
        version=response.protocol_version,
        info=info_from_wire(response.agent_info) or info_from_wire(response.info),
        capabilities=_agent_capabilities_from_wire(response.agent_capabilities, response.capabilities),
        auth_methods=list(map(_AUTH_METHODS.from_wire, list_or_empty(response.auth_methods))),
        meta=none_if_unset(response.meta),
    )


INITIALIZE = RequestConverter(
    Initialize,
    "initialize",
    v1_lifecycle.INITIALIZE.to_wire,  # with v2's `info` it would be an offer of v2 as published
    _from_wire,
    _result_to_wire,
    _result_from_wire,
)


def _client_capabilities_from_wire(
    of_v1: v1.ClientCapabilities | UnsetType, of_draft: wire.ClientCapabilities | UnsetType
) -> ClientCapabilities:
    """All capabilities that either shape offers."""
    can = v1_lifecycle.client_capabilities_from_wire(of_v1)
    said = none_if_unset(of_draft)
    if said is None:
        return can
    files = none_if_unset(said.fs) or wire.FileSystemCapabilities()
    auth = none_if_unset(said.auth) or wire.ClientAuthCapabilities()
    elicitation = none_if_unset(said.elicitation) or wire.ElicitationCapabilities()
    session = none_if_unset(said.session) or wire.ClientSessionCapabilities()
    options = none_if_unset(session.config_options) or wire.SessionConfigOptionsCapabilities()
    draft = ClientCapabilities(
        read_files=is_supported(files.read_text_file),
        write_files=is_supported(files.write_text_file),
        terminals=is_supported(said.terminal),
        terminal_login=is_supported(auth.terminal),
        form_elicitation=is_supported(elicitation.form),
        url_elicitation=is_supported(elicitation.url),
        boolean_options=is_supported(options.boolean),
        notices=is_supported(session.notices),
        compaction=is_supported(session.compaction),
        display_terminals=displays_terminals(none_if_unset(said.meta)),
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )
    return _either(can, draft)


_SESSION_MARKERS = ("load", "list", "resume", "close", "delete", "fork", "additional_directories")
_PROMPT_MARKERS = ("image", "audio", "embedded_context")


def _agent_capabilities_from_wire(
    of_v1: v1.AgentCapabilities | UnsetType, of_draft: wire.AgentCapabilities | UnsetType
) -> AgentCapabilities:
    """All capabilities that either shape offers. MCP servers over stdio need no capability, as in v1."""
    can = v1_lifecycle.agent_capabilities_from_wire(of_v1)
    said = none_if_unset(of_draft)
    if said is None:
        return can
    session = none_if_unset(said.session) or wire.SessionCapabilities()
    old_session = none_if_unset(said.session_capabilities) or wire.SessionCapabilities()
    sessions = (session, old_session)
    prompts = (said.prompt_capabilities, session.prompt, old_session.prompt)
    servers = (said.mcp_capabilities, session.mcp, old_session.mcp)
    flags: dict[str, Any] = {
        **{name: _offers(sessions, name) for name in _SESSION_MARKERS},
        **{name: _offers(prompts, name) for name in _PROMPT_MARKERS},
    }
    flags["load"] |= is_supported(said.load_session)
    mcp = none_if_unset(session.mcp) or old_session.mcp
    old_groups = {"session": old_session, "session.mcp": said.mcp_capabilities}
    groups = {"": said, "session": session, "session.mcp": mcp, "auth": said.auth}
    draft = AgentCapabilities(
        mcp_http=_offers(servers, "http"),
        mcp_sse=_offers(servers, "sse"),
        logout=_offers((said.auth,), "logout"),
        unstable={**read_unstable(old_groups), **read_unstable(groups)},
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
        **flags,
    )
    return _either(can, draft)


def _offers(groups: Iterable[Any], name: str) -> bool:
    return any(is_supported(getattr(group, name, None)) for group in groups)


def _either(one: Capabilities, other: Capabilities) -> Capabilities:
    merged: dict[str, Any] = {name: getattr(one, name) or getattr(other, name) for name in one.__struct_fields__}
    merged["group_meta"] = {**other.group_meta, **one.group_meta}
    if isinstance(one, AgentCapabilities) and isinstance(other, AgentCapabilities):
        merged["unstable"] = {**one.unstable, **other.unstable}  # v1 has a boolean where the draft has an object
    return type(one)(**merged)


def _agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    """v2's tree of markers, which for a client of the draft also names what v2 implies."""

    def meta(path: str) -> Any:
        return can.group_meta.get(path, UNSET)

    session = wire.SessionCapabilities(
        prompt=wire.PromptCapabilities(
            meta=meta("session.prompt"), **markers(can, "session.prompt", **dict.fromkeys(_PROMPT_MARKERS, _support))
        ),
        mcp=wire.McpCapabilities(
            stdio=marker(_support, can.mcp_stdio, can.group_meta, "session.mcp.stdio"),
            http=marker(_support, can.mcp_http, can.group_meta, "session.mcp.http"),
            sse=marker(_support, can.mcp_sse, can.group_meta, "session.mcp.sse"),
            meta=meta("session.mcp"),
            **unstable_members(can, "session.mcp"),
        ),
        meta=meta("session"),
        **markers(can, "session", **dict.fromkeys(_SESSION_MARKERS, _support)),
        **unstable_members(can, "session"),
    )
    logout = marker(_support, can.logout, can.group_meta, "auth.logout")
    return wire.AgentCapabilities(
        session=session,
        auth=wire.AgentAuthCapabilities(logout=logout, meta=meta("auth"), **unstable_members(can, "auth")),
        meta=unset_if_none(can.meta),
        **unstable_members(can, ""),
    )


def _support(meta: dict[str, Any] | UnsetType) -> Support:
    return {} if meta is UNSET else {"_meta": meta}
