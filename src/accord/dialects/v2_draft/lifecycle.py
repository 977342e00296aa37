"""The handshake between the draft and words: read in either shape or both, answered in both."""

from __future__ import annotations

from typing import Any, TypeVar

from accord.dialects.all_versions.lifecycle import (
    group_meta,
    info_from_wire,
    info_to_wire,
    marker,
    unstable,
    unstable_of,
    variables_to_wire,
)
from accord.dialects.all_versions.mcp_servers import pairs_to_wire
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import shows_terminals
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.dialects.v1 import lifecycle as older
from accord.dialects.v2_draft.tool_calls import DraftDialect
from accord.schema import v1, v2
from accord.schema import v2_draft as wire
from accord.schema.v2_draft import Support, is_supported
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    AuthMethod,
    ClientCapabilities,
    TerminalLogin,
    VariableLogin,
)
from accord.session.mcp_servers import Pairs
from accord.session.requests import Initialize, InitializeResult
from accord.session.value import Unknown

__all__ = [
    "agent_capabilities_from_wire",
    "agent_capabilities_to_wire",
    "auth_method_to_wire",
    "client_capabilities_from_wire",
    "initialize_from_wire",
    "initialize_to_wire",
    "initialized_from_wire",
    "initialized_to_wire",
]

Capabilities = TypeVar("Capabilities", ClientCapabilities, AgentCapabilities)


def initialize_to_wire(dialect: Dialect, asked: Initialize) -> v1.InitializeRequest:
    """v1's shape: with `info` it would be an offer of v2 as published."""
    return older.initialize_to_wire(dialect, asked)


def initialize_from_wire(dialect: DraftDialect, params: wire.InitializeRequest) -> Initialize:
    if none_if_unset(params.capabilities) is not None and none_if_unset(params.client_capabilities) is None:
        dialect.null_clears = True
    return Initialize(
        version=params.protocol_version,
        info=info_from_wire(params.client_info) or info_from_wire(params.info),
        capabilities=client_capabilities_from_wire(params.client_capabilities, params.capabilities),
        meta=none_if_unset(params.meta),
    )


def initialized_to_wire(dialect: Dialect, asked: Initialize, answer: InitializeResult) -> wire.InitializeResponse:
    methods = [auth_method_to_wire(each) for each in answer.auth_methods if older.can_be_shown(dialect, each)]
    return wire.InitializeResponse(
        protocol_version=answer.version,
        info=info_to_wire(v2, answer.info),
        agent_info=info_to_wire(v1, answer.info),
        capabilities=agent_capabilities_to_wire(answer.capabilities),
        agent_capabilities=older.agent_capabilities_to_wire(answer.capabilities),
        auth_methods=methods,
        meta=unset_if_none(answer.meta),
    )


def initialized_from_wire(
    dialect: DraftDialect, asked: Initialize, result: wire.InitializeResponse
) -> InitializeResult:
    if none_if_unset(result.capabilities) is not None and none_if_unset(result.agent_capabilities) is None:
        dialect.null_clears = True
    return InitializeResult(
        version=result.protocol_version,
        info=info_from_wire(result.agent_info) or info_from_wire(result.info),
        capabilities=agent_capabilities_from_wire(result.agent_capabilities, result.capabilities),
        auth_methods=[older.auth_method_from_wire(method) for method in list_or_empty(result.auth_methods)],
        meta=none_if_unset(result.meta),
    )


def client_capabilities_from_wire(
    of_v1: v1.ClientCapabilities | UnsetType, bare: wire.ClientCapabilities | UnsetType
) -> ClientCapabilities:
    """What the client can do: all that either shape offers."""
    can = older.client_capabilities_from_wire(of_v1)
    said = none_if_unset(bare)
    if said is None:
        return can
    files = none_if_unset(said.fs) or wire.FileSystemCapabilities()
    auth = none_if_unset(said.auth) or wire.ClientAuthCapabilities()
    elicitation = none_if_unset(said.elicitation) or wire.ElicitationCapabilities()
    session = none_if_unset(said.session) or wire.ClientSessionCapabilities()
    options = none_if_unset(session.config_options) or wire.SessionConfigOptionsCapabilities()
    also = ClientCapabilities(
        read_files=is_supported(files.read_text_file),
        write_files=is_supported(files.write_text_file),
        terminals=is_supported(said.terminal),
        terminal_login=is_supported(auth.terminal),
        form_elicitation=is_supported(elicitation.form),
        url_elicitation=is_supported(elicitation.url),
        boolean_options=is_supported(options.boolean),
        notices=is_supported(session.notices),
        compaction=is_supported(session.compaction),
        display_terminals=shows_terminals(none_if_unset(said.meta)),
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )
    return _either(can, also)


def agent_capabilities_from_wire(
    of_v1: v1.AgentCapabilities | UnsetType, bare: wire.AgentCapabilities | UnsetType
) -> AgentCapabilities:
    """What the agent can do: all that either shape offers. MCP servers over stdio go without saying, as in v1."""
    can = older.agent_capabilities_from_wire(of_v1)
    said = none_if_unset(bare)
    if said is None:
        return can
    sessions = [none_if_unset(said.session), none_if_unset(said.session_capabilities)]
    prompts = [
        none_if_unset(said.prompt_capabilities),
        *(none_if_unset(each.prompt) for each in sessions if each is not None),
    ]
    servers = [
        none_if_unset(said.mcp_capabilities),
        *(none_if_unset(each.mcp) for each in sessions if each is not None),
    ]
    also = AgentCapabilities(
        load=is_supported(said.load_session) or _offers(sessions, "load"),
        resume=_offers(sessions, "resume"),
        list=_offers(sessions, "list"),
        close=_offers(sessions, "close"),
        delete=_offers(sessions, "delete"),
        fork=_offers(sessions, "fork"),
        additional_directories=_offers(sessions, "additional_directories"),
        image=_offers(prompts, "image"),
        audio=_offers(prompts, "audio"),
        embedded_context=_offers(prompts, "embedded_context"),
        mcp_http=_offers(servers, "http"),
        mcp_sse=_offers(servers, "sse"),
        logout=_offers([none_if_unset(said.auth)], "logout"),
        unstable={
            **unstable_of(
                {
                    "session": none_if_unset(said.session_capabilities),
                    "session.mcp": none_if_unset(said.mcp_capabilities),
                }
            ),
            **unstable_of(
                {"": said, "session": sessions[0], "session.mcp": servers[-1], "auth": none_if_unset(said.auth)}
            ),
        },
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )
    return _either(can, also)


def _offers(groups: list[Any], name: str) -> bool:
    return any(group is not None and is_supported(getattr(group, name)) for group in groups)


def _either(one: Capabilities, other: Capabilities) -> Capabilities:
    merged: dict[str, Any] = {name: getattr(one, name) or getattr(other, name) for name in one.__struct_fields__}
    merged["group_meta"] = {**other.group_meta, **one.group_meta}
    if isinstance(one, AgentCapabilities) and isinstance(other, AgentCapabilities):
        merged["unstable"] = {**one.unstable, **other.unstable}  # v1 has a boolean where the draft has an object
    return type(one)(**merged)


def agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    """v2's tree of markers, which for a client of the draft also names what v2 takes for granted."""

    def support(is_on: bool, path: str) -> Any:
        return marker(_support, is_on, can.group_meta, path)

    def meta(path: str) -> Any:
        return can.group_meta.get(path, UNSET)

    session = wire.SessionCapabilities(
        prompt=wire.PromptCapabilities(
            image=support(can.image, "session.prompt.image"),
            audio=support(can.audio, "session.prompt.audio"),
            embedded_context=support(can.embedded_context, "session.prompt.embeddedContext"),
            meta=meta("session.prompt"),
        ),
        mcp=wire.McpCapabilities(
            stdio=support(can.mcp_stdio, "session.mcp.stdio"),
            http=support(can.mcp_http, "session.mcp.http"),
            sse=support(can.mcp_sse, "session.mcp.sse"),
            meta=meta("session.mcp"),
            **unstable(can, "session.mcp"),
        ),
        load=support(can.load, "session.load"),
        list=support(can.list, "session.list"),
        resume=support(can.resume, "session.resume"),
        close=support(can.close, "session.close"),
        delete=support(can.delete, "session.delete"),
        fork=support(can.fork, "session.fork"),
        additional_directories=support(can.additional_directories, "session.additionalDirectories"),
        meta=meta("session"),
        **unstable(can, "session"),
    )
    return wire.AgentCapabilities(
        session=session,
        auth=wire.AgentAuthCapabilities(
            logout=support(can.logout, "auth.logout"), meta=meta("auth"), **unstable(can, "auth")
        ),
        meta=unset_if_none(can.meta),
        **unstable(can, ""),
    )


def _support(meta: dict[str, Any] | UnsetType) -> Support:
    return {} if meta is UNSET else {"_meta": meta}


def auth_method_to_wire(method: AuthMethod) -> wire.AuthMethod | UnknownOnWire:
    """A way to log in, under both of its keys."""
    told_by_kind: dict[str, Any] = {"type": "agent"}
    if isinstance(method, AgentLogin) and method.raw is not None:
        return UnknownOnWire(str(method.raw.get("type")), {**method.raw, "id": method.id, "methodId": method.id})
    if isinstance(method, TerminalLogin):
        env = pairs_to_wire(v2.EnvVariable, method.env) if isinstance(method.env, Pairs) else dict(method.env)
        told_by_kind = {"type": "terminal", "args": method.args, "env": env}
    elif isinstance(method, VariableLogin):
        told_by_kind = {"type": "env_var", "vars": variables_to_wire(method), "link": unset_if_none(method.link)}
    assert not isinstance(method, Unknown)
    return wire.AuthMethod(
        id=method.id,
        name=method.name,
        description=unset_if_none(method.description),
        meta=unset_if_none(method.meta),
        **told_by_kind,
    )
