"""Everything that can be set, each with its default, its bounds and what it means.

The struct is the only list: files, variables, flags, `accord config` and the documentation are made from it.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer

__all__ = ["BUILT_IN", "OF_SCREEN", "RESERVED", "AgentSettings", "Mode", "ModelSettings", "ServerSettings", "Settings"]

Mode: TypeAlias = Literal["ask", "architect", "code"]

RESERVED = frozenset(
    ["agent", "agents", "completion", "config", "help", "permissions", "run", "sessions", "trust", "version"]
)
"""Names that no agent can have, because `accord NAME` is a command."""

BUILT_IN = "accord"
"""What the built-in agent is called, and no other can be."""

OF_SCREEN = frozenset(["conversations", "plain", "start_timeout", "theme"])
"""Those that concern the terminal client alone, so their flags are its own."""


class AgentSettings(Struct, frozen=True, kw_only=True):
    """An agent that a client can start by its name."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}


class ServerSettings(Struct, frozen=True, kw_only=True):
    """An MCP server: a command to start, or the address of one that runs."""

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    type: Literal["stdio", "http", "sse"] | None = None

    def server(self, name: str) -> McpServer:
        """The same as sessions know it."""
        if self.url is None:
            return StdioServer(name=name, command=self.command or "", args=self.args, env=self.env)
        kind = SseServer if self.type == "sse" else HttpServer
        return kind(name=name, url=self.url, headers=self.headers)


class ModelSettings(Struct, frozen=True, kw_only=True):
    """What opening a model needs to know; the meaning of each is told in `Settings`."""

    base_urls: dict[str, str] = {}
    environment: dict[str, str] = {}
    context_sizes: dict[str, int] = {}
    takes: dict[str, list[str]] = {}
    retries: int = 4
    temperature: float | None = None
    max_tokens: int | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """All settings, as they are in force."""

    model: Annotated[str, Meta(description="the model: `provider:name`, `local:FILE.gguf` or `offline`")] = "offline"
    models: Annotated[list[str], Meta(description="further models that a session may switch to")] = []
    mode: Annotated[Mode, Meta(description="the mode in which sessions begin: `ask`, `architect` or `code`")] = "ask"
    max_requests: Annotated[int, Meta(ge=1, description="how often one turn may ask the model")] = 50
    max_tokens: Annotated[int, Meta(ge=1, description="the most tokens of one answer of the model")] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2, description="how freely the model chooses its words")] | None = None
    retries: Annotated[int, Meta(ge=0, le=20, description="how often a busy or failing provider is asked again")] = 4
    compact_at: Annotated[
        float, Meta(gt=0, le=1, description="the share of the context that may fill before the history is shortened")
    ] = 0.8
    command_deadline: Annotated[float, Meta(gt=0, description="seconds after which a command is ended")] = 600.0
    output_limit: Annotated[
        int, Meta(ge=1000, description="characters of a tool's output that the model gets; the user sees all of it")
    ] = 32_000
    instructions: Annotated[
        bool, Meta(description="whether the project's `AGENTS.md`, or what stands in for it, is read")
    ] = True
    test_command: (
        Annotated[str, Meta(min_length=1, description="what `/test` runs; left out, it is found by looking")] | None
    ) = None
    base_urls: Annotated[dict[str, str], Meta(description="the address of a provider, by the provider's name")] = {}
    environment: Annotated[
        dict[str, str], Meta(description="variables laid over the environment, such as keys; never shown")
    ] = {}
    context_sizes: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]],
        Meta(description="how many tokens a model takes, by the model's name, where that is not known"),
    ] = {}
    takes: Annotated[
        dict[str, list[Literal["image", "audio"]]],
        Meta(description="what a model takes beside text (`image`, `audio`), by the model's name"),
    ] = {}
    servers: Annotated[dict[str, ServerSettings], Meta(description="MCP servers that every session gets")] = {}
    agents: Annotated[dict[str, AgentSettings], Meta(description="agents that a client can start by these names")] = {}

    theme: (
        Annotated[str, Meta(min_length=1, description="how the screen looks; Ctrl+P *Theme* shows them all")] | None
    ) = None
    conversations: Annotated[
        bool, Meta(description="whether the terminal client keeps what is said, for `accord sessions --show`")
    ] = True
    start_timeout: Annotated[
        float, Meta(gt=0, description="seconds that an agent has to answer when it is started")
    ] = 60.0
    plain: Annotated[
        bool, Meta(description="whether the conversation comes line by line, with nothing drawn, for screen readers")
    ] = False

    @property
    def model_settings(self) -> ModelSettings:
        """Those that opening a model needs."""
        return ModelSettings(
            base_urls=self.base_urls,
            environment=self.environment,
            context_sizes=self.context_sizes,
            takes={name: [*taken] for name, taken in self.takes.items()},
            retries=self.retries,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
        )

    @property
    def mcp_servers(self) -> list[McpServer]:
        """The MCP servers, as sessions know them."""
        return [settings.server(name) for name, settings in self.servers.items()]
