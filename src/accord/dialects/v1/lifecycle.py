"""Converts the handshake and auth methods of v1."""

from __future__ import annotations

from typing import Any

import accord.schema.v1.lifecycle as wire  # not the package: it would load all types
from accord.dialects.all_versions.lifecycle import (
    can_offer_terminal_login,
    group_meta,
    info_from_wire,
    info_to_wire,
    is_set,
    marker,
    markers,
    other_login,
    read_unstable,
    read_variables,
    unstable_members,
    variables_to_wire,
)
from accord.dialects.all_versions.mcp_servers import pairs_from_wire
from accord.dialects.dialect import Dialect, RequestConverter
from accord.dialects.negotiation import displays_terminals, offer_of_v1
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
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


class AuthMethodConverter:
    """For v1 and the draft, where one wire type has the members of all types of auth methods."""

    def __init__(self, wire_type: type[Any], agent_type: str | UnsetType = UNSET) -> None:
        self._agent_type = agent_type
        self._agent = StructConverter(AgentLogin, wire_type)
        self._terminal = StructConverter(TerminalLogin, wire_type)
        self._variables = StructConverter(VariableLogin, wire_type)

    def all_to_wire(self, dialect: Dialect, methods: list[AuthMethod]) -> list[Any]:
        """The methods that can be offered to this client; the loss of others is recorded."""
        return [wire_method for method in methods if (wire_method := self._to_wire(dialect, method)) is not None]

    def _to_wire(self, dialect: Dialect, method: AuthMethod) -> Any:
        match method:
            case Unknown():
                dialect.record_loss("auth-method", method.tag)
                return None
            case VariableLogin():
                return self._variables.to_wire(method, type="env_var", vars=variables_to_wire(method))
            case TerminalLogin():
                if not can_offer_terminal_login(dialect, method):
                    return None
                return self._terminal.to_wire(method, type="terminal", env=self._env_to_wire(dialect, method))
            case AgentLogin():
                if method.raw is not None:
                    return UnknownOnWire(str(method.raw.get("type")), {**method.raw, **self._raw_ids(method)})
                return self._agent.to_wire(method, type=self._agent_type)

    def _raw_ids(self, method: AgentLogin) -> dict[str, str]:
        return {"id": method.id}

    def _env_to_wire(self, dialect: Dialect, method: TerminalLogin) -> Any:
        if len(method.env) < len(pairs_in(method.env)):
            dialect.record_loss("repeated-variable", method.id)
        return dict(method.env)

    def from_wire(self, method: Any) -> AuthMethod:
        """A method of any type other than terminal and env_var is performed by the agent."""
        if isinstance(method, UnknownOnWire):
            return other_login(method.raw)
        match none_if_unset(method.type):
            case "env_var":
                return self._variables.from_wire(method, variables=read_variables(none_if_unset(method.vars)))
            case "terminal":
                return self._terminal.from_wire(method, env=pairs_from_wire(method.env))
            case _:
                return self._agent.from_wire(method)


_AUTH_METHODS = AuthMethodConverter(wire.AuthMethod)


def _to_wire(dialect: Dialect, request: Initialize) -> dict[str, Any]:
    meta = {} if request.meta is None else {"_meta": request.meta}
    return {"protocolVersion": request.version, **offer_of_v1(request.info, request.capabilities), **meta}


def _from_wire(dialect: Dialect, params: wire.InitializeRequest) -> Initialize:
    return Initialize(
        version=params.protocol_version,
        info=info_from_wire(params.client_info),
        capabilities=client_capabilities_from_wire(params.client_capabilities),
        meta=none_if_unset(params.meta),
    )


def _result_to_wire(dialect: Dialect, request: Initialize, result: InitializeResult) -> wire.InitializeResponse:
    return wire.InitializeResponse(
        protocol_version=result.version,
        agent_capabilities=agent_capabilities_to_wire(result.capabilities),
        auth_methods=_AUTH_METHODS.all_to_wire(dialect, result.auth_methods),
        agent_info=info_to_wire(result.info),
        meta=unset_if_none(result.meta),
    )


def _result_from_wire(dialect: Dialect, request: Initialize, response: wire.InitializeResponse) -> InitializeResult:
    return InitializeResult(
        version=response.protocol_version,
        info=info_from_wire(response.agent_info),
        capabilities=agent_capabilities_from_wire(response.agent_capabilities),
        auth_methods=list(map(_AUTH_METHODS.from_wire, list_or_empty(response.auth_methods))),
        meta=none_if_unset(response.meta),
    )


INITIALIZE = RequestConverter(Initialize, "initialize", _to_wire, _from_wire, _result_to_wire, _result_from_wire)


def client_capabilities_from_wire(capabilities: wire.ClientCapabilities | UnsetType) -> ClientCapabilities:
    """A capability that is missing or malformed is off (INIT-19, AMB-13)."""
    said = none_if_unset(capabilities) or wire.ClientCapabilities()
    files = none_if_unset(said.fs) or wire.FileSystemCapabilities()
    auth = none_if_unset(said.auth) or wire.AuthCapabilities()
    session = none_if_unset(said.session) or wire.ClientSessionCapabilities()
    elicitation = none_if_unset(said.elicitation) or wire.ElicitationCapabilities()
    options = none_if_unset(session.config_options) or wire.SessionConfigOptionsCapabilities()
    return ClientCapabilities(
        read_files=files.read_text_file is True,
        write_files=files.write_text_file is True,
        terminals=said.terminal is True,
        terminal_login=auth.terminal is True,
        form_elicitation=is_set(elicitation.form),
        url_elicitation=is_set(elicitation.url),
        boolean_options=is_set(options.boolean),
        notices=is_set(session.notices),
        compaction=is_set(session.compaction),
        display_terminals=displays_terminals(none_if_unset(said.meta)),
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )


_SESSION_MARKERS = {
    "list": wire.SessionListCapabilities,
    "delete": wire.SessionDeleteCapabilities,
    "additional_directories": wire.SessionAdditionalDirectoriesCapabilities,
    "resume": wire.SessionResumeCapabilities,
    "close": wire.SessionCloseCapabilities,
    "fork": wire.SessionForkCapabilities,
}


def agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    meta = can.group_meta
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
        session_capabilities=wire.SessionCapabilities(
            meta=meta.get("session", UNSET),
            **markers(can, "session", **_SESSION_MARKERS),
            **unstable_members(can, "session"),
        ),
        auth=wire.AgentAuthCapabilities(logout=logout, meta=meta.get("auth", UNSET), **unstable_members(can, "auth")),
        meta=unset_if_none(can.meta),
        **unstable_members(can, ""),
    )


def agent_capabilities_from_wire(capabilities: wire.AgentCapabilities | UnsetType) -> AgentCapabilities:
    """A capability that is missing or malformed is off (INIT-19, AMB-13)."""
    said = none_if_unset(capabilities) or wire.AgentCapabilities()
    prompt = none_if_unset(said.prompt_capabilities) or wire.PromptCapabilities()
    mcp = none_if_unset(said.mcp_capabilities) or wire.McpCapabilities()
    auth = none_if_unset(said.auth) or wire.AgentAuthCapabilities()
    session = none_if_unset(said.session_capabilities) or wire.SessionCapabilities()
    sessions: dict[str, Any] = {name: is_set(getattr(session, name)) for name in _SESSION_MARKERS}
    return AgentCapabilities(
        load=said.load_session is True,
        image=prompt.image is True,
        audio=prompt.audio is True,
        embedded_context=prompt.embedded_context is True,
        mcp_http=mcp.http is True,
        mcp_sse=mcp.sse is True,
        logout=is_set(auth.logout),
        unstable=read_unstable({"": said, "session": session, "session.mcp": mcp, "auth": auth}),
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
        **sessions,
    )
