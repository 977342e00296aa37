"""The interface between the model loop and a model, whichever library or server is behind it.

A model gets everything it should know with each request and keeps nothing. It streams events; `Stop` is the last and
comes exactly once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from accord.session.content import Content

StopReason: TypeAlias = Literal["end", "tools", "max_tokens", "refusal"]
FailureKind: TypeAlias = Literal["not_found", "ambiguous", "rejected"]
"""Why a tool call failed, where a program has to know: no such path, a text that is there several times, a no of the user's."""


class ToolRequest(Struct, frozen=True):
    """A tool call that the model wants. `arguments` is JSON text exactly as the model wrote it: it may be malformed."""

    id: str
    name: str
    arguments: str


class ToolOutcome(Struct, frozen=True):
    """The result of a tool request.

    `text` is what the model gets: a line about the output in brackets if there is a `header`, then the output, shortened to
    the output limit if `is_shortened`. `display` is what people see where the text tells the model what to do. `details`
    are the facts for programs. `content` holds images and the like, for models that accept them.
    """

    id: str
    name: str
    text: str
    is_error: bool = False
    content: list[Content] = []
    display: str | None = None
    failure: FailureKind | None = None
    header: str = ""
    details: dict[str, Any] = {}
    is_shortened: bool = False

    @property
    def output(self) -> str:
        """The text without the header."""
        return self.text.removeprefix(f"[{self.header}]").removeprefix("\n") if self.header else self.text


class UserMessage(Struct, frozen=True):
    content: list[Content]


class ModelMessage(Struct, frozen=True):
    """A model's answer. `provider_data` is that of `Stop`: with it the model gets its answer back unaltered."""

    text: str = ""
    requests: list[ToolRequest] = []
    provider_data: str | None = None


class ToolMessage(Struct, frozen=True):
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
    """The tokens of one request: input and output together are the size of the context now. `cost` is in US dollars."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None


class Stop(Struct, frozen=True):
    """The last event. `provider_data` is the answer in the provider's own form, if that holds more than the events."""

    reason: StopReason
    provider_data: str | None = None


Event: TypeAlias = TextDelta | ThoughtDelta | ToolRequest | TokenUsage | Stop


class InputKinds(Struct, frozen=True):
    """The kinds of content that a model accepts besides text."""

    image: bool = False
    audio: bool = False


class Model(Protocol):
    """A model that many sessions can use at once."""

    @property
    def name(self) -> str:
        """As the user chose it: `openai:gpt-5`, `local:smollm2.gguf`, `offline`."""
        ...

    @property
    def input_kinds(self) -> InputKinds: ...

    @property
    def context_size(self) -> int | None: ...

    @property
    def is_language_model(self) -> bool:
        """False for a model that only follows rules."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """Closing the generator, or cancelling the task that reads it, stops the generation and frees the connection."""
        ...

    async def aclose(self) -> None:
        """Safe to call twice."""
        ...
