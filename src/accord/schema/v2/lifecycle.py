"""Connection setup of v2: versions, capabilities and login; cancelling a request, and error data."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

import msgspec
from msgspec import Meta

from accord.schema.handshake import (
    AuthMethodId,
    ElicitationCapabilities,
    EnvVariable,
    Implementation,
    ProtocolVersion,
    SessionAdditionalDirectoriesCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionId,
)
from accord.schema.method import by_client
from accord.schema.wire_values import (
    UNSET,
    Alias,
    Defaulted,
    DefaultedItems,
    DefaultTag,
    Int64,
    Lenient,
    NullIsEmpty,
    Open,
    UnknownVariant,
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
    "Error",
    "ErrorData",
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
    "RequestId",
    "SessionCapabilities",
    "SessionNotFoundErrorData",
    "TerminalAuthCapabilities",
    "UnsupportedProtocolVersionErrorData",
]

RequestId: TypeAlias = Union[Int64, str]
"""The id of a JSON-RPC request, in params that refer to one."""


class TerminalAuthCapabilities(Wire):
    """The client can run the agent's program in a terminal for a login."""


class ClientAuthCapabilities(Wire):
    """The login methods that need the client's support."""

    terminal: Lenient[TerminalAuthCapabilities] = UNSET


class ClientCapabilities(Wire):
    """What the client supports; a missing member means not supported."""

    auth: Lenient[ClientAuthCapabilities] = UNSET
    elicitation: Lenient[ElicitationCapabilities] = UNSET


class PromptImageCapabilities(Wire):
    """Prompts may contain images."""


class PromptAudioCapabilities(Wire):
    """Prompts may contain audio."""


class PromptEmbeddedContextCapabilities(Wire):
    """Prompts may contain embedded resources."""


class PromptCapabilities(Wire):
    """The content that the agent accepts in prompts, in addition to text and resource links."""

    image: Lenient[PromptImageCapabilities] = UNSET
    audio: Lenient[PromptAudioCapabilities] = UNSET
    embedded_context: Lenient[PromptEmbeddedContextCapabilities] = UNSET


class McpStdioCapabilities(Wire):
    """The agent can start MCP servers."""


class McpHttpCapabilities(Wire):
    """The agent can connect to MCP servers over HTTP."""


class McpCapabilities(Wire):
    """The MCP transports that the agent supports; none is implied. `acp` is unstable."""

    stdio: Lenient[McpStdioCapabilities] = UNSET
    http: Lenient[McpHttpCapabilities] = UNSET
    acp: Lenient[dict[str, Any]] = UNSET


class SessionCapabilities(Wire):
    """The agent supports sessions; these members are what it supports in addition.

    `fork`, `status` and all members after `status` are unstable.
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
    """The login methods are in `authMethods`; `status` is unstable."""

    status: Lenient[dict[str, Any]] = UNSET


class AgentCapabilities(Wire):
    """What the agent supports; a missing member means not supported. `providers` is unstable."""

    session: Lenient[SessionCapabilities] = UNSET
    auth: Lenient[AgentAuthCapabilities] = UNSET
    providers: Lenient[dict[str, Any]] = UNSET


class AuthMethodAgent(Wire, tag_field="type", tag="agent"):
    """A login that the agent performs itself."""

    method_id: Annotated[AuthMethodId, Alias("id")]
    name: str
    description: Lenient[str] = UNSET


class AuthMethodTerminal(Wire, tag_field="type", tag="terminal"):
    """A login in a terminal: the client runs the agent's command with these arguments and variables added."""

    method_id: Annotated[AuthMethodId, Alias("id")]
    name: str
    description: Lenient[str] = UNSET
    args: NullIsEmpty[list[str]] = UNSET
    env: NullIsEmpty[list[EnvVariable]] = UNSET


class _OtherAuthMethod(Wire):
    method_id: AuthMethodId
    name: str


AuthMethod: TypeAlias = Annotated[
    Open[Union[AuthMethodAgent, AuthMethodTerminal]], DefaultTag("agent"), UnknownVariant(_OtherAuthMethod)
]


class InitializeRequest(Wire):
    """Params of `initialize`: the newest version that the client supports, its name and capabilities."""

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Defaulted[ClientCapabilities] = UNSET


class InitializeResponse(Wire):
    """Result of `initialize`, with the version to use from now on."""

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Defaulted[AgentCapabilities] = UNSET
    auth_methods: DefaultedItems[AuthMethod] = UNSET


INITIALIZE = by_client("initialize", InitializeRequest, InitializeResponse)
"""The row of the method table, here so that it is loaded without the others."""


class LoginAuthRequest(Wire):
    """Params of `auth/login`, never with a method of type "terminal"."""

    method_id: AuthMethodId


class LoginAuthResponse(Wire):
    """Result of `auth/login`: the user is logged in."""


class LogoutAuthRequest(Wire):
    """Params of `auth/logout`."""


class LogoutAuthResponse(Wire):
    """Result of `auth/logout`: the agent has removed the credentials."""


class CancelRequestNotification(Wire):
    """Params of `$/cancel_request`: the sender no longer needs the response to its request, but still gets one."""

    request_id: RequestId


ErrorData: TypeAlias = Any


class Error(msgspec.Struct, kw_only=True, gc=False):
    """A JSON-RPC error as a member of a message: the reason why the work stopped."""

    code: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
    message: str
    data: Lenient[ErrorData] = UNSET


class UnsupportedProtocolVersionErrorData(Wire):
    """`data` of error -32022: the requested version, and the supported ones."""

    requested: ProtocolVersion
    supported: list[ProtocolVersion]


class SessionNotFoundErrorData(Wire):
    """`data` of error -32002: the session that was not found."""

    session_id: SessionId
