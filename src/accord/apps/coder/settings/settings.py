"""All settings, each with its default, its bounds and its meaning.

The struct is the only list: files, variables, flags, `accord config` and the documentation are made from it.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields

from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer

Mode: TypeAlias = Literal["ask", "architect", "code"]

RESERVED = frozenset(
    [
        "agent",
        "agents",
        "completion",
        "config",
        "connect",
        "help",
        "permissions",
        "run",
        "serve",
        "sessions",
        "token",
        "trust",
        "version",
    ]
)
"""Names that no agent can have, because `accord NAME` is a command."""

BUILT_IN = "accord"
"""The name of the built-in agent, which no other can have."""

SCREEN_SETTINGS = frozenset(["checkpoints", "conversations", "keys", "plain", "start_timeout", "theme", "vim"])
"""Settings of the terminal client, whose flags belong to `accord` and not to `accord agent`."""


KEY_ACTIONS = (
    "send",
    "newline",
    "next_mode",
    "next_focus",
    "command_palette",
    "fold_thoughts",
    "fold_tool_calls",
    "find",
    "history",
    "send_now",
    "edit_prompt",
    "scroll_up",
    "scroll_down",
    "follow",
    "new_session",
    "close_session",
    "next_tab",
    "previous_tab",
    "log",
    "keys",
    "options",
    "sessions",
    "review",
    "restart",
    "suspend",
    "exit",
)
"""The actions of the screen that can have other keys. (The screen is not imported here: a test compares them.)"""


class AgentSettings(Struct, frozen=True, kw_only=True):
    """An agent that a client can start by its name."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}


class ServerSettings(Struct, frozen=True, kw_only=True):
    """An MCP server: a command to start, or the URL of a running one."""

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    type: Literal["stdio", "http", "sse"] | None = None

    def server(self, name: str) -> McpServer:
        """The server as a session needs it."""
        if self.url is None:
            return StdioServer(name=name, command=self.command or "", args=self.args, env=self.env)
        kind = SseServer if self.type == "sse" else HttpServer
        return kind(name=name, url=self.url, headers=self.headers)


class ModelSettings(Struct, frozen=True, kw_only=True):
    """The settings for opening a model; see `Settings` for their meaning."""

    base_urls: dict[str, str] = {}
    environment: dict[str, str] = {}
    context_sizes: dict[str, int] = {}
    takes: dict[str, list[str]] = {}
    retries: int = 4
    temperature: float | None = None
    max_tokens: int | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """All settings, with the values in force."""

    model: Annotated[str, Meta(description="the model: `provider:name`, `local:FILE.gguf` or `offline`")] = "offline"
    models: Annotated[list[str], Meta(description="further models that a session may switch to")] = []
    mode: Annotated[Mode, Meta(description="the mode of new sessions: `ask`, `architect` or `code`")] = "ask"
    max_requests: Annotated[int, Meta(ge=1, description="how many requests to the model one turn may make")] = 50
    max_tokens: Annotated[int, Meta(ge=1, description="the most tokens of one answer of the model")] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2, description="the sampling temperature of the model")] | None = None
    retries: Annotated[
        int, Meta(ge=0, le=20, description="how often a request to a busy or failing provider is retried")
    ] = 4
    compact_at: Annotated[
        float, Meta(gt=0, le=1, description="the share of the context size at which the conversation is compacted")
    ] = 0.8
    command_deadline: Annotated[float, Meta(gt=0, description="seconds after which a command is killed")] = 600.0
    output_limit: Annotated[
        int, Meta(ge=1000, description="how many characters of a tool's output the model gets; the user sees all of it")
    ] = 32_000
    instructions: Annotated[
        bool, Meta(description="whether to read the project's `AGENTS.md`, `CLAUDE.md` or `.cursorrules`")
    ] = True
    test_command: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="the command that `/test` runs; by default it is guessed from the project's files",
            ),
        ]
        | None
    ) = None
    base_urls: Annotated[dict[str, str], Meta(description="the base URL of a provider, by the provider's name")] = {}
    environment: Annotated[
        dict[str, str], Meta(description="environment variables for the models, such as API keys; never shown")
    ] = {}
    context_sizes: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]],
        Meta(description="the context size of a model in tokens, by the model's name, if accord does not know it"),
    ] = {}
    takes: Annotated[
        dict[str, list[Literal["image", "audio"]]],
        Meta(description="what a model accepts besides text (`image`, `audio`), by the model's name"),
    ] = {}
    servers: Annotated[dict[str, ServerSettings], Meta(description="MCP servers for every session")] = {}
    agents: Annotated[dict[str, AgentSettings], Meta(description="agents that a client can start by these names")] = {}

    theme: (
        Annotated[
            str,
            Meta(
                min_length=1, description="the theme of the screen; `/theme` there shows all of them and saves a choice"
            ),
        ]
        | None
    ) = None
    conversations: Annotated[
        bool, Meta(description="whether the terminal client saves conversations, for `accord sessions --show`")
    ] = True
    checkpoints: Annotated[
        bool, Meta(description="whether the screen saves the files of a session before each prompt, for `/undo`")
    ] = True
    start_timeout: Annotated[
        float, Meta(gt=0, description="seconds that an agent has to answer after it was started")
    ] = 60.0
    plain: Annotated[
        bool, Meta(description="whether to print the conversation line by line, without a screen, for screen readers")
    ] = False

    vim: Annotated[bool, Meta(description="whether the prompt has the modes and keys of vim")] = False
    keys: Annotated[
        dict[str, str | list[str]],
        Meta(description="the keys of the screen's actions: a key, or a list of keys, by the action's name"),
    ] = {}

    @property
    def model_settings(self) -> ModelSettings:
        """The settings for opening a model."""
        return ModelSettings(**{name: getattr(self, name) for name in ModelSettings.__struct_fields__})

    @property
    def mcp_servers(self) -> list[McpServer]:
        """The MCP servers as a session needs them."""
        return [settings.server(name) for name, settings in self.servers.items()]


class Setting(Struct, frozen=True, kw_only=True):
    """The names and the meaning of one setting; `kind` is one of text, list, number, switch and table."""

    name: str
    kind: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return f"ACCORD_{self.name.upper()}"

    @property
    def is_of_screen(self) -> bool:
        """Whether its flag belongs to `accord` itself, and not to `accord agent`."""
        return self.name in SCREEN_SETTINGS

    @property
    def flag(self) -> str | None:
        """Tables have none: they are set in a file. Nor has what is saved for later."""
        is_without = self.kind == "table" or self.name in ("checkpoints", "conversations", "vim")
        return None if is_without else f"--{self.name.replace('_', '-')}"


@cache
def describe_settings() -> list[Setting]:
    """All settings, in the order of the documentation."""
    types = types_of(Settings)
    return [
        Setting(
            name=field.name,
            kind=_kind_of(types[field.name]),
            default=field.default if field.default is not NODEFAULT else field.default_factory(),
            meaning=_meaning_of(types[field.name]),
            choices=choices_of(types[field.name]),
        )
        for field in fields(Settings)
    ]


@cache
def types_of(struct: type[Struct]) -> dict[str, Any]:
    """The types of its fields, with their bounds."""
    return get_type_hints(struct, include_extras=True)


def without_bounds(kind: Any) -> Any:
    """A type without its annotations, and without the None of an optional setting."""
    if get_origin(kind) is Annotated:
        return without_bounds(get_args(kind)[0])
    others = [each for each in get_args(kind) if each is not type(None)]
    if type(None) in get_args(kind) and len(others) == 1:
        return without_bounds(others[0])
    return kind


def choices_of(kind: Any) -> tuple[str, ...]:
    """The values that a type, or each item of a list, may have."""
    plain = without_bounds(kind)
    if get_origin(plain) is list:
        return choices_of(get_args(plain)[0])
    return get_args(plain) if get_origin(plain) is Literal else ()


def _kind_of(kind: Any) -> str:
    plain = without_bounds(kind)
    if plain is bool:
        return "switch"
    if plain in (int, float):
        return "number"
    return {list: "list", dict: "table"}.get(get_origin(plain), "text")


def _meaning_of(kind: Any) -> str:
    for each in (kind, *get_args(kind)):
        for meta in getattr(each, "__metadata__", ()):
            if isinstance(meta, Meta) and meta.description:
                return meta.description
    return ""
