"""The handshake and logging in, between v1 and words."""

from __future__ import annotations

from typing import Any

from accord.dialects.all_versions.lifecycle import (
    can_open_terminal,
    elicitation_to_wire,
    group,
    group_meta,
    info_from_wire,
    info_to_wire,
    marker,
    other_login,
    unstable,
    unstable_of,
    variable_login,
    variables_to_wire,
)
from accord.dialects.all_versions.mcp_servers import pairs_from_wire
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import meta_of_v1, shows_terminals
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.schema import v1 as wire
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
from accord.session.mcp_servers import pairs_in
from accord.session.requests import Initialize, InitializeResult
from accord.session.value import Unknown

__all__ = [
    "agent_capabilities_from_wire",
    "agent_capabilities_to_wire",
    "auth_method_from_wire",
    "auth_method_to_wire",
    "can_be_shown",
    "client_capabilities_from_wire",
    "client_capabilities_to_wire",
    "initialize_from_wire",
    "initialize_to_wire",
    "initialized_from_wire",
    "initialized_to_wire",
]


def initialize_to_wire(dialect: Dialect, asked: Initialize) -> wire.InitializeRequest:
    return wire.InitializeRequest(
        protocol_version=asked.version,
        client_capabilities=client_capabilities_to_wire(asked.capabilities),
        client_info=info_to_wire(wire, asked.info),
        meta=unset_if_none(asked.meta),
    )


def initialize_from_wire(dialect: Dialect, params: wire.InitializeRequest) -> Initialize:
    return Initialize(
        version=params.protocol_version,
        info=info_from_wire(params.client_info),
        capabilities=client_capabilities_from_wire(params.client_capabilities),
        meta=none_if_unset(params.meta),
    )


def initialized_to_wire(dialect: Dialect, asked: Initialize, answer: InitializeResult) -> wire.InitializeResponse:
    return wire.InitializeResponse(
        protocol_version=answer.version,
        agent_capabilities=agent_capabilities_to_wire(answer.capabilities),
        auth_methods=[
            auth_method_to_wire(dialect, method) for method in answer.auth_methods if can_be_shown(dialect, method)
        ],
        agent_info=info_to_wire(wire, answer.info),
        meta=unset_if_none(answer.meta),
    )


def can_be_shown(dialect: Dialect, method: AuthMethod) -> bool:
    """Whether v1 and the draft can offer this client a way to log in; if not, the loss is noted."""
    match method:
        case AgentLogin() | VariableLogin():
            return True
        case TerminalLogin():
            return can_open_terminal(dialect, method)
        case Unknown():
            dialect.lose("auth-method", method.tag)
            return False


def initialized_from_wire(dialect: Dialect, asked: Initialize, result: wire.InitializeResponse) -> InitializeResult:
    return InitializeResult(
        version=result.protocol_version,
        info=info_from_wire(result.agent_info),
        capabilities=agent_capabilities_from_wire(result.agent_capabilities),
        auth_methods=[auth_method_from_wire(method) for method in list_or_empty(result.auth_methods)],
        meta=none_if_unset(result.meta),
    )


def client_capabilities_to_wire(can: ClientCapabilities) -> wire.ClientCapabilities:
    meta = can.group_meta
    switches = marker(wire.BooleanConfigOptionCapabilities, can.boolean_options, meta, "session.configOptions.boolean")
    session = group(
        wire.ClientSessionCapabilities,
        meta,
        "session",
        config_options=group(wire.SessionConfigOptionsCapabilities, meta, "session.configOptions", boolean=switches),
        notices=marker(wire.NoticeCapabilities, can.notices, meta, "session.notices"),
        compaction=marker(wire.CompactionCapabilities, can.compaction, meta, "session.compaction"),
    )
    files = wire.FileSystemCapabilities(
        read_text_file=can.read_files, write_text_file=can.write_files, meta=meta.get("fs", UNSET)
    )
    return wire.ClientCapabilities(
        fs=files,
        terminal=can.terminals,
        session=session,
        auth=group(wire.AuthCapabilities, meta, "auth", terminal=can.terminal_login or UNSET),
        elicitation=elicitation_to_wire(wire, can),
        meta=unset_if_none(meta_of_v1(can)),
    )


def client_capabilities_from_wire(capabilities: wire.ClientCapabilities | UnsetType) -> ClientCapabilities:
    """What the client can do; whatever it did not say, or said oddly, is off (INIT-19, AMB-13)."""
    said = none_if_unset(capabilities)
    if said is None:
        return ClientCapabilities()
    files, auth = none_if_unset(said.fs), none_if_unset(said.auth)
    session = none_if_unset(said.session) or wire.ClientSessionCapabilities()
    elicitation = none_if_unset(said.elicitation) or wire.ElicitationCapabilities()
    options = none_if_unset(session.config_options) or wire.SessionConfigOptionsCapabilities()
    return ClientCapabilities(
        read_files=files is not None and files.read_text_file is True,
        write_files=files is not None and files.write_text_file is True,
        terminals=said.terminal is True,
        terminal_login=auth is not None and auth.terminal is True,
        form_elicitation=none_if_unset(elicitation.form) is not None,
        url_elicitation=none_if_unset(elicitation.url) is not None,
        boolean_options=none_if_unset(options.boolean) is not None,
        notices=none_if_unset(session.notices) is not None,
        compaction=none_if_unset(session.compaction) is not None,
        display_terminals=shows_terminals(none_if_unset(said.meta)),
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )


def agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    meta = can.group_meta
    sessions = wire.SessionCapabilities(
        list=marker(wire.SessionListCapabilities, can.list, meta, "session.list"),
        delete=marker(wire.SessionDeleteCapabilities, can.delete, meta, "session.delete"),
        additional_directories=marker(
            wire.SessionAdditionalDirectoriesCapabilities,
            can.additional_directories,
            meta,
            "session.additionalDirectories",
        ),
        resume=marker(wire.SessionResumeCapabilities, can.resume, meta, "session.resume"),
        close=marker(wire.SessionCloseCapabilities, can.close, meta, "session.close"),
        fork=marker(wire.SessionForkCapabilities, can.fork, meta, "session.fork"),
        meta=meta.get("session", UNSET),
        **unstable(can, "session"),
    )
    logout = marker(wire.LogoutCapabilities, can.logout, meta, "auth.logout")
    return wire.AgentCapabilities(
        load_session=can.load,
        prompt_capabilities=wire.PromptCapabilities(
            image=can.image,
            audio=can.audio,
            embedded_context=can.embedded_context,
            meta=meta.get("session.prompt", UNSET),
        ),
        mcp_capabilities=wire.McpCapabilities(
            http=can.mcp_http,
            sse=can.mcp_sse,
            acp=True if "session.mcp.acp" in can.unstable else UNSET,
            meta=meta.get("session.mcp", UNSET),
        ),
        session_capabilities=sessions,
        auth=wire.AgentAuthCapabilities(logout=logout, meta=meta.get("auth", UNSET), **unstable(can, "auth")),
        meta=unset_if_none(can.meta),
        **unstable(can, ""),
    )


def agent_capabilities_from_wire(capabilities: wire.AgentCapabilities | UnsetType) -> AgentCapabilities:
    """What the agent can do; whatever it did not say, or said oddly, is off (INIT-19, AMB-13)."""
    said = none_if_unset(capabilities)
    if said is None:
        return AgentCapabilities()
    prompt, mcp = none_if_unset(said.prompt_capabilities), none_if_unset(said.mcp_capabilities)
    auth = none_if_unset(said.auth) or wire.AgentAuthCapabilities()
    sessions = none_if_unset(said.session_capabilities) or wire.SessionCapabilities()
    return AgentCapabilities(
        load=said.load_session is True,
        resume=none_if_unset(sessions.resume) is not None,
        list=none_if_unset(sessions.list) is not None,
        close=none_if_unset(sessions.close) is not None,
        delete=none_if_unset(sessions.delete) is not None,
        fork=none_if_unset(sessions.fork) is not None,
        additional_directories=none_if_unset(sessions.additional_directories) is not None,
        image=prompt is not None and prompt.image is True,
        audio=prompt is not None and prompt.audio is True,
        embedded_context=prompt is not None and prompt.embedded_context is True,
        mcp_http=mcp is not None and mcp.http is True,
        mcp_sse=mcp is not None and mcp.sse is True,
        logout=none_if_unset(auth.logout) is not None,
        unstable=unstable_of({"": said, "session": sessions, "session.mcp": mcp, "auth": auth}),
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )


def auth_method_to_wire(dialect: Dialect, method: AuthMethod) -> wire.AuthMethod | UnknownOnWire:
    if isinstance(method, TerminalLogin):
        return wire.AuthMethod(
            id=method.id,
            name=method.name,
            type="terminal",
            description=unset_if_none(method.description),
            args=method.args,
            env=_env_to_wire(dialect, method),
            meta=unset_if_none(method.meta),
        )
    if isinstance(method, VariableLogin):
        return wire.AuthMethod(
            id=method.id,
            name=method.name,
            type="env_var",
            description=unset_if_none(method.description),
            vars=variables_to_wire(method),
            link=unset_if_none(method.link),
            meta=unset_if_none(method.meta),
        )
    assert isinstance(method, AgentLogin)
    if method.raw is not None:
        return UnknownOnWire(str(method.raw.get("type")), {**method.raw, "id": method.id})
    return wire.AuthMethod(
        id=method.id, name=method.name, description=unset_if_none(method.description), meta=unset_if_none(method.meta)
    )


def _env_to_wire(dialect: Dialect, method: TerminalLogin) -> dict[str, str]:
    if len(method.env) < len(pairs_in(method.env)):
        dialect.lose("repeated-variable", method.id)
    return dict(method.env)


def auth_method_from_wire(method: Any) -> AuthMethod:
    """A way to log in; of any type but terminal and env_var, the agent does it."""
    if isinstance(method, UnknownOnWire):
        return other_login(method.raw)
    if none_if_unset(method.type) == "env_var":
        return variable_login(
            none_if_unset(method.vars),
            id=method.id,
            name=method.name,
            description=none_if_unset(method.description),
            link=none_if_unset(method.link),
            meta=none_if_unset(method.meta),
        )
    if none_if_unset(method.type) == "terminal":
        return TerminalLogin(
            id=method.id,
            name=method.name,
            description=none_if_unset(method.description),
            args=list_or_empty(method.args),
            env=pairs_from_wire(method.env),
            meta=none_if_unset(method.meta),
        )
    return AgentLogin(
        id=method.id, name=method.name, description=none_if_unset(method.description), meta=none_if_unset(method.meta)
    )
