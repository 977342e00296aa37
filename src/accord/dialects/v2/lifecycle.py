"""The handshake and logging in, between v2 and words."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known, listed, told
from accord.dialects.dialect import Dialect
from accord.errors import InvalidParams
from accord.schema import v2 as wire
from accord.schema.values import UNSET, Wire
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    AuthMethod,
    ClientCapabilities,
    Implementation,
    TerminalLogin,
)
from accord.session.requests import Authenticate, Initialize, Initialized, Logout
from accord.session.word import Unknown

__all__ = [
    "agent_capabilities_from_wire",
    "agent_capabilities_to_wire",
    "auth_method_from_wire",
    "auth_method_to_wire",
    "authenticate_from_wire",
    "authenticate_to_wire",
    "client_capabilities_from_wire",
    "client_capabilities_to_wire",
    "group_meta",
    "info_from_wire",
    "info_to_wire",
    "initialize_from_wire",
    "initialize_to_wire",
    "initialized_from_wire",
    "initialized_to_wire",
    "logout_from_wire",
    "logout_to_wire",
]

UNKNOWN = "unknown"


def info_to_wire(info: Implementation | None) -> wire.Implementation:
    """Who speaks, which v2 always wants to know."""
    if info is None:
        return wire.Implementation(name=UNKNOWN, version=UNKNOWN)
    return wire.Implementation(name=info.name, version=info.version, title=told(info.title), meta=told(info.meta))


def info_from_wire(info: wire.Implementation) -> Implementation:
    return Implementation(name=info.name, version=info.version, title=known(info.title), meta=known(info.meta))


def initialize_to_wire(dialect: Dialect, asked: Initialize) -> wire.InitializeRequest:
    can = asked.capabilities
    if can.read_files or can.write_files or can.terminals:
        dialect.lose("client-resources", "initialize")
    return wire.InitializeRequest(
        protocol_version=asked.version,
        info=info_to_wire(asked.info),
        capabilities=client_capabilities_to_wire(can),
        meta=told(asked.meta),
    )


def initialize_from_wire(dialect: Dialect, params: Any) -> Initialize:
    """The offer; of a version newer than this, whatever can be understood."""
    info = known(params.info)
    if info is None and params.protocol_version <= dialect.version:
        raise InvalidParams("required", field="info")
    return Initialize(
        version=params.protocol_version,
        info=Implementation(name=UNKNOWN, version=UNKNOWN) if info is None else info_from_wire(info),
        capabilities=client_capabilities_from_wire(params.capabilities),
        meta=known(params.meta),
    )


def initialized_to_wire(dialect: Dialect, asked: Any, answer: Initialized) -> wire.InitializeResponse:
    can = answer.capabilities
    if can.sessions and not (can.load and can.resume and can.list and can.close):
        dialect.lose("session-baseline", "initialize")
    if can.mcp_sse:
        dialect.lose("mcp-sse", "initialize")
    return wire.InitializeResponse(
        protocol_version=answer.version,
        info=info_to_wire(answer.info),
        capabilities=agent_capabilities_to_wire(can),
        auth_methods=[auth_method_to_wire(method) for method in answer.auth_methods if _can_be_shown(dialect, method)],
        meta=told(answer.meta),
    )


def _can_be_shown(dialect: Dialect, method: AuthMethod) -> bool:
    if isinstance(method, TerminalLogin) and not dialect.client.terminal_login:
        dialect.lose("terminal-login", method.id)
        return False
    return True


def initialized_from_wire(dialect: Dialect, asked: Any, result: wire.InitializeResponse) -> Initialized:
    methods = [auth_method_from_wire(method) for method in listed(result.auth_methods)]
    capabilities = agent_capabilities_from_wire(result.capabilities)
    capabilities.logout = bool(methods)  # an agent that has a login has a logout
    return Initialized(
        version=result.protocol_version,
        info=info_from_wire(result.info),
        capabilities=capabilities,
        auth_methods=methods,
        meta=known(result.meta),
    )


def client_capabilities_to_wire(can: ClientCapabilities) -> wire.ClientCapabilities:
    meta = can.group_meta
    return wire.ClientCapabilities(
        auth=_group(
            wire.ClientAuthCapabilities,
            meta.get("auth"),
            terminal=_marker(wire.TerminalAuthCapabilities, can.terminal_login, meta.get("auth.terminal")),
        ),
        elicitation=_group(
            wire.ElicitationCapabilities,
            meta.get("elicitation"),
            form=_marker(wire.ElicitationFormCapabilities, can.form_elicitation, meta.get("elicitation.form")),
            url=_marker(wire.ElicitationUrlCapabilities, can.url_elicitation, meta.get("elicitation.url")),
        ),
        meta=told(can.meta),
    )


def client_capabilities_from_wire(capabilities: Any) -> ClientCapabilities:
    """What the client can do; notices, compactions and switches need no capability in v2."""
    said = known(capabilities) or wire.ClientCapabilities()
    auth = known(said.auth) or wire.ClientAuthCapabilities()
    elicitation = known(said.elicitation) or wire.ElicitationCapabilities()
    return ClientCapabilities(
        terminal_login=known(auth.terminal) is not None,
        form_elicitation=known(elicitation.form) is not None,
        url_elicitation=known(elicitation.url) is not None,
        boolean_options=True,
        notices=True,
        compaction=True,
        group_meta=group_meta(said),
        meta=known(said.meta),
    )


def agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    meta = can.group_meta
    prompt = _group(
        wire.PromptCapabilities,
        meta.get("session.prompt"),
        image=_marker(wire.PromptImageCapabilities, can.image, meta.get("session.prompt.image")),
        audio=_marker(wire.PromptAudioCapabilities, can.audio, meta.get("session.prompt.audio")),
        embedded_context=_marker(
            wire.PromptEmbeddedContextCapabilities, can.embedded_context, meta.get("session.prompt.embeddedContext")
        ),
    )
    mcp = _group(
        wire.McpCapabilities,
        meta.get("session.mcp"),
        stdio=_marker(wire.McpStdioCapabilities, can.mcp_stdio, meta.get("session.mcp.stdio")),
        http=_marker(wire.McpHttpCapabilities, can.mcp_http, meta.get("session.mcp.http")),
    )
    session = wire.SessionCapabilities(
        prompt=prompt,
        mcp=mcp,
        delete=_marker(wire.SessionDeleteCapabilities, can.delete, meta.get("session.delete")),
        fork=_marker(wire.SessionForkCapabilities, can.fork, meta.get("session.fork")),
        additional_directories=_marker(
            wire.SessionAdditionalDirectoriesCapabilities,
            can.additional_directories,
            meta.get("session.additionalDirectories"),
        ),
        meta=told(meta.get("session")),
    )
    return wire.AgentCapabilities(
        session=session if can.sessions else UNSET,
        auth=_group(wire.AgentAuthCapabilities, meta.get("auth")),
        meta=told(can.meta),
    )


def agent_capabilities_from_wire(capabilities: Any) -> AgentCapabilities:
    """What the agent can do; one that has sessions can load, resume, list and close them."""
    said = known(capabilities) or wire.AgentCapabilities()
    session = known(said.session)
    if session is None:
        return AgentCapabilities(sessions=False, mcp_stdio=False, group_meta=group_meta(said), meta=known(said.meta))
    prompt = known(session.prompt) or wire.PromptCapabilities()
    mcp = known(session.mcp) or wire.McpCapabilities()
    return AgentCapabilities(
        sessions=True,
        load=True,
        resume=True,
        list=True,
        close=True,
        delete=known(session.delete) is not None,
        fork=known(session.fork) is not None,
        additional_directories=known(session.additional_directories) is not None,
        image=known(prompt.image) is not None,
        audio=known(prompt.audio) is not None,
        embedded_context=known(prompt.embedded_context) is not None,
        mcp_stdio=known(mcp.stdio) is not None,
        mcp_http=known(mcp.http) is not None,
        group_meta=group_meta(said),
        meta=known(said.meta),
    )


def _marker(kind: type[Wire], is_offered: bool, meta: dict[str, Any] | None) -> Any:
    return kind(meta=told(meta)) if is_offered else UNSET


def _group(kind: type[Wire], meta: dict[str, Any] | None, **markers: Any) -> Any:
    """The object that holds the markers, if there is something in it."""
    if meta is None and all(marker is UNSET for marker in markers.values()):
        return UNSET
    return kind(meta=told(meta), **markers)


def group_meta(group: Wire, above: str = "") -> dict[str, dict[str, Any]]:
    """The `_meta` of the objects inside a capability object, by their dotted path (EXT-12)."""
    found: dict[str, dict[str, Any]] = {}
    for field, key in zip(group.__struct_fields__, group.__struct_encode_fields__, strict=True):
        inner = getattr(group, field)
        if isinstance(inner, Wire):
            if isinstance(inner.meta, dict):
                found[above + key] = inner.meta
            found |= group_meta(inner, f"{above}{key}.")
    return found


def auth_method_to_wire(method: AuthMethod) -> Any:
    match method:
        case Unknown():
            return UnknownOnWire(method.tag, method.raw)
        case AgentLogin():
            return wire.AuthMethodAgent(
                method_id=method.id,
                name=method.name,
                description=told(method.description),
                meta=told(method.meta),
            )
        case TerminalLogin():
            return wire.AuthMethodTerminal(
                method_id=method.id,
                name=method.name,
                description=told(method.description),
                args=method.args or UNSET,
                env=[wire.EnvVariable(name=name, value=value) for name, value in method.env.items()] or UNSET,
                meta=told(method.meta),
            )


def auth_method_from_wire(method: Any) -> AuthMethod:
    """A way to log in; one of an unknown type is kept, to be ignored."""
    match method:
        case wire.AuthMethodAgent():
            return AgentLogin(
                id=method.method_id,
                name=method.name,
                description=known(method.description),
                meta=known(method.meta),
            )
        case wire.AuthMethodTerminal():
            return TerminalLogin(
                id=method.method_id,
                name=method.name,
                description=known(method.description),
                args=listed(method.args),
                env={variable.name: variable.value for variable in listed(method.env)},
                meta=known(method.meta),
            )
        case _:
            return Unknown(tag=method.tag, raw=method.raw)


def authenticate_to_wire(dialect: Dialect, asked: Authenticate) -> wire.LoginAuthRequest:
    return wire.LoginAuthRequest(method_id=asked.method_id, meta=told(asked.meta))


def authenticate_from_wire(dialect: Dialect, params: wire.LoginAuthRequest) -> Authenticate:
    return Authenticate(method_id=params.method_id, meta=known(params.meta))


def logout_to_wire(dialect: Dialect, asked: Logout) -> wire.LogoutAuthRequest:
    return wire.LogoutAuthRequest(meta=told(asked.meta))


def logout_from_wire(dialect: Dialect, params: wire.LogoutAuthRequest) -> Logout:
    return Logout(meta=known(params.meta))
