"""Opening a connection with a peer that says 2 and may mean v1: both shapes at once, only the version required."""

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
    NullIsEmpty,
    Open,
    UnsetType,
    Whole,
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
"""v1 says true or false, v2 an object or nothing."""


def is_supported(said: Union[Support, None, UnsetType]) -> bool:
    """An object offers something even when it is empty."""
    return said is True or isinstance(said, dict)


class FileSystemCapabilities(Wire):
    """The client's file methods."""

    read_text_file: Lenient[Support] = UNSET
    write_text_file: Lenient[Support] = UNSET


class ClientAuthCapabilities(Wire):
    """The ways of logging in that need the client's help."""

    terminal: Lenient[Support] = UNSET


class ElicitationCapabilities(Wire):
    """How the client can ask the user."""

    form: Lenient[Support] = UNSET
    url: Lenient[Support] = UNSET


class SessionConfigOptionsCapabilities(Wire):
    """The options the client can show, beyond selects."""

    boolean: Lenient[Support] = UNSET


class ClientSessionCapabilities(Wire):
    """The updates the client can show, where the agent has to ask."""

    config_options: Lenient[SessionConfigOptionsCapabilities] = UNSET
    notices: Lenient[Support] = UNSET
    compaction: Lenient[Support] = UNSET


class ClientCapabilities(Wire):
    """`capabilities` of a client, whatever it took over from v1."""

    auth: Lenient[ClientAuthCapabilities] = UNSET
    elicitation: Lenient[ElicitationCapabilities] = UNSET
    fs: Lenient[FileSystemCapabilities] = UNSET
    terminal: Lenient[Support] = UNSET
    session: Lenient[ClientSessionCapabilities] = UNSET


class PromptCapabilities(Wire):
    """What prompts may hold beside text and links."""

    image: Lenient[Support] = UNSET
    audio: Lenient[Support] = UNSET
    embedded_context: Lenient[Support] = UNSET


class McpCapabilities(Wire):
    """The kinds of MCP server the agent connects to."""

    stdio: Lenient[Support] = UNSET
    http: Lenient[Support] = UNSET
    sse: Lenient[Support] = UNSET
    acp: Lenient[Support] = UNSET


class SessionCapabilities(Wire):
    """What the agent can do with sessions; `load`, `list`, `resume` and `close` have to be named here."""

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
    """What the agent can do about logins."""

    logout: Lenient[Support] = UNSET
    status: Lenient[Support] = UNSET


class AgentCapabilities(Wire):
    """`capabilities` of an agent, whatever it took over from v1."""

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


class AuthMethod(Whole):
    """A way to log in; without a type it is the agent's. `env` is an object in v1 and a list in v2."""

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
    """The client's offer, in v1's words, in v2's, or in both, which suits an agent of which nothing is known."""

    protocol_version: v2.ProtocolVersion
    info: Lenient[v2.Implementation] = UNSET
    capabilities: Defaulted[ClientCapabilities] = UNSET
    client_info: Lenient[v1.Implementation] = UNSET
    client_capabilities: Defaulted[v1.ClientCapabilities] = UNSET


class InitializeResponse(Wire):
    """The agent's choice, in v1's words, in v2's, or in both; `info` shows that v2 is meant as published."""

    protocol_version: v2.ProtocolVersion
    info: Lenient[v2.Implementation] = UNSET
    capabilities: Defaulted[AgentCapabilities] = UNSET
    agent_info: Lenient[v1.Implementation] = UNSET
    agent_capabilities: Defaulted[v1.AgentCapabilities] = UNSET
    auth_methods: DefaultedItems[Open[AuthMethod]] = UNSET
