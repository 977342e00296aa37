"""Models of any provider that pydantic-ai has, and of servers that speak OpenAI's chat API at an address of their own.

The library is used for what differs between providers. Asking again, tools and turns are ours.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    InstructionPart,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings as RequestSettings

from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models.catalog import ModelEndpoint, input_kinds_of
from accord.apps.coder.models.errors import OpenResponses, model_failure
from accord.apps.coder.models.model import Event, ModelRequest, Stop, TextDelta, ThoughtDelta, TokenUsage
from accord.apps.coder.models.provider_models import load_model
from accord.apps.coder.models.pydantic_ai import (
    messages_of,
    provider_data_of,
    stop_reason_of,
    tool_requests_of,
    tools_of,
)
from accord.apps.coder.settings.settings import ModelSettings
from accord.local.threads import in_thread

__all__ = ["ProviderModel", "open_provider"]

_ECHOES = ("test", "function")  # the library's own models for tests, which never say why they end


async def open_provider(endpoint: ModelEndpoint, settings: ModelSettings) -> ProviderModel:
    """The model at this place; nothing is sent yet."""
    found = await in_thread(lambda: load_model(endpoint))  # the loop has other sessions to serve
    model = ProviderModel(found.model, endpoint=endpoint, settings=settings)
    await model.open(found.client)
    return model


class ProviderModel:
    """A model of pydantic-ai as one of ours."""

    is_language_model = True

    def __init__(
        self,
        model: LibraryModel[Any],
        *,
        name: str = "",
        endpoint: ModelEndpoint | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        self._settings = settings = settings or ModelSettings()
        self._endpoint = endpoint or ModelEndpoint(name or f"{model.system}:{model.model_name}", settings)
        self._model = model
        self._held = AsyncExitStack()
        self.name = self._endpoint.name
        self.input_kinds = input_kinds_of(self.name, settings)
        self.context_size = settings.context_sizes.get(self.name) or model.profile.get("context_window")

    async def open(self, client: httpx2.AsyncClient | None = None) -> None:
        """Take hold of its connections; `aclose` closes them."""
        if client is not None:
            await self._held.enter_async_context(client)
        await self._held.enter_async_context(self._model)

    async def aclose(self) -> None:
        await self._held.aclose()

    async def stream(self, asked: ModelRequest) -> AsyncGenerator[Event, None]:
        began = False
        try:
            async with AsyncExitStack() as leaving:
                streamed = await self._opened(asked, leaving)
                async for event in streamed:
                    piece = _piece(event)
                    if piece is not None:
                        began = True
                        yield piece
                answer = streamed.get()
        except Exception as error:  # a provider's library may raise anything
            raise model_failure(error, self._endpoint, began=began) from error
        self._check_whole(answer)
        if answer.usage.total_tokens:
            yield TokenUsage(answer.usage.input_tokens, answer.usage.output_tokens, self._cost(answer))
        reason = stop_reason_of(answer)
        if reason == "tools":
            for request in tool_requests_of(answer):
                yield request
        yield Stop(reason, provider_data_of(answer) if reason in ("end", "tools") else None)

    async def _opened(self, asked: ModelRequest, leaving: AsyncExitStack) -> StreamedResponse:
        answers = OpenResponses()
        leaving.push_async_callback(answers.aclose)
        with answers.noted():
            return await leaving.enter_async_context(
                model_request_stream(
                    self._model,
                    messages_of(asked.history, self.input_kinds, self._model.system),
                    model_settings=self._request_settings(asked),
                    model_request_parameters=_parameters(asked),
                )
            )

    def _request_settings(self, asked: ModelRequest) -> RequestSettings:
        # Asking again is ours, where the user sees it. A history that is sent again and again is worth caching.
        settings = RequestSettings(max_retries=0, cache=True)
        max_tokens = asked.max_tokens or self._settings.max_tokens
        if max_tokens is not None:
            settings["max_tokens"] = max_tokens
        if self._settings.temperature is not None:
            settings["temperature"] = self._settings.temperature
        return settings

    def _check_whole(self, answer: ModelResponse) -> None:
        """An answer that never says why it ended was cut off, however politely the connection was closed."""
        if answer.finish_reason == "error":
            raise ModelFailed(f"{self.name} gave up in the middle of its answer", "Send the prompt again.")
        told = answer.finish_reason == "content_filter" or "finish_reason" in (answer.provider_details or {})
        if not told and self._model.system not in _ECHOES:
            raise ModelFailed(
                f"The answer of {self.name} was cut off in the middle: it ended without a reason",
                "What was said so far is kept; send another prompt to go on.",
            )

    def _cost(self, answer: ModelResponse) -> float | None:
        if self._endpoint.url:  # whoever serves it there has prices of its own
            return None
        try:
            return float(answer.cost().total_price)
        except (LookupError, ValueError, AssertionError):
            return None


def _parameters(asked: ModelRequest) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=tools_of(asked.tools),
        instruction_parts=[InstructionPart(asked.instructions)] if asked.instructions else None,
    )


def _piece(event: ModelResponseStreamEvent) -> TextDelta | ThoughtDelta | None:
    if isinstance(event, PartDeltaEvent):
        delta = event.delta
        if isinstance(delta, TextPartDelta):
            return TextDelta(delta.content_delta) if delta.content_delta else None
        if isinstance(delta, ThinkingPartDelta):
            return ThoughtDelta(delta.content_delta) if delta.content_delta else None
    elif isinstance(event, PartStartEvent):
        part = event.part
        if isinstance(part, TextPart):
            return TextDelta(part.content) if part.content else None
        if isinstance(part, ThinkingPart):
            return ThoughtDelta(part.content) if part.content else None
    return None
