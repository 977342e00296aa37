"""Opening a connection: versions, what each side can do, login, and what belongs to no session."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

import msgspec
from msgspec import Meta

from accord.schema.v2.identifiers import AuthMethodId, RequestId, SessionId
from accord.schema.v2.mcp_servers import EnvVariable
from accord.schema.wire_values import (
    UNSET,
    Alias,
    Defaulted,
    DefaultedItems,
    DefaultTag,
    Lenient,
    NullIsEmpty,
    Open,
    Others,
    UInt16,
    Wire,
)

__all__ = [
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "AuthMethod",
    "AuthMethodAgent",
    "AuthMethodTerminal",
    "CancelRequestNotification",
    "ClientAuthCapabilities",
    "ClientCapabilities",
    "ElicitationCapabilities",
    "ElicitationFormCapabilities",
    "ElicitationUrlCapabilities",
    "Error",
    "ErrorData",
    "Implementation",
    "InitializeRequest",
    "InitializeResponse",
    "LoginAuthRequest",
    "LoginAuthResponse",
    "LogoutAuthRequest",
    "LogoutAuthResponse",
    "McpCapabilities",
    "McpHttpCapabilities",
    "McpStdioCapabilities",
    "PromptAudioCapabilities",
    "PromptCapabilities",
    "PromptEmbeddedContextCapabilities",
    "PromptImageCapabilities",
    "ProtocolVersion",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionCapabilities",
    "SessionDeleteCapabilities",
    "SessionForkCapabilities",
    "SessionNotFoundErrorData",
    "TerminalAuthCapabilities",
    "UnsupportedProtocolVersionErrorData",
]

ProtocolVersion: TypeAlias = UInt16


class Implementation(Wire):
    """Which program speaks: `name` for programs, `title` for people."""

    name: str
    version: str
    title: Lenient[str] = UNSET


class TerminalAuthCapabilities(Wire):
    """The client can start the agent in a terminal for a login."""


class ClientAuthCapabilities(Wire):
    """The ways of logging in that need the client's help."""

    terminal: Lenient[TerminalAuthCapabilities] = UNSET


class ElicitationFormCapabilities(Wire):
    """The client can show a form."""


class ElicitationUrlCapabilities(Wire):
    """The client can send the user to a web page."""


class ElicitationCapabilities(Wire):
    """How the client can ask the user; an empty object offers nothing."""

    form: Lenient[ElicitationFormCapabilities] = UNSET
    url: Lenient[ElicitationUrlCapabilities] = UNSET


class ClientCapabilities(Wire):
    """What an agent may ask of this client."""

    auth: Lenient[ClientAuthCapabilities] = UNSET
    elicitation: Lenient[ElicitationCapabilities] = UNSET


class PromptImageCapabilities(Wire):
    """Prompts may hold pictures."""


class PromptAudioCapabilities(Wire):
    """Prompts may hold sound."""


class PromptEmbeddedContextCapabilities(Wire):
    """Prompts may hold whole resources."""


class PromptCapabilities(Wire):
    """What prompts may hold beside text and links, which they always may."""

    image: Lenient[PromptImageCapabilities] = UNSET
    audio: Lenient[PromptAudioCapabilities] = UNSET
    embedded_context: Lenient[PromptEmbeddedContextCapabilities] = UNSET


class McpStdioCapabilities(Wire):
    """The agent starts MCP servers."""


class McpHttpCapabilities(Wire):
    """The agent talks to MCP servers over HTTP."""


class McpCapabilities(Wire):
    """The kinds of MCP server the agent connects to; none is implied. `acp` is unstable."""

    stdio: Lenient[McpStdioCapabilities] = UNSET
    http: Lenient[McpHttpCapabilities] = UNSET
    acp: Lenient[dict[str, Any]] = UNSET


class SessionDeleteCapabilities(Wire):
    """`session/delete` is there."""


class SessionForkCapabilities(Wire):
    """`session/fork` is there; unstable."""


class SessionAdditionalDirectoriesCapabilities(Wire):
    """Sessions take `additionalDirectories`."""


class SessionCapabilities(Wire):
    """The agent has sessions: everything about them but what is named here goes without saying.

    `fork`, and from `status` on, it is unstable.
    """

    prompt: Lenient[PromptCapabilities] = UNSET
    mcp: Lenient[McpCapabilities] = UNSET
    delete: Lenient[SessionDeleteCapabilities] = UNSET
    fork: Lenient[SessionForkCapabilities] = UNSET
    additional_directories: Lenient[SessionAdditionalDirectoriesCapabilities] = UNSET
    status: Lenient[dict[str, Any]] = UNSET
    title: Lenient[dict[str, Any]] = UNSET
    archive: Lenient[dict[str, Any]] = UNSET
    system_prompt: Lenient[dict[str, Any]] = UNSET
    subagents: Lenient[dict[str, Any]] = UNSET


class AgentAuthCapabilities(Wire):
    """Whether there is a login is said by `authMethods`; `status` is unstable."""

    status: Lenient[dict[str, Any]] = UNSET


class AgentCapabilities(Wire):
    """What a client may ask of this agent; `providers` is unstable."""

    session: Lenient[SessionCapabilities] = UNSET
    auth: Lenient[AgentAuthCapabilities] = UNSET
    providers: Lenient[dict[str, Any]] = UNSET


class AuthMethodAgent(Wire, tag_field="type", tag="agent"):
    """A login that the agent carries out itself."""

    method_id: Annotated[AuthMethodId, Alias("id")]
    name: str
    description: Lenient[str] = UNSET


class AuthMethodTerminal(Wire, tag_field="type", tag="terminal"):
    """A login in a terminal: the agent's own command, with these arguments and variables added."""

    method_id: Annotated[AuthMethodId, Alias("id")]
    name: str
    description: Lenient[str] = UNSET
    args: NullIsEmpty[list[str]] = UNSET
    env: NullIsEmpty[list[EnvVariable]] = UNSET


class _OtherAuthMethod(Wire):
    method_id: AuthMethodId
    name: str


AuthMethod: TypeAlias = Annotated[
    Open[Union[AuthMethodAgent, AuthMethodTerminal]], DefaultTag("agent"), Others(_OtherAuthMethod)
]


class InitializeRequest(Wire):
    """The client's offer: the newest version it has, who it is and what it can do."""

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Defaulted[ClientCapabilities] = UNSET


class InitializeResponse(Wire):
    """The agent's choice of version; the connection then speaks it."""

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Defaulted[AgentCapabilities] = UNSET
    auth_methods: DefaultedItems[AuthMethod] = UNSET


class LoginAuthRequest(Wire):
    """Log in by one of the agent's methods; never one of type `terminal`."""

    method_id: AuthMethodId


class LoginAuthResponse(Wire):
    """The login worked."""


class LogoutAuthRequest(Wire):
    """Forget the credentials."""


class LogoutAuthResponse(Wire):
    """The credentials are gone."""


class CancelRequestNotification(Wire):
    """The sender no longer needs the answer to its own request; an answer comes all the same."""

    request_id: RequestId


ErrorData: TypeAlias = Any


class Error(msgspec.Struct, kw_only=True, gc=False):
    """A JSON-RPC error told inside a message, as the reason why work stopped."""

    code: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
    message: str
    data: Lenient[ErrorData] = UNSET


class UnsupportedProtocolVersionErrorData(Wire):
    """Goes with -32022: what was asked for, and what there is."""

    requested: ProtocolVersion
    supported: list[ProtocolVersion]


class SessionNotFoundErrorData(Wire):
    """Goes with -32002: which session there is not."""

    session_id: SessionId
