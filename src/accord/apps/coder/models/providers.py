"""Models of every provider that pydantic-ai supports, and of servers that speak OpenAI's chat API at their own base URL.

The library handles what differs between providers. Retries, tools and turns are ours. API keys and addresses are passed
as arguments: `os.environ` is never changed.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Container
from contextlib import AsyncExitStack, suppress
from contextvars import ContextVar
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UserError
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
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model, known_model_names
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.settings import ModelSettings as RequestSettings

from accord.apps.coder.errors import AnswerCutOff, ModelFailed
from accord.apps.coder.models.catalog import PROVIDERS, ModelEndpoint, input_kinds_of
from accord.apps.coder.models.errors import model_failure
from accord.apps.coder.models.model import Event, ModelRequest, Stop, TextDelta, ThoughtDelta, TokenUsage
from accord.apps.coder.models.pydantic_ai import (
    messages_of,
    provider_data_of,
    stop_reason_of,
    tool_requests_of,
    tools_of,
)
from accord.apps.coder.settings.settings import ModelSettings
from accord.local.redaction import redact, url_error
from accord.local.threads import in_thread

_TEST_MODELS = ("test", "function")  # the library's own models for tests, which give no finish reason
_NO_KEY = "no-key"  # for a server with its own base URL, which may not need one
_ARGUMENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "azure": {"azure_endpoint": ("AZURE_OPENAI_ENDPOINT",), "api_version": ("OPENAI_API_VERSION",)},
    "bedrock": {"api_key": ("AWS_BEARER_TOKEN_BEDROCK",), "region_name": ("AWS_DEFAULT_REGION", "AWS_REGION")},
    "google-cloud": {"project": ("GOOGLE_CLOUD_PROJECT",), "location": ("GOOGLE_CLOUD_LOCATION",)},
    "snowflake": {"account": ("SNOWFLAKE_ACCOUNT",), "token": ("SNOWFLAKE_TOKEN",)},
}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LEAVE_RESPONSES_OPEN = ("google", "google-cloud")


async def open_provider(endpoint: ModelEndpoint, settings: ModelSettings) -> ProviderModel:
    """The model at this endpoint; nothing is sent yet."""
    loaded = await in_thread(lambda: load_model(endpoint))
    if endpoint.provider == "anthropic":
        await in_thread(_load_tracing)
    model = ProviderModel(loaded.model, endpoint=endpoint, settings=settings)
    await model.open(loaded.client)
    return model


def _load_tracing() -> None:
    """Anthropic's library would load this with the first request."""
    with suppress(Exception):  # the environment may name propagators that are not installed
        import_module("opentelemetry.propagate")


class ProviderModel:
    """A model of pydantic-ai as one of ours."""

    is_language_model = True

    def __init__(
        self, model: Model[Any], *, endpoint: ModelEndpoint | None = None, settings: ModelSettings | None = None
    ) -> None:
        self._settings = settings = settings or ModelSettings()
        self._endpoint = endpoint or ModelEndpoint(f"{model.system}:{model.model_name}", settings)
        self._model = model
        self._connections = AsyncExitStack()
        self.name = self._endpoint.name
        self.input_kinds = input_kinds_of(self.name, settings)
        self.context_size = settings.context_sizes.get(self.name) or model.profile.get("context_window")

    async def open(self, client: httpx2.AsyncClient | None = None) -> None:
        """Take over its connections; `aclose` closes them."""
        if client is not None:
            await self._connections.enter_async_context(client)
        await self._connections.enter_async_context(self._model)

    async def aclose(self) -> None:
        await self._connections.aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        has_begun = False
        try:
            async with AsyncExitStack() as stack:
                stream = await self._open_stream(request, stack)
                async for library_event in stream:
                    if (event := _delta(library_event)) is not None:
                        has_begun = True
                        yield event
                response = stream.get()
        except Exception as error:  # a provider's library may raise anything
            raise model_failure(error, self._endpoint, has_begun=has_begun) from error
        self._check_complete(response)
        if response.usage.total_tokens:
            yield TokenUsage(response.usage.input_tokens, response.usage.output_tokens, self._cost(response))
        reason = stop_reason_of(response)
        if reason == "tools":
            for tool_request in tool_requests_of(response):
                yield tool_request
        yield Stop(reason, provider_data_of(response) if reason in ("end", "tools") else None)

    async def _open_stream(self, request: ModelRequest, stack: AsyncExitStack) -> StreamedResponse:
        responses: list[httpx2.Response] = []
        stack.push_async_callback(_close_responses, responses)
        token = _open_responses.set(responses)
        try:
            return await stack.enter_async_context(
                model_request_stream(
                    self._model,
                    messages_of(request.history, self.input_kinds, self._model.system),
                    model_settings=self._request_settings(request),
                    model_request_parameters=ModelRequestParameters(
                        function_tools=tools_of(request.tools),
                        instruction_parts=[InstructionPart(request.instructions)] if request.instructions else None,
                    ),
                )
            )
        finally:
            _open_responses.reset(token)

    def _request_settings(self, request: ModelRequest) -> RequestSettings:
        # Retries are ours, where the user sees them. The history is sent again with every request: worth caching.
        settings = RequestSettings(max_retries=0, cache=True)
        max_tokens = request.max_tokens or self._settings.max_tokens
        if max_tokens is not None:
            settings["max_tokens"] = max_tokens
        if self._settings.temperature is not None:
            settings["temperature"] = self._settings.temperature
        return settings

    def _check_complete(self, response: ModelResponse) -> None:
        """A response without a finish reason was cut off, even if the connection was closed properly."""
        if response.finish_reason == "error":
            raise ModelFailed(f"{self.name} failed in the middle of its answer", "Send the prompt again.")
        is_complete = response.finish_reason == "content_filter" or "finish_reason" in (response.provider_details or {})
        if not is_complete and self._model.system not in _TEST_MODELS:
            raise AnswerCutOff(self.name, "it ended without a finish reason")

    def _cost(self, response: ModelResponse) -> float | None:
        if self._endpoint.url:  # a server with its own base URL has its own prices
            return None
        try:
            return float(response.cost().total_price)
        except (LookupError, ValueError, AssertionError):
            return None


def _delta(event: ModelResponseStreamEvent) -> TextDelta | ThoughtDelta | None:
    match event:
        case (
            PartDeltaEvent(delta=TextPartDelta(content_delta=str(text)))
            | PartStartEvent(part=TextPart(content=str(text)))
        ) if text:
            return TextDelta(text)
        case (
            PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text)))
            | PartStartEvent(part=ThinkingPart(content=str(text)))
        ) if text:
            return ThoughtDelta(text)
        case _:
            return None


class LoadedModel(NamedTuple):
    """A model of the library, and the HTTP client that it does not close itself."""

    model: Model[Any]
    client: httpx2.AsyncClient | None = None


def load_model(endpoint: ModelEndpoint) -> LoadedModel:
    """Load the provider's library, which takes long, and make the model; nothing is sent."""
    fault = url_error(endpoint.url) if endpoint.url else None
    if fault is not None:  # settings were checked before, environment variables were not
        raise ModelFailed(f"{endpoint.name} can't be used: invalid base URL: {fault}")
    try:
        if endpoint.url and (endpoint.provider == "openai" or "base_url" not in _arguments(endpoint.provider)):
            return _compatible(endpoint, endpoint.url)
        client = _http_client() if endpoint.provider in _LEAVE_RESPONSES_OPEN else None
        return LoadedModel(infer_model(endpoint.name, lambda provider: _provider(provider, endpoint, client)), client)
    except ImportError as missing:
        raise ModelFailed(
            f"The provider {endpoint.provider!r} can't be loaded: {redact(str(missing), endpoint.url)}"
        ) from missing
    except UserError as error:
        raise ModelFailed(f"{endpoint.name} can't be used: {redact(str(error), endpoint.url)}") from error
    except (httpx2.InvalidURL, ValueError) as error:
        if not endpoint.url:
            raise
        # The library's message would show parts of it.
        raise ModelFailed(f"{endpoint.name} can't be used: invalid base URL") from error


def _compatible(endpoint: ModelEndpoint, url: str) -> LoadedModel:
    """A server that speaks OpenAI's chat API. Few speak the newer one, which `openai-responses` selects."""
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415  # an extra
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    # llama.cpp closes the connection after a response, just when the next request is sent. On loopback a new one is cheap.
    client = _http_client(keeps_connections=urlsplit(url).hostname not in _LOOPBACK)
    provider = OpenAICompatibleProvider(
        endpoint.provider, base_url=url, api_key=endpoint.key or _NO_KEY, http_client=client
    )
    return LoadedModel(OpenAIChatModel(endpoint.model, provider=provider), client)


def _provider(name: str, endpoint: ModelEndpoint, client: httpx2.AsyncClient | None) -> Provider[Any]:
    if name.startswith("gateway/"):
        return infer_provider(name)
    accepted = _arguments(name)
    if not accepted:
        raise _unknown_provider(name)
    key = endpoint.key or (_NO_KEY if endpoint.url else None)
    arguments: dict[str, Any] = {"api_key": key, "base_url": endpoint.url, "http_client": client}
    for argument, variables in _ARGUMENTS.get(name, {}).items():
        arguments[argument] = next((value for each in variables if (value := endpoint.environment.get(each))), None)
    return infer_provider_class(name)(
        **{argument: value for argument, value in arguments.items() if value and argument in accepted}
    )


def _arguments(provider: str) -> Container[str]:
    """The arguments of the provider's class; empty if there is no such provider."""
    try:
        return inspect.signature(infer_provider_class(provider).__init__).parameters
    except ValueError:
        return ()


def _unknown_provider(name: str) -> ModelFailed:
    of_library = {known.partition(":")[0] for known in known_model_names() if not known.startswith("gateway/")}
    known = sorted({*of_library, *PROVIDERS} - {"test"})
    near = get_close_matches(name, known, n=1)
    return ModelFailed(
        f"Unknown provider: {name!r}",
        (f"Did you mean {near[0]!r}? " if near else "")
        + f"Known providers are {', '.join(known)}. A server of your own needs its base URL in the settings.",
    )


# The HTTP responses of the stream that is being opened. Google's library does not close them: they stay open, and are paid
# for, until Python collects its garbage.
_open_responses: ContextVar[list[httpx2.Response] | None] = ContextVar("open_responses", default=None)


def _http_client(*, keeps_connections: bool = True) -> httpx2.AsyncClient:
    """A client whose responses are collected in `_open_responses`."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(600, connect=10),
        limits=httpx2.Limits(max_keepalive_connections=None if keeps_connections else 0),
        event_hooks={"response": [_add_response]},
    )


async def _add_response(response: httpx2.Response) -> None:
    if (responses := _open_responses.get()) is not None:
        responses.append(response)


async def _close_responses(responses: list[httpx2.Response]) -> None:
    for response in responses:
        await response.aclose()
