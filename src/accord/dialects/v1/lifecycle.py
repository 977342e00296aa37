"""The handshake and logging in, between v1 and words."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known, listed, told
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
    "can_be_shown",
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
        auth_methods=[auth_method_to_wire(method) for method in answer.auth_methods if can_be_shown(method, dialect)],
        agent_info=info_to_wire(answer.info),
        meta=told(answer.meta),
    )


def can_be_shown(method: AuthMethod, dialect: Any) -> bool:
    """Whether v1 and the draft can offer this client a way to log in; if not, the loss is noted."""
    if isinstance(method, AgentLogin):
        return True
    if isinstance(method, TerminalLogin):
        if not dialect.client.terminal_login:
            dialect.lose("terminal-login", method.id)
        return dialect.client.terminal_login
    dialect.lose("auth-method", method.tag)
    return False


def initialized_from_wire(dialect: Any, asked: Any, result: wire.InitializeResponse) -> Initialized:
    return Initialized(
        version=result.protocol_version,
        info=info_from_wire(result.agent_info),
        capabilities=agent_capabilities_from_wire(result.agent_capabilities),
        auth_methods=[auth_method_from_wire(method) for method in listed(result.auth_methods)],
        meta=known(result.meta),
    )


def client_capabilities_to_wire(can: ClientCapabilities) -> wire.ClientCapabilities:
    meta = can.group_meta
    session, auth, elicitation, config_options = UNSET, UNSET, UNSET, UNSET
    if can.boolean_options or "session.configOptions" in meta:
        config_options = wire.SessionConfigOptionsCapabilities(
            boolean=_marker(
                wire.BooleanConfigOptionCapabilities, can.boolean_options, meta, "session.configOptions.boolean"
            ),
            meta=meta.get("session.configOptions", UNSET),
        )
    if config_options is not UNSET or can.notices or can.compaction or "session" in meta:
        session = wire.ClientSessionCapabilities(
            config_options=config_options,
            notices=_marker(wire.NoticeCapabilities, can.notices, meta, "session.notices"),
            compaction=_marker(wire.CompactionCapabilities, can.compaction, meta, "session.compaction"),
            meta=meta.get("session", UNSET),
        )
    if can.form_elicitation or can.url_elicitation or "elicitation" in meta:
        elicitation = wire.ElicitationCapabilities(
            form=_marker(wire.ElicitationFormCapabilities, can.form_elicitation, meta, "elicitation.form"),
            url=_marker(wire.ElicitationUrlCapabilities, can.url_elicitation, meta, "elicitation.url"),
            meta=meta.get("elicitation", UNSET),
        )
    if can.terminal_login or "auth" in meta:
        auth = wire.AuthCapabilities(terminal=can.terminal_login or UNSET, meta=meta.get("auth", UNSET))
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


def _marker(kind: type[Any], is_on: bool, meta: dict[str, dict[str, Any]], path: str) -> Any:
    return kind(meta=meta.get(path, UNSET)) if is_on else UNSET


def client_capabilities_from_wire(capabilities: Any) -> ClientCapabilities:
    """What the client can do; whatever it did not say, or said oddly, is off (INIT-19, AMB-13)."""
    said = known(capabilities)
    if said is None:
        return ClientCapabilities()
    fs, auth = known(said.fs), known(said.auth)
    session = known(said.session) or wire.ClientSessionCapabilities()
    elicitation = known(said.elicitation) or wire.ElicitationCapabilities()
    options = known(session.config_options) or wire.SessionConfigOptionsCapabilities()
    return ClientCapabilities(
        read_files=fs is not None and fs.read_text_file is True,
        write_files=fs is not None and fs.write_text_file is True,
        terminals=said.terminal is True,
        terminal_login=auth is not None and auth.terminal is True,
        form_elicitation=known(elicitation.form) is not None,
        url_elicitation=known(elicitation.url) is not None,
        boolean_options=known(options.boolean) is not None,
        notices=known(session.notices) is not None,
        compaction=known(session.compaction) is not None,
        group_meta=group_meta(
            fs=fs,
            session=session,
            session__notices=session.notices,
            session__compaction=session.compaction,
            session__configOptions=options,
            session__configOptions__boolean=options.boolean,
            auth=auth,
            elicitation=elicitation,
            elicitation__form=elicitation.form,
            elicitation__url=elicitation.url,
        ),
        meta=known(said.meta),
    )


def group_meta(**groups: Any) -> dict[str, dict[str, Any]]:
    """The `_meta` of nested capability objects, by where they stood; a double underscore stands for the dot."""
    found = {path.replace("__", "."): getattr(group, "meta", None) for path, group in groups.items()}
    return {path: meta for path, meta in found.items() if isinstance(meta, dict)}


def agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    meta = can.group_meta
    sessions = wire.SessionCapabilities(
        list=_marker(wire.SessionListCapabilities, can.list, meta, "session.list"),
        delete=_marker(wire.SessionDeleteCapabilities, can.delete, meta, "session.delete"),
        additional_directories=_marker(
            wire.SessionAdditionalDirectoriesCapabilities,
            can.additional_directories,
            meta,
            "session.additionalDirectories",
        ),
        resume=_marker(wire.SessionResumeCapabilities, can.resume, meta, "session.resume"),
        close=_marker(wire.SessionCloseCapabilities, can.close, meta, "session.close"),
        fork=_marker(wire.SessionForkCapabilities, can.fork, meta, "session.fork"),
        meta=meta.get("session", UNSET),
    )
    logout = _marker(wire.LogoutCapabilities, can.logout, meta, "auth.logout")
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
    prompt, mcp = known(said.prompt_capabilities), known(said.mcp_capabilities)
    auth = known(said.auth) or wire.AgentAuthCapabilities()
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
        logout=known(auth.logout) is not None,
        group_meta=group_meta(
            session=sessions,
            session__prompt=prompt,
            session__mcp=mcp,
            session__list=sessions.list,
            session__delete=sessions.delete,
            session__additionalDirectories=sessions.additional_directories,
            session__resume=sessions.resume,
            session__close=sessions.close,
            session__fork=sessions.fork,
            auth=auth,
            auth__logout=auth.logout,
        ),
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
            args=listed(method.args),
            env=known(method.env) or {},
            meta=known(method.meta),
        )
    return AgentLogin(id=method.id, name=method.name, description=known(method.description), meta=known(method.meta))
