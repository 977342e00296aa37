"""Maps the handshake, capabilities and logins between v2 and the session model."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.lifecycle import (
    can_open_terminal,
    elicitation_to_wire,
    group,
    group_meta,
    info_from_wire,
    info_to_wire,
    marker,
    read_auth_method,
    unstable,
    unstable_of,
    variables_to_wire,
)
from accord.dialects.all_versions.mcp_servers import pairs_from_wire, pairs_to_wire
from accord.dialects.all_versions.options import MODE, is_mode_option
from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.errors import InvalidParams
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    AuthMethod,
    ClientCapabilities,
    Implementation,
    TerminalLogin,
    VariableLogin,
)
from accord.session.entities import Modes, Option, OptionChoice
from accord.session.requests import Initialize, InitializeResult
from accord.session.value import Unknown

__all__ = [
    "OptionsDialect",
    "SessionOptions",
    "agent_capabilities_from_wire",
    "agent_capabilities_to_wire",
    "auth_method_from_wire",
    "auth_method_to_wire",
    "client_capabilities_from_wire",
    "client_capabilities_to_wire",
    "initialize_from_wire",
    "initialize_to_wire",
    "initialized_from_wire",
    "initialized_to_wire",
]


def _named(info: Implementation | None) -> Implementation:
    """Who speaks, which v2 always wants to know."""
    return info or Implementation(name="unknown", version="unknown")


def initialize_to_wire(dialect: Dialect, asked: Initialize) -> wire.InitializeRequest:
    can = asked.capabilities
    if can.read_files or can.write_files or can.terminals:
        dialect.lose("client-resources", "initialize")
    return wire.InitializeRequest(
        protocol_version=asked.version,
        info=info_to_wire(wire, _named(asked.info)),
        capabilities=client_capabilities_to_wire(can),
        meta=unset_if_none(asked.meta),
    )


def initialize_from_wire(dialect: Dialect, params: Any) -> Initialize:
    """The offer; of a version newer than this, whatever can be understood."""
    info = info_from_wire(params.info)
    if info is None and params.protocol_version <= dialect.version:
        raise InvalidParams("required", field="info")
    return Initialize(
        version=params.protocol_version,
        info=_named(info),
        capabilities=client_capabilities_from_wire(params.capabilities),
        meta=none_if_unset(params.meta),
    )


def initialized_to_wire(dialect: Dialect, asked: Initialize, answer: InitializeResult) -> wire.InitializeResponse:
    can = answer.capabilities
    if can.sessions and not (can.load and can.resume and can.list and can.close):
        dialect.lose("session-baseline", "initialize")
    if can.mcp_sse:
        dialect.lose("mcp-sse", "initialize")
    if can.logout is not bool(answer.auth_methods):
        dialect.lose("logout", "initialize")
    return wire.InitializeResponse(
        protocol_version=answer.version,
        info=info_to_wire(wire, _named(answer.info)),
        capabilities=agent_capabilities_to_wire(can),
        auth_methods=[
            auth_method_to_wire(dialect, method) for method in answer.auth_methods if _can_be_shown(dialect, method)
        ],
        meta=unset_if_none(answer.meta),
    )


def _can_be_shown(dialect: Dialect, method: AuthMethod) -> bool:
    return not isinstance(method, TerminalLogin) or can_open_terminal(dialect, method)


def initialized_from_wire(dialect: Dialect, asked: Initialize, result: wire.InitializeResponse) -> InitializeResult:
    methods = [auth_method_from_wire(method) for method in list_or_empty(result.auth_methods)]
    capabilities = agent_capabilities_from_wire(result.capabilities)
    capabilities.logout = bool(methods)  # an agent that has a login has a logout
    return InitializeResult(
        version=result.protocol_version,
        info=info_from_wire(result.info),
        capabilities=capabilities,
        auth_methods=methods,
        meta=none_if_unset(result.meta),
    )


def client_capabilities_to_wire(can: ClientCapabilities) -> wire.ClientCapabilities:
    meta = can.group_meta
    return wire.ClientCapabilities(
        auth=group(
            wire.ClientAuthCapabilities,
            meta,
            "auth",
            terminal=marker(wire.TerminalAuthCapabilities, can.terminal_login, meta, "auth.terminal"),
        ),
        elicitation=elicitation_to_wire(wire, can),
        meta=unset_if_none(can.meta),
    )


def client_capabilities_from_wire(capabilities: wire.ClientCapabilities | UnsetType) -> ClientCapabilities:
    """What the client can do; notices, compactions, switches and terminals of the agent's need no capability in v2."""
    said = none_if_unset(capabilities) or wire.ClientCapabilities()
    auth = none_if_unset(said.auth) or wire.ClientAuthCapabilities()
    elicitation = none_if_unset(said.elicitation) or wire.ElicitationCapabilities()
    return ClientCapabilities(
        terminal_login=none_if_unset(auth.terminal) is not None,
        form_elicitation=none_if_unset(elicitation.form) is not None,
        url_elicitation=none_if_unset(elicitation.url) is not None,
        boolean_options=True,
        notices=True,
        compaction=True,
        display_terminals=True,
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )


def agent_capabilities_to_wire(can: AgentCapabilities) -> wire.AgentCapabilities:
    meta = can.group_meta
    prompt = group(
        wire.PromptCapabilities,
        meta,
        "session.prompt",
        image=marker(wire.PromptImageCapabilities, can.image, meta, "session.prompt.image"),
        audio=marker(wire.PromptAudioCapabilities, can.audio, meta, "session.prompt.audio"),
        embedded_context=marker(
            wire.PromptEmbeddedContextCapabilities, can.embedded_context, meta, "session.prompt.embeddedContext"
        ),
    )
    mcp = group(
        wire.McpCapabilities,
        meta,
        "session.mcp",
        stdio=marker(wire.McpStdioCapabilities, can.mcp_stdio, meta, "session.mcp.stdio"),
        http=marker(wire.McpHttpCapabilities, can.mcp_http, meta, "session.mcp.http"),
        **unstable(can, "session.mcp"),
    )
    session = wire.SessionCapabilities(
        prompt=prompt,
        mcp=mcp,
        delete=marker(wire.SessionDeleteCapabilities, can.delete, meta, "session.delete"),
        fork=marker(wire.SessionForkCapabilities, can.fork, meta, "session.fork"),
        additional_directories=marker(
            wire.SessionAdditionalDirectoriesCapabilities,
            can.additional_directories,
            meta,
            "session.additionalDirectories",
        ),
        meta=unset_if_none(meta.get("session")),
        **unstable(can, "session"),
    )
    return wire.AgentCapabilities(
        session=session if can.sessions else UNSET,
        auth=group(wire.AgentAuthCapabilities, meta, "auth", **unstable(can, "auth")),
        meta=unset_if_none(can.meta),
        **unstable(can, ""),
    )


def agent_capabilities_from_wire(capabilities: wire.AgentCapabilities | UnsetType) -> AgentCapabilities:
    """What the agent can do; one that has sessions can load, resume, list and close them."""
    said = none_if_unset(capabilities) or wire.AgentCapabilities()
    session, auth = none_if_unset(said.session), none_if_unset(said.auth)
    if session is None:
        return AgentCapabilities(
            sessions=False,
            mcp_stdio=False,
            unstable=unstable_of({"": said, "auth": auth}),
            group_meta=group_meta(said),
            meta=none_if_unset(said.meta),
        )
    prompt = none_if_unset(session.prompt) or wire.PromptCapabilities()
    mcp = none_if_unset(session.mcp) or wire.McpCapabilities()
    return AgentCapabilities(
        sessions=True,
        load=True,
        resume=True,
        list=True,
        close=True,
        delete=none_if_unset(session.delete) is not None,
        fork=none_if_unset(session.fork) is not None,
        additional_directories=none_if_unset(session.additional_directories) is not None,
        image=none_if_unset(prompt.image) is not None,
        audio=none_if_unset(prompt.audio) is not None,
        embedded_context=none_if_unset(prompt.embedded_context) is not None,
        mcp_stdio=none_if_unset(mcp.stdio) is not None,
        mcp_http=none_if_unset(mcp.http) is not None,
        unstable=unstable_of({"": said, "session": session, "session.mcp": mcp, "auth": auth}),
        group_meta=group_meta(said),
        meta=none_if_unset(said.meta),
    )


def auth_method_to_wire(dialect: Dialect, method: AuthMethod) -> wire.AuthMethod:
    if isinstance(method, AgentLogin) and method.raw is not None:
        dialect.lose("login-type", method.id)
    match method:
        case Unknown():
            return UnknownOnWire(method.tag, method.raw)
        case VariableLogin():
            return UnknownOnWire("env_var", _variables_to_wire(method))
        case AgentLogin():
            return wire.AuthMethodAgent(
                method_id=method.id,
                name=method.name,
                description=unset_if_none(method.description),
                meta=unset_if_none(method.meta),
            )
        case TerminalLogin():
            return wire.AuthMethodTerminal(
                method_id=method.id,
                name=method.name,
                description=unset_if_none(method.description),
                args=method.args or UNSET,
                env=pairs_to_wire(wire.EnvVariable, method.env) or UNSET,
                meta=unset_if_none(method.meta),
            )


def auth_method_from_wire(method: wire.AuthMethod) -> AuthMethod:
    """A way to log in; one of an unknown type is kept, to be ignored."""
    match method:
        case wire.AuthMethodAgent():
            return AgentLogin(
                id=method.method_id,
                name=method.name,
                description=none_if_unset(method.description),
                meta=none_if_unset(method.meta),
            )
        case wire.AuthMethodTerminal():
            return TerminalLogin(
                id=method.method_id,
                name=method.name,
                description=none_if_unset(method.description),
                args=list_or_empty(method.args),
                env=pairs_from_wire(method.env),
                meta=none_if_unset(method.meta),
            )
        case _:
            login = read_auth_method(method.raw) if method.tag == "env_var" else None
            return login or Unknown(tag=method.tag, raw=method.raw)


def _variables_to_wire(method: VariableLogin) -> dict[str, Any]:
    raw: dict[str, Any] = {"type": "env_var", "methodId": method.id, "name": method.name}
    raw["vars"] = variables_to_wire(method)
    optional = {"description": method.description, "link": method.link, "_meta": method.meta}
    return {**raw, **{key: value for key, value in optional.items() if value is not None}}


class SessionOptions:
    """One session's part of it."""

    __slots__ = ("modes", "options")

    def __init__(self) -> None:
        self.options: list[Option] = []
        self.modes: Modes | None = None

    @property
    def has_mode_option(self) -> bool:
        """Whether a mode can be told."""
        return any(map(is_mode_option, self.complete()))

    def complete(self) -> list[Option]:
        """The options, with one for the modes if none of them is, and the id is free."""
        if self.modes is None or any(is_mode_option(option) or option.id == MODE for option in self.options):
            return self.options
        choices = [
            OptionChoice(value=mode.id, name=mode.name, description=mode.description, meta=mode.meta)
            for mode in self.modes.available
        ]
        made = Option(id=MODE, name="Mode", category=MODE, value=self.modes.current, choices=choices)
        return [*self.options, made]

    def put_mode(self, mode_id: str) -> None:
        """Put a mode in force."""
        if self.modes is not None:
            self.modes = replace(self.modes, current=mode_id)
        self.options = [replace(option, value=mode_id) if is_mode_option(option) else option for option in self.options]


class OptionsDialect(Dialect):
    """A dialect that remembers what it offered."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._offered: dict[str, SessionOptions] = {}

    def offered(self, session_id: str) -> SessionOptions:
        """What the client can choose from in a session."""
        offered = self._offered.get(session_id)
        if offered is None:
            offered = self._offered[session_id] = SessionOptions()
        return offered

    def forget_session(self, session_id: str) -> None:
        self._offered.pop(session_id, None)
