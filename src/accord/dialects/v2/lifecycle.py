"""Converts the handshake, capabilities and auth methods of v2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

import accord.schema.v2.lifecycle as wire  # not the package: it would load all types
from accord.dialects.all_versions.lifecycle import (
    can_offer_terminal_login,
    group_meta,
    info_from_wire,
    info_to_wire,
    is_set,
    marker,
    markers,
    read_auth_method,
    read_unstable,
    unstable_members,
    variables_to_wire,
)
from accord.dialects.all_versions.mcp_servers import pairs_from_wire, pairs_to_wire
from accord.dialects.dialect import Dialect, RequestConverter
from accord.dialects.negotiation import UNKNOWN_PEER, offer_of_v2
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.errors import InvalidParams
from accord.schema.wire_values import UNSET, Lenient, UnsetType, Wire
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    AuthMethod,
    ClientCapabilities,
    TerminalLogin,
    VariableLogin,
)
from accord.session.requests import Initialize, InitializeResult
from accord.session.value import Unknown


class Offer(wire.InitializeRequest):
    """An offer with v1's members beside v2's, as accord's clients send by default; allowed in strict mode, too."""

    client_info: Any = UNSET
    client_capabilities: Any = UNSET


class LenientOffer(Wire):
    """An offer of a version that may be newer; only the number must be valid. Strict mode rejects it."""

    protocol_version: wire.ProtocolVersion
    info: Lenient[wire.Implementation] = UNSET
    capabilities: Lenient[wire.ClientCapabilities] = UNSET


_AGENT_LOGIN = StructConverter(AgentLogin, wire.AuthMethodAgent, id="method_id")
_TERMINAL_LOGIN = StructConverter(TerminalLogin, wire.AuthMethodTerminal, id="method_id")


def _to_wire(dialect: Dialect, request: Initialize) -> dict[str, Any]:
    can = request.capabilities
    if can.read_files or can.write_files or can.terminals:
        dialect.record_loss("client-resources", "initialize")
    meta = {} if request.meta is None else {"_meta": request.meta}
    return {"protocolVersion": request.version, **offer_of_v2(request.info, can), **meta}


def _from_wire(dialect: Dialect, params: Any) -> Initialize:
    """An offer of a newer version is read as far as it can be understood."""
    info = info_from_wire(params.info)
    if info is None and params.protocol_version <= dialect.version:
        raise InvalidParams("required", field="info")
    return Initialize(
        version=params.protocol_version,
        info=info or UNKNOWN_PEER,
        capabilities=_client_capabilities_from_wire(params.capabilities),
        meta=none_if_unset(params.meta),
    )


def _result_to_wire(dialect: Dialect, request: Initialize, result: InitializeResult) -> wire.InitializeResponse:
    can = result.capabilities
    if can.sessions and not (can.load and can.resume and can.list and can.close):
        dialect.record_loss("session-baseline", "initialize")
    if can.mcp_sse:
        dialect.record_loss("mcp-sse", "initialize")
    if can.logout is not bool(result.auth_methods):
        dialect.record_loss("logout", "initialize")
    return wire.InitializeResponse(
        protocol_version=result.version,
        info=info_to_wire(result.info or UNKNOWN_PEER),
        capabilities=_agent_capabilities_to_wire(can),
        auth_methods=[
            _auth_method_to_wire(dialect, method)
            for method in result.auth_methods
            if not isinstance(method, TerminalLogin) or can_offer_terminal_login(dialect, method)
        ],
        meta=unset_if_none(result.meta),
    )


def _result_from_wire(dialect: Dialect, request: Initialize, response: wire.InitializeResponse) -> InitializeResult:
    methods = [_auth_method_from_wire(method) for method in list_or_empty(response.auth_methods)]
    capabilities = _agent_capabilities_from_wire(response.capabilities)
    capabilities.logout = bool(methods)  # an agent that has a login has a logout
    return InitializeResult(
        version=response.protocol_version,
        info=info_from_wire(response.info),
        capabilities=capabilities,
        auth_methods=methods,
        meta=none_if_unset(response.meta),
    )


INITIALIZE = RequestConverter(Initialize, "initialize", _to_wire, _from_wire, _result_to_wire, _result_from_wire)
INITIALIZE_METHOD = replace(wire.INITIALIZE, params=Offer)
LENIENT_HANDSHAKE: dict[Any, Any] = {Offer: LenientOffer, wire.InitializeResponse: wire.InitializeResponse}
"""The types that are read in the handshake, unless strict."""


def _client_capabilities_from_wire(capabilities: wire.ClientCapabilities | UnsetType) -> ClientCapabilities:
    """Notices, compactions, boolean options and display terminals need no capability in v2."""
    said = none_if_unset(capabilities) or wire.ClientCapabilities()
    auth = none_if_unset(said.auth) or wire.ClientAuthCapabilities()
    elicitation = none_if_unset(said.elicitation) or wire.ElicitationCapabilities()
    return ClientCapabilities(
        terminal_login=is_set(auth.terminal),
        form_elicitation=is_set(elicitation.form),
        url_elicitation=is_set(elicitation.url),
        boolean_options=True,
        notices=True,
        compaction=True,
        display_terminals=True,
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )


_SESSION_MARKERS = {
    "delete": wire.SessionDeleteCapabilities,
    "fork": wire.SessionForkCapabilities,
    "additional_directories": wire.SessionAdditionalDirectoriesCapabilities,
}
_PROMPT_MARKERS = {
    "image": wire.PromptImageCapabilities,
    "audio": wire.PromptAudioCapabilities,
    "embedded_context": wire.PromptEmbeddedContextCapabilities,
}


def _group(wire_type: Callable[..., Any], meta: Mapping[str, dict[str, Any]], path: str, **members: Any) -> Any:
    """The object that holds these members; missing if it would be empty."""
    if path not in meta and all(member is UNSET for member in members.values()):
        return UNSET
    return wire_type(meta=meta.get(path, UNSET), **members)


def _agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    meta = can.group_meta
    mcp = _group(
        wire.McpCapabilities,
        meta,
        "session.mcp",
        stdio=marker(wire.McpStdioCapabilities, can.mcp_stdio, meta, "session.mcp.stdio"),
        http=marker(wire.McpHttpCapabilities, can.mcp_http, meta, "session.mcp.http"),
        **unstable_members(can, "session.mcp"),
    )
    prompt = _group(
        wire.PromptCapabilities, meta, "session.prompt", **markers(can, "session.prompt", **_PROMPT_MARKERS)
    )
    session = wire.SessionCapabilities(
        prompt=prompt,
        mcp=mcp,
        meta=unset_if_none(meta.get("session")),
        **markers(can, "session", **_SESSION_MARKERS),
        **unstable_members(can, "session"),
    )
    return wire.AgentCapabilities(
        session=session if can.sessions else UNSET,
        auth=_group(wire.AgentAuthCapabilities, meta, "auth", **unstable_members(can, "auth")),
        meta=unset_if_none(can.meta),
        **unstable_members(can, ""),
    )


def _agent_capabilities_from_wire(capabilities: wire.AgentCapabilities | UnsetType) -> AgentCapabilities:
    """An agent that has sessions can load, resume, list and close them."""
    said = none_if_unset(capabilities) or wire.AgentCapabilities()
    has_sessions = is_set(said.session)
    session = none_if_unset(said.session) or wire.SessionCapabilities()
    prompt = none_if_unset(session.prompt) or wire.PromptCapabilities()
    mcp = none_if_unset(session.mcp) or wire.McpCapabilities()
    groups = {"": said, "session": session, "session.mcp": mcp, "auth": none_if_unset(said.auth)}
    flags: dict[str, Any] = {
        **dict.fromkeys(("sessions", "load", "resume", "list", "close"), has_sessions),
        **{name: is_set(getattr(session, name)) for name in _SESSION_MARKERS},
        **{name: is_set(getattr(prompt, name)) for name in _PROMPT_MARKERS},
    }
    return AgentCapabilities(
        mcp_stdio=is_set(mcp.stdio),
        mcp_http=is_set(mcp.http),
        unstable=read_unstable(groups),
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
        **flags,
    )


def _auth_method_to_wire(dialect: Dialect, method: AuthMethod) -> wire.AuthMethod:
    match method:
        case Unknown():
            return UnknownOnWire(method.tag, method.raw)
        case VariableLogin():
            return UnknownOnWire("env_var", _variable_login_to_wire(method))
        case AgentLogin():
            if method.raw is not None:
                dialect.record_loss("login-type", method.id)
            return _AGENT_LOGIN.to_wire(method)
        case TerminalLogin():
            env = pairs_to_wire(wire.EnvVariable, method.env) or UNSET
            return _TERMINAL_LOGIN.to_wire(method, args=method.args or UNSET, env=env)


def _auth_method_from_wire(method: wire.AuthMethod) -> AuthMethod:
    """A method of an unknown type is kept, to be ignored."""
    match method:
        case wire.AuthMethodAgent():
            return _AGENT_LOGIN.from_wire(method)
        case wire.AuthMethodTerminal():
            return _TERMINAL_LOGIN.from_wire(method, env=pairs_from_wire(method.env))
        case _:
            login = read_auth_method(method.raw) if method.tag == "env_var" else None
            return login or Unknown(tag=method.tag, raw=method.raw)


def _variable_login_to_wire(method: VariableLogin) -> dict[str, Any]:
    raw: dict[str, Any] = {"type": "env_var", "methodId": method.id, "name": method.name}
    raw["vars"] = variables_to_wire(method)
    optional = {"description": method.description, "link": method.link, "_meta": method.meta}
    return {**raw, **{name: value for name, value in optional.items() if value is not None}}
