"""The words between the loop and a model, whichever library or server is behind it.

A model is asked with everything it should know and keeps nothing; it streams events, `Stopped` last and exactly once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from accord.session.content import Content

__all__ = [
    "Asked",
    "Event",
    "Model",
    "ModelMessage",
    "Past",
    "Requested",
    "Said",
    "StopReason",
    "Stopped",
    "Takes",
    "Thought",
    "ToolDescription",
    "ToolMessage",
    "ToolOutcome",
    "ToolRequest",
    "Used",
    "UserMessage",
]

StopReason: TypeAlias = Literal["end", "tools", "max_tokens", "refusal"]


class ToolRequest(Struct, frozen=True):
    """A tool call that the model wants. `arguments` is JSON text exactly as the model wrote it, so maybe malformed."""

    id: str
    name: str
    arguments: str


class ToolOutcome(Struct, frozen=True):
    """What came of a request. `content` holds images and the like, for models that take them.

    `shown` is what people are told where `text` tells the model what to do; `is_rejected` when the user said no.
    """

    id: str
    name: str
    text: str
    is_error: bool = False
    content: list[Content] = []
    shown: str | None = None
    is_rejected: bool = False


class UserMessage(Struct, frozen=True, tag="user"):
    content: list[Content]


class ModelMessage(Struct, frozen=True, tag="model"):
    """What a model answered. `kept` is `Stopped.kept`: with it the model gets its own words back unaltered."""

    text: str = ""
    requests: list[ToolRequest] = []
    thought: str = ""
    kept: str | None = None


class ToolMessage(Struct, frozen=True, tag="tools"):
    outcomes: list[ToolOutcome]


Past: TypeAlias = UserMessage | ModelMessage | ToolMessage


class ToolDescription(Struct, frozen=True):
    """A tool that the model may request; `parameters` is the JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Asked(Struct, frozen=True):
    instructions: str
    history: list[Past]
    tools: list[ToolDescription] = []
    max_tokens: int | None = None


class Said(Struct, frozen=True):
    text: str


class Thought(Struct, frozen=True):
    text: str


class Requested(Struct, frozen=True):
    """A request whose arguments are complete."""

    request: ToolRequest


class Used(Struct, frozen=True):
    """The tokens of this request: input and output together are what is in the context now. `cost` is in US dollars."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None


class Stopped(Struct, frozen=True):
    """The last event. `kept` is the answer as its provider needs it back, where that is more than the events said."""

    reason: StopReason
    kept: str | None = None


Event: TypeAlias = Said | Thought | Requested | Used | Stopped


class Takes(Struct, frozen=True):
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
    def takes(self) -> Takes: ...

    @property
    def context_size(self) -> int | None: ...

    @property
    def is_language_model(self) -> bool:
        """False for a model that only follows rules, and says so."""
        ...

    def stream(self, asked: Asked) -> AsyncGenerator[Event, None]:
        """Closing the generator, or cancelling who reads it, stops the generation at once and frees the connection."""
        ...

    async def aclose(self) -> None:
        """Safe to call twice."""
        ...
