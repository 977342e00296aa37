"""Connection setup of v1: versions, capabilities and login; and cancelling a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union

from accord.schema.handshake import (
    AuthMethodId,
    ElicitationCapabilities,
    Implementation,
    ProtocolVersion,
    SessionAdditionalDirectoriesCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
)
from accord.schema.method import by_client
from accord.schema.wire_values import (
    UNSET,
    Closed,
    Defaulted,
    DefaultedItems,
    Int64,
    Known,
    Lenient,
    MergedVariants,
    NullIsEmpty,
    Wire,
    variants,
)

__all__ = [
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "AuthCapabilities",
    "AuthMethod",
    "AuthMethodKind",
    "AuthenticateRequest",
    "AuthenticateResponse",
    "BooleanConfigOptionCapabilities",
    "CancelRequestNotification",
    "ClientCapabilities",
    "ClientSessionCapabilities",
    "CompactionCapabilities",
    "FileSystemCapabilities",
    "InitializeRequest",
    "InitializeResponse",
    "LogoutCapabilities",
    "LogoutRequest",
    "LogoutResponse",
    "McpCapabilities",
    "NoticeCapabilities",
    "PromptCapabilities",
    "RequestId",
    "SessionCapabilities",
    "SessionCloseCapabilities",
    "SessionConfigOptionsCapabilities",
    "SessionListCapabilities",
    "SessionResumeCapabilities",
]

RequestId: TypeAlias = Union[Int64, str, None]
"""The id of a JSON-RPC request, in params that refer to one; `null` is an id too."""


class FileSystemCapabilities(Wire):
    """The file methods of the client that the agent may call; each is independent of the other."""

    read_text_file: Defaulted[bool] = UNSET
    write_text_file: Defaulted[bool] = UNSET


class CompactionCapabilities(Wire):
    """The client can show compactions of the context."""


class BooleanConfigOptionCapabilities(Wire):
    """The client can show boolean options."""


class SessionConfigOptionsCapabilities(Wire):
    """The types of options that the client can show, in addition to selects."""

    boolean: Lenient[BooleanConfigOptionCapabilities] = UNSET


class NoticeCapabilities(Wire):
    """The client can show notices."""


class ClientSessionCapabilities(Wire):
    """The kinds of updates that an agent may send only if the client supports them."""

    compaction: Lenient[CompactionCapabilities] = UNSET
    config_options: Lenient[SessionConfigOptionsCapabilities] = UNSET
    notices: Lenient[NoticeCapabilities] = UNSET


class AuthCapabilities(Wire):
    """Whether the client can run the agent's program in a terminal for a login."""

    terminal: Defaulted[bool] = UNSET


class ClientCapabilities(Wire):
    """What the client supports; a missing member means not supported."""

    fs: Defaulted[FileSystemCapabilities] = UNSET
    terminal: Defaulted[bool] = UNSET
    session: Lenient[ClientSessionCapabilities] = UNSET
    auth: Defaulted[AuthCapabilities] = UNSET
    elicitation: Lenient[ElicitationCapabilities] = UNSET


class PromptCapabilities(Wire):
    """The content that the agent accepts in prompts, in addition to text and resource links."""

    image: Defaulted[bool] = UNSET
    audio: Defaulted[bool] = UNSET
    embedded_context: Defaulted[bool] = UNSET


class McpCapabilities(Wire):
    """The MCP transports that the agent supports, in addition to stdio; `acp` is unstable."""

    http: Defaulted[bool] = UNSET
    sse: Defaulted[bool] = UNSET
    acp: Defaulted[bool] = UNSET


class SessionListCapabilities(Wire):
    """The agent supports `session/list`."""


class SessionResumeCapabilities(Wire):
    """The agent supports `session/resume`."""


class SessionCloseCapabilities(Wire):
    """The agent supports `session/close`."""


class SessionCapabilities(Wire):
    """What the agent supports in addition to opening new sessions; `fork` and all members after it are unstable."""

    list: Lenient[SessionListCapabilities] = UNSET
    delete: Lenient[SessionDeleteCapabilities] = UNSET
    additional_directories: Lenient[SessionAdditionalDirectoriesCapabilities] = UNSET
    resume: Lenient[SessionResumeCapabilities] = UNSET
    close: Lenient[SessionCloseCapabilities] = UNSET
    fork: Lenient[SessionForkCapabilities] = UNSET
    status: Lenient[dict[str, Any]] = UNSET
    title: Lenient[dict[str, Any]] = UNSET
    archive: Lenient[dict[str, Any]] = UNSET
    system_prompt: Lenient[dict[str, Any]] = UNSET
    subagents: Lenient[dict[str, Any]] = UNSET


class LogoutCapabilities(Wire):
    """The agent supports `logout`."""


class AgentAuthCapabilities(Wire):
    """What the agent supports in addition to `authenticate`; `status` is unstable."""

    logout: Lenient[LogoutCapabilities] = UNSET
    status: Lenient[dict[str, Any]] = UNSET


class AgentCapabilities(Wire):
    """What the agent supports; a missing member means not supported. `providers` is unstable."""

    load_session: Defaulted[bool] = UNSET
    prompt_capabilities: Defaulted[PromptCapabilities] = UNSET
    mcp_capabilities: Defaulted[McpCapabilities] = UNSET
    session_capabilities: Defaulted[SessionCapabilities] = UNSET
    auth: Defaulted[AgentAuthCapabilities] = UNSET
    providers: Lenient[dict[str, Any]] = UNSET


AuthMethodKind: TypeAlias = Annotated[str, Known("agent", "terminal", "env_var")]

if TYPE_CHECKING:
    _Kind: TypeAlias = AuthMethodKind
else:
    _Kind = variants(AuthMethodKind)


class AuthMethod(MergedVariants):
    """A login method. For every type except "terminal" the agent performs the login, on `authenticate`.

    For "terminal" the client starts the agent's program once more, with `args` and `env` added, and the user completes
    the login there; exit code 0 is success. `vars` and `link` belong to "env_var", which was never stable.
    """

    id: AuthMethodId
    name: str
    type: Defaulted[_Kind] = UNSET
    description: Lenient[str] = UNSET
    args: NullIsEmpty[list[str]] = UNSET
    env: NullIsEmpty[dict[str, str]] = UNSET
    vars: Lenient[list[Any]] = UNSET
    link: Lenient[str] = UNSET


class InitializeRequest(Wire):
    """Params of `initialize`, with the newest version that the client supports."""

    protocol_version: ProtocolVersion
    client_capabilities: Defaulted[ClientCapabilities] = UNSET
    client_info: Lenient[Implementation] = UNSET


class InitializeResponse(Wire):
    """Result of `initialize`, with the version to use from now on."""

    protocol_version: ProtocolVersion
    agent_capabilities: Defaulted[AgentCapabilities] = UNSET
    auth_methods: DefaultedItems[Closed[AuthMethod]] = UNSET
    agent_info: Lenient[Implementation] = UNSET


INITIALIZE = by_client("initialize", InitializeRequest, InitializeResponse)
"""The row of the method table, here so that it is loaded without the others."""


class AuthenticateRequest(Wire):
    """Params of `authenticate`, never with a method of type "terminal"."""

    method_id: AuthMethodId


class AuthenticateResponse(Wire):
    """Result of `authenticate`: the user is logged in."""


class LogoutRequest(Wire):
    """Params of `logout`."""


class LogoutResponse(Wire):
    """Result of `logout`: the agent has removed the credentials; whether open sessions can go on is up to the agent."""


class CancelRequestNotification(Wire):
    """Params of `$/cancel_request`: the sender no longer needs the response to its request, but still gets one."""

    request_id: RequestId
