"""The start of a connection: versions, capabilities, logging in; and giving up on a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from accord.schema.v1.identifiers import AuthMethodId, RequestId
from accord.schema.wire_values import (
    UNSET,
    Closed,
    Defaulted,
    DefaultedItems,
    Known,
    Lenient,
    NullIsEmpty,
    UInt16,
    Whole,
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
    "ElicitationCapabilities",
    "ElicitationFormCapabilities",
    "ElicitationUrlCapabilities",
    "FileSystemCapabilities",
    "Implementation",
    "InitializeRequest",
    "InitializeResponse",
    "LogoutCapabilities",
    "LogoutRequest",
    "LogoutResponse",
    "McpCapabilities",
    "NoticeCapabilities",
    "PromptCapabilities",
    "ProtocolVersion",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionCapabilities",
    "SessionCloseCapabilities",
    "SessionConfigOptionsCapabilities",
    "SessionDeleteCapabilities",
    "SessionForkCapabilities",
    "SessionListCapabilities",
    "SessionResumeCapabilities",
]

ProtocolVersion: TypeAlias = UInt16


class Implementation(Wire):
    """The program on one side; `name` is shown when there is no `title`."""

    name: str
    version: str
    title: Lenient[str] = UNSET


class FileSystemCapabilities(Wire):
    """Which of the client's file methods the agent may call; they are independent."""

    read_text_file: Defaulted[bool] = UNSET
    write_text_file: Defaulted[bool] = UNSET


class CompactionCapabilities(Wire):
    """The client can show that the context was shortened."""


class BooleanConfigOptionCapabilities(Wire):
    """The client can show options that are switches."""


class SessionConfigOptionsCapabilities(Wire):
    """The types of options the client can show, beyond selects."""

    boolean: Lenient[BooleanConfigOptionCapabilities] = UNSET


class NoticeCapabilities(Wire):
    """The client can show notices."""


class ClientSessionCapabilities(Wire):
    """The kinds of updates that the client has to be able to show before an agent sends them."""

    compaction: Lenient[CompactionCapabilities] = UNSET
    config_options: Lenient[SessionConfigOptionsCapabilities] = UNSET
    notices: Lenient[NoticeCapabilities] = UNSET


class AuthCapabilities(Wire):
    """Whether the client can start the agent's program in a terminal for logging in."""

    terminal: Defaulted[bool] = UNSET


class ElicitationFormCapabilities(Wire):
    """The client can show forms."""


class ElicitationUrlCapabilities(Wire):
    """The client can send the user to a page."""


class ElicitationCapabilities(Wire):
    """The modes of elicitation the client has; with neither member it has none."""

    form: Lenient[ElicitationFormCapabilities] = UNSET
    url: Lenient[ElicitationUrlCapabilities] = UNSET


class ClientCapabilities(Wire):
    """What the agent may ask of the client; what is left out is not supported."""

    fs: Defaulted[FileSystemCapabilities] = UNSET
    terminal: Defaulted[bool] = UNSET
    session: Lenient[ClientSessionCapabilities] = UNSET
    auth: Defaulted[AuthCapabilities] = UNSET
    elicitation: Lenient[ElicitationCapabilities] = UNSET


class PromptCapabilities(Wire):
    """The content the agent takes in prompts, beyond text and resource links."""

    image: Defaulted[bool] = UNSET
    audio: Defaulted[bool] = UNSET
    embedded_context: Defaulted[bool] = UNSET


class McpCapabilities(Wire):
    """The MCP servers the agent can reach, beyond those it starts itself; `acp` is unstable."""

    http: Defaulted[bool] = UNSET
    sse: Defaulted[bool] = UNSET
    acp: Defaulted[bool] = UNSET


class SessionListCapabilities(Wire):
    """The agent has `session/list`."""


class SessionDeleteCapabilities(Wire):
    """The agent has `session/delete`."""


class SessionAdditionalDirectoriesCapabilities(Wire):
    """Sessions can have more directories than `cwd`."""


class SessionResumeCapabilities(Wire):
    """The agent has `session/resume`."""


class SessionCloseCapabilities(Wire):
    """The agent has `session/close`."""


class SessionForkCapabilities(Wire):
    """The agent has `session/fork`. Unstable."""


class SessionCapabilities(Wire):
    """What the agent can do with sessions, beyond opening new ones; from `fork` on it is unstable."""

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
    """The agent has `logout`."""


class AgentAuthCapabilities(Wire):
    """What the agent can do about logins, beyond `authenticate`; `status` is unstable."""

    logout: Lenient[LogoutCapabilities] = UNSET
    status: Lenient[dict[str, Any]] = UNSET


class AgentCapabilities(Wire):
    """What the client may ask of the agent; what is left out is not supported. `providers` is unstable."""

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


class AuthMethod(Whole):
    """A way to log in. Of any type but "terminal" the agent does it, when asked by `authenticate`.

    For "terminal" the client starts the agent's program once more, with `args` and `env` added, and lets the user
    deal with it; exit code 0 is success. `vars` and `link` belong to "env_var", which was never stable.
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
    """Params of `initialize`, with the newest version the client has."""

    protocol_version: ProtocolVersion
    client_capabilities: Defaulted[ClientCapabilities] = UNSET
    client_info: Lenient[Implementation] = UNSET


class InitializeResponse(Wire):
    """Result of `initialize`, with the version that holds from now on."""

    protocol_version: ProtocolVersion
    agent_capabilities: Defaulted[AgentCapabilities] = UNSET
    auth_methods: DefaultedItems[Closed[AuthMethod]] = UNSET
    agent_info: Lenient[Implementation] = UNSET


class AuthenticateRequest(Wire):
    """Params of `authenticate`, never with a method of type "terminal"."""

    method_id: AuthMethodId


class AuthenticateResponse(Wire):
    """Result of `authenticate`: the user is logged in."""


class LogoutRequest(Wire):
    """Params of `logout`."""


class LogoutResponse(Wire):
    """Result of `logout`: the agent has forgotten the credentials, for open sessions too if it so decides."""


class CancelRequestNotification(Wire):
    """Params of `$/cancel_request`: the sender no longer needs the answer to a request of its own, but still gets one."""

    request_id: RequestId
