"""The words between the loop and a model, whichever library or server is behind it.

A model is asked with everything it should know and keeps nothing; it streams events, `Stop` last and exactly once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from accord.session.content import Content

__all__ = [
    "ChatMessage",
    "Event",
    "InputKinds",
    "Model",
    "ModelMessage",
    "ModelRequest",
    "Stop",
    "StopReason",
    "TextDelta",
    "ThoughtDelta",
    "TokenUsage",
    "ToolDescription",
    "ToolMessage",
    "ToolOutcome",
    "ToolRequest",
    "UserMessage",
]

StopReason: TypeAlias = Literal["end", "tools", "max_tokens", "refusal"]


class ToolRequest(Struct, frozen=True):
    """A tool call that the model wants. `arguments` is JSON text exactly as the model wrote it: it may be malformed."""

    id: str
    name: str
    arguments: str


class ToolOutcome(Struct, frozen=True):
    """What came of a request. `content` holds images and the like, for models that take them.

    `display` is what people are told where `text` tells the model what to do; `is_rejected` when the user said no.
    """

    id: str
    name: str
    text: str
    is_error: bool = False
    content: list[Content] = []
    display: str | None = None
    is_rejected: bool = False


class UserMessage(Struct, frozen=True, tag="user"):
    content: list[Content]


class ModelMessage(Struct, frozen=True, tag="model"):
    """What a model answered. `provider_data` is `Stop.provider_data`: with it the model gets its own words back unaltered."""

    text: str = ""
    requests: list[ToolRequest] = []
    thought: str = ""
    provider_data: str | None = None


class ToolMessage(Struct, frozen=True, tag="tools"):
    outcomes: list[ToolOutcome]


ChatMessage: TypeAlias = UserMessage | ModelMessage | ToolMessage


class ToolDescription(Struct, frozen=True):
    """A tool that the model may request; `parameters` is the JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(Struct, frozen=True):
    instructions: str
    history: list[ChatMessage]
    tools: list[ToolDescription] = []
    max_tokens: int | None = None


class TextDelta(Struct, frozen=True):
    text: str


class ThoughtDelta(Struct, frozen=True):
    text: str


class TokenUsage(Struct, frozen=True):
    """The tokens of this request: input and output together are what is in the context now. `cost` is in US dollars."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None


class Stop(Struct, frozen=True):
    """The last event. `provider_data` is the answer as its provider needs it back, where that is more than the events said."""

    reason: StopReason
    provider_data: str | None = None


Event: TypeAlias = TextDelta | ThoughtDelta | ToolRequest | TokenUsage | Stop


class InputKinds(Struct, frozen=True):
    """The kinds of content that a model understands beside text."""

    image: bool = False
    audio: bool = False
    embedded: bool = True


class Model(Protocol):
    """A model that can be asked, by many sessions at once."""

    @property
    def name(self) -> str:
        """As it was chosen: `openai:gpt-5`, `local:smollm2.gguf`, `offline`."""
        ...

    @property
    def input_kinds(self) -> InputKinds: ...

    @property
    def context_size(self) -> int | None: ...

    @property
    def is_language_model(self) -> bool:
        """False for a model that only follows rules, and says so."""
        ...

    def stream(self, asked: ModelRequest) -> AsyncGenerator[Event, None]:
        """Closing the generator, or cancelling who reads it, stops the generation at once and frees the connection."""
        ...

    async def aclose(self) -> None:
        """Safe to call twice."""
        ...
