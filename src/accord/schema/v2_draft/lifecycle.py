"""Connection setup with a peer that negotiates 2 and may mean v1: the members of both, only the version required."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union

from accord.schema import v1, v2
from accord.schema.v2_draft.spellings import EITHER, Spelled, spelled
from accord.schema.wire_values import (
    UNSET,
    Defaulted,
    DefaultedItems,
    Known,
    Lenient,
    MergedVariants,
    NullIsEmpty,
    Open,
    UnsetType,
    Wire,
    variants,
)

__all__ = [
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "AuthMethod",
    "AuthMethodKind",
    "ClientAuthCapabilities",
    "ClientCapabilities",
    "ClientSessionCapabilities",
    "ElicitationCapabilities",
    "FileSystemCapabilities",
    "InitializeRequest",
    "InitializeResponse",
    "McpCapabilities",
    "PromptCapabilities",
    "SessionCapabilities",
    "SessionConfigOptionsCapabilities",
    "Support",
    "is_supported",
]

Support: TypeAlias = Union[bool, dict[str, Any]]
"""v1 has true or false, v2 an object or nothing."""


def is_supported(value: Union[Support, None, UnsetType]) -> bool:
    """True for `true` and for an object, even an empty one."""
    return value is True or isinstance(value, dict)


class FileSystemCapabilities(Wire):
    """The file methods of the client that the agent may call."""

    read_text_file: Lenient[Support] = UNSET
    write_text_file: Lenient[Support] = UNSET


class ClientAuthCapabilities(Wire):
    """The login methods that need the client's support."""

    terminal: Lenient[Support] = UNSET


class ElicitationCapabilities(Wire):
    """The modes of elicitation that the client supports."""

    form: Lenient[Support] = UNSET
    url: Lenient[Support] = UNSET


class SessionConfigOptionsCapabilities(Wire):
    """The types of options that the client can show, in addition to selects."""

    boolean: Lenient[Support] = UNSET


class ClientSessionCapabilities(Wire):
    """The kinds of updates that an agent may send only if the client supports them."""

    config_options: Lenient[SessionConfigOptionsCapabilities] = UNSET
    notices: Lenient[Support] = UNSET
    compaction: Lenient[Support] = UNSET


class ClientCapabilities(Wire):
    """`capabilities` of a client, with the members of v1 and v2."""

    auth: Lenient[ClientAuthCapabilities] = UNSET
    elicitation: Lenient[ElicitationCapabilities] = UNSET
    fs: Lenient[FileSystemCapabilities] = UNSET
    terminal: Lenient[Support] = UNSET
    session: Lenient[ClientSessionCapabilities] = UNSET


class PromptCapabilities(Wire):
    """The content that the agent accepts in prompts, in addition to text and resource links."""

    image: Lenient[Support] = UNSET
    audio: Lenient[Support] = UNSET
    embedded_context: Lenient[Support] = UNSET


class McpCapabilities(Wire):
    """The MCP transports that the agent supports."""

    stdio: Lenient[Support] = UNSET
    http: Lenient[Support] = UNSET
    sse: Lenient[Support] = UNSET
    acp: Lenient[Support] = UNSET


class SessionCapabilities(Wire):
    """What the agent supports for sessions; `load`, `list`, `resume` and `close` are not implied."""

    prompt: Lenient[PromptCapabilities] = UNSET
    mcp: Lenient[McpCapabilities] = UNSET
    load: Lenient[Support] = UNSET
    list: Lenient[Support] = UNSET
    resume: Lenient[Support] = UNSET
    close: Lenient[Support] = UNSET
    delete: Lenient[Support] = UNSET
    fork: Lenient[Support] = UNSET
    additional_directories: Lenient[Support] = UNSET
    status: Lenient[Support] = UNSET
    title: Lenient[Support] = UNSET
    archive: Lenient[Support] = UNSET
    system_prompt: Lenient[Support] = UNSET
    subagents: Lenient[Support] = UNSET


class AgentAuthCapabilities(Wire):
    """What the agent supports in addition to a login."""

    logout: Lenient[Support] = UNSET
    status: Lenient[Support] = UNSET


class AgentCapabilities(Wire):
    """`capabilities` of an agent, with the members of v1 and v2."""

    session: Lenient[SessionCapabilities] = UNSET
    auth: Lenient[AgentAuthCapabilities] = UNSET
    providers: Lenient[Support] = UNSET
    load_session: Lenient[Support] = UNSET
    prompt_capabilities: Lenient[PromptCapabilities] = UNSET
    mcp_capabilities: Lenient[McpCapabilities] = UNSET
    session_capabilities: Lenient[SessionCapabilities] = UNSET


AuthMethodKind: TypeAlias = Annotated[str, Known("agent", "terminal", "env_var")]

if TYPE_CHECKING:
    _Kind: TypeAlias = AuthMethodKind
else:
    _Kind = variants(AuthMethodKind)


class AuthMethod(MergedVariants):
    """A login method; without a type the agent performs it. `env` is an object in v1 and a list in v2."""

    name: str
    method_id: Spelled[v2.AuthMethodId] = EITHER
    id: Spelled[v2.AuthMethodId] = EITHER
    type: Defaulted[_Kind] = UNSET
    description: Lenient[str] = UNSET
    args: NullIsEmpty[list[str]] = UNSET
    env: NullIsEmpty[Union[dict[str, str], list[v2.EnvVariable]]] = UNSET
    vars: Lenient[list[Any]] = UNSET
    link: Lenient[str] = UNSET

    def __post_init__(self) -> None:
        self.method_id = self.id = spelled("methodId", self.method_id, self.id)


class InitializeRequest(Wire):
    """Params of `initialize` with the members of v1, v2 or both; both suit an agent whose version is unknown."""

    protocol_version: v2.ProtocolVersion
    info: Lenient[v2.Implementation] = UNSET
    capabilities: Defaulted[ClientCapabilities] = UNSET
    client_info: Lenient[v1.Implementation] = UNSET
    client_capabilities: Defaulted[v1.ClientCapabilities] = UNSET


class InitializeResponse(Wire):
    """Result of `initialize` with the members of v1, v2 or both; `info` means the published v2."""

    protocol_version: v2.ProtocolVersion
    info: Lenient[v2.Implementation] = UNSET
    capabilities: Defaulted[AgentCapabilities] = UNSET
    agent_info: Lenient[v1.Implementation] = UNSET
    agent_capabilities: Defaulted[v1.AgentCapabilities] = UNSET
    auth_methods: DefaultedItems[Open[AuthMethod]] = UNSET
