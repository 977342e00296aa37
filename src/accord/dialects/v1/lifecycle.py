"""The handshake and logging in, between v1 and words."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known, told
from accord.schema import v1 as wire
from accord.schema.values import UNSET
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    AuthMethod,
    ClientCapabilities,
    Implementation,
    TerminalLogin,
)
from accord.session.requests import Initialize, Initialized

__all__ = [
    "agent_capabilities_from_wire",
    "agent_capabilities_to_wire",
    "auth_method_from_wire",
    "auth_method_to_wire",
    "client_capabilities_from_wire",
    "client_capabilities_to_wire",
    "info_from_wire",
    "info_to_wire",
    "initialize_from_wire",
    "initialize_to_wire",
    "initialized_from_wire",
    "initialized_to_wire",
]


def info_to_wire(info: Implementation | None) -> Any:
    if info is None:
        return UNSET
    return wire.Implementation(name=info.name, version=info.version, title=told(info.title), meta=told(info.meta))


def info_from_wire(info: Any) -> Implementation | None:
    info = known(info)
    if info is None:
        return None
    return Implementation(name=info.name, version=info.version, title=known(info.title), meta=known(info.meta))


def initialize_to_wire(dialect: Any, asked: Initialize) -> wire.InitializeRequest:
    return wire.InitializeRequest(
        protocol_version=asked.version,
        client_capabilities=client_capabilities_to_wire(asked.capabilities),
        client_info=info_to_wire(asked.info),
        meta=told(asked.meta),
    )


def initialize_from_wire(dialect: Any, params: wire.InitializeRequest) -> Initialize:
    return Initialize(
        version=params.protocol_version,
        info=info_from_wire(params.client_info),
        capabilities=client_capabilities_from_wire(params.client_capabilities),
        meta=known(params.meta),
    )


def initialized_to_wire(dialect: Any, asked: Any, answer: Initialized) -> wire.InitializeResponse:
    return wire.InitializeResponse(
        protocol_version=answer.version,
        agent_capabilities=agent_capabilities_to_wire(answer.capabilities),
        auth_methods=[auth_method_to_wire(method) for method in answer.auth_methods if _can_be_shown(method, dialect)],
        agent_info=info_to_wire(answer.info),
        meta=told(answer.meta),
    )


def _can_be_shown(method: AuthMethod, dialect: Any) -> bool:
    if isinstance(method, TerminalLogin):
        return dialect.client.terminal_login
    if isinstance(method, AgentLogin):
        return True
    dialect.lose("auth-method", method.tag)
    return False


def initialized_from_wire(dialect: Any, asked: Any, result: wire.InitializeResponse) -> Initialized:
    return Initialized(
        version=result.protocol_version,
        info=info_from_wire(result.agent_info),
        capabilities=agent_capabilities_from_wire(result.agent_capabilities),
        auth_methods=[auth_method_from_wire(method) for method in known(result.auth_methods) or []],
        meta=known(result.meta),
    )


def client_capabilities_to_wire(can: ClientCapabilities) -> wire.ClientCapabilities:
    meta = can.group_meta
    session = UNSET
    if can.boolean_options or can.notices or can.compaction or "session" in meta:
        options = wire.SessionConfigOptionsCapabilities(boolean=wire.BooleanConfigOptionCapabilities())
        session = wire.ClientSessionCapabilities(
            config_options=options if can.boolean_options else UNSET,
            notices=wire.NoticeCapabilities() if can.notices else UNSET,
            compaction=wire.CompactionCapabilities() if can.compaction else UNSET,
            meta=meta.get("session", UNSET),
        )
    elicitation = UNSET
    if can.form_elicitation or can.url_elicitation or "elicitation" in meta:
        elicitation = wire.ElicitationCapabilities(
            form=wire.ElicitationFormCapabilities() if can.form_elicitation else UNSET,
            url=wire.ElicitationUrlCapabilities() if can.url_elicitation else UNSET,
            meta=meta.get("elicitation", UNSET),
        )
    auth = UNSET
    if can.terminal_login or "auth" in meta:
        auth = wire.AuthCapabilities(terminal=can.terminal_login, meta=meta.get("auth", UNSET))
    return wire.ClientCapabilities(
        fs=wire.FileSystemCapabilities(
            read_text_file=can.read_files, write_text_file=can.write_files, meta=meta.get("fs", UNSET)
        ),
        terminal=can.terminals,
        session=session,
        auth=auth,
        elicitation=elicitation,
        meta=told(can.meta),
    )


def client_capabilities_from_wire(capabilities: Any) -> ClientCapabilities:
    """What the client can do; whatever it did not say, or said oddly, is off (INIT-19, AMB-13)."""
    said = known(capabilities)
    if said is None:
        return ClientCapabilities()
    fs, session, auth = known(said.fs), known(said.session), known(said.auth)
    elicitation = known(said.elicitation)
    options = known(session.config_options) if session else None
    return ClientCapabilities(
        read_files=fs is not None and fs.read_text_file is True,
        write_files=fs is not None and fs.write_text_file is True,
        terminals=said.terminal is True,
        terminal_login=auth is not None and auth.terminal is True,
        form_elicitation=elicitation is not None and known(elicitation.form) is not None,
        url_elicitation=elicitation is not None and known(elicitation.url) is not None,
        boolean_options=options is not None and known(options.boolean) is not None,
        notices=session is not None and known(session.notices) is not None,
        compaction=session is not None and known(session.compaction) is not None,
        group_meta=group_meta(fs=fs, session=session, auth=auth, elicitation=elicitation),
        meta=known(said.meta),
    )


def group_meta(**groups: Any) -> dict[str, dict[str, Any]]:
    """The `_meta` of nested capability objects, by where they stood; a double underscore stands for the dot."""
    return {
        path.replace("__", "."): group.meta
        for path, group in groups.items()
        if group is not None and isinstance(group.meta, dict)
    }


def agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    meta = can.group_meta
    sessions = wire.SessionCapabilities(
        list=wire.SessionListCapabilities() if can.list else UNSET,
        delete=wire.SessionDeleteCapabilities() if can.delete else UNSET,
        additional_directories=wire.SessionAdditionalDirectoriesCapabilities() if can.additional_directories else UNSET,
        resume=wire.SessionResumeCapabilities() if can.resume else UNSET,
        close=wire.SessionCloseCapabilities() if can.close else UNSET,
        fork=wire.SessionForkCapabilities() if can.fork else UNSET,
        meta=meta.get("session", UNSET),
    )
    logout = wire.LogoutCapabilities() if can.logout else UNSET
    return wire.AgentCapabilities(
        load_session=can.load,
        prompt_capabilities=wire.PromptCapabilities(
            image=can.image,
            audio=can.audio,
            embedded_context=can.embedded_context,
            meta=meta.get("session.prompt", UNSET),
        ),
        mcp_capabilities=wire.McpCapabilities(http=can.mcp_http, sse=can.mcp_sse, meta=meta.get("session.mcp", UNSET)),
        session_capabilities=sessions,
        auth=wire.AgentAuthCapabilities(logout=logout, meta=meta.get("auth", UNSET)),
        meta=told(can.meta),
    )


def agent_capabilities_from_wire(capabilities: Any) -> AgentCapabilities:
    """What the agent can do; whatever it did not say, or said oddly, is off (INIT-19, AMB-13)."""
    said = known(capabilities)
    if said is None:
        return AgentCapabilities()
    prompt, mcp, auth = known(said.prompt_capabilities), known(said.mcp_capabilities), known(said.auth)
    sessions = known(said.session_capabilities) or wire.SessionCapabilities()
    return AgentCapabilities(
        load=said.load_session is True,
        resume=known(sessions.resume) is not None,
        list=known(sessions.list) is not None,
        close=known(sessions.close) is not None,
        delete=known(sessions.delete) is not None,
        fork=known(sessions.fork) is not None,
        additional_directories=known(sessions.additional_directories) is not None,
        image=prompt is not None and prompt.image is True,
        audio=prompt is not None and prompt.audio is True,
        embedded_context=prompt is not None and prompt.embedded_context is True,
        mcp_http=mcp is not None and mcp.http is True,
        mcp_sse=mcp is not None and mcp.sse is True,
        logout=auth is not None and known(auth.logout) is not None,
        group_meta=group_meta(session=sessions, session__prompt=prompt, session__mcp=mcp, auth=auth),
        meta=known(said.meta),
    )


def auth_method_to_wire(method: AuthMethod) -> Any:
    if isinstance(method, TerminalLogin):
        return wire.AuthMethod(
            id=method.id,
            name=method.name,
            type="terminal",
            description=told(method.description),
            args=method.args,
            env=method.env,
            meta=told(method.meta),
        )
    assert isinstance(method, AgentLogin)
    return wire.AuthMethod(id=method.id, name=method.name, description=told(method.description), meta=told(method.meta))


def auth_method_from_wire(method: Any) -> AuthMethod:
    """A way to log in; of any type but terminal, the agent does it."""
    if known(method.type) == "terminal":
        return TerminalLogin(
            id=method.id,
            name=method.name,
            description=known(method.description),
            args=known(method.args) or [],
            env=known(method.env) or {},
            meta=known(method.meta),
        )
    return AgentLogin(id=method.id, name=method.name, description=known(method.description), meta=known(method.meta))
