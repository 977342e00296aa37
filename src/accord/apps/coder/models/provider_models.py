"""The model of pydantic-ai that a place means, with the key and the address that apply there.

They are handed over as arguments, so `os.environ` stays as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Container
from difflib import get_close_matches
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model, known_model_names
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models.catalog import PROVIDERS, ModelEndpoint
from accord.apps.coder.models.errors import tracked_client
from accord.local.redaction import redact, url_error

__all__ = ["LoadedModel", "load_model"]

_NO_KEY = "no-key"  # for a server at an address of its own, which may not want one
_ARGUMENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "azure": {"azure_endpoint": ("AZURE_OPENAI_ENDPOINT",), "api_version": ("OPENAI_API_VERSION",)},
    "bedrock": {"api_key": ("AWS_BEARER_TOKEN_BEDROCK",), "region_name": ("AWS_DEFAULT_REGION", "AWS_REGION")},
    "google-cloud": {"project": ("GOOGLE_CLOUD_PROJECT",), "location": ("GOOGLE_CLOUD_LOCATION",)},
    "snowflake": {"account": ("SNOWFLAKE_ACCOUNT",), "token": ("SNOWFLAKE_TOKEN",)},
}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_FORGETFUL = ("google", "google-cloud")  # see `answers`


class LoadedModel(NamedTuple):
    """A model, and the connections that it does not close itself."""

    model: Model[Any]
    client: httpx2.AsyncClient | None = None


def load_model(endpoint: ModelEndpoint) -> LoadedModel:
    """It loads the provider's library, which takes long; nothing is sent."""
    fault = url_error(endpoint.url) if endpoint.url else None
    if fault is not None:  # a setting was checked before; a variable was not
        raise ModelFailed(f"{endpoint.name} can't be used: its base URL is no address: {fault}")
    try:
        if endpoint.url and (endpoint.provider == "openai" or "base_url" not in _arguments(endpoint.provider)):
            return _compatible(endpoint, endpoint.url)
        client = tracked_client() if endpoint.provider in _FORGETFUL else None
        return LoadedModel(infer_model(endpoint.name, lambda provider: _provider(provider, endpoint, client)), client)
    except ImportError as missing:
        raise ModelFailed(
            f"The provider {endpoint.provider!r} can't be loaded: {redact(str(missing), endpoint.url)}"
        ) from missing
    except UserError as wrong:
        raise ModelFailed(f"{endpoint.name} can't be used: {redact(str(wrong), endpoint.url)}") from wrong
    except (httpx2.InvalidURL, ValueError) as wrong:
        if not endpoint.url:
            raise
        # What the library says of it shows parts of it.
        raise ModelFailed(f"{endpoint.name} can't be used: its base URL is no address") from wrong


def _compatible(endpoint: ModelEndpoint, url: str) -> LoadedModel:
    """A server that speaks OpenAI's chat API: few speak its newer one, which `openai-responses` asks for."""
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415  # an extra
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    # llama.cpp hangs up after an answer, just when the next request is sent. On loopback a new connection costs nothing.
    client = tracked_client(keeps_connections=urlsplit(url).hostname not in _LOOPBACK)
    provider = OpenAICompatibleProvider(
        endpoint.provider, base_url=url, api_key=endpoint.key or _NO_KEY, http_client=client
    )
    return LoadedModel(OpenAIChatModel(endpoint.model, provider=provider), client)


def _provider(name: str, endpoint: ModelEndpoint, client: httpx2.AsyncClient | None) -> Provider[Any]:
    if name.startswith("gateway/"):
        return infer_provider(name)
    accepted = _arguments(name)
    if not accepted:
        raise _unknown(name)
    key = endpoint.key or (_NO_KEY if endpoint.url else None)
    arguments: dict[str, Any] = {"api_key": key, "base_url": endpoint.url, "http_client": client}
    for argument, variables in _ARGUMENTS.get(name, {}).items():
        arguments[argument] = next((value for each in variables if (value := endpoint.environment.get(each))), None)
    given = {argument: value for argument, value in arguments.items() if value and argument in accepted}
    return infer_provider_class(name)(**given)


def _arguments(provider: str) -> Container[str]:
    """What the provider's class can be made with; nothing if there is no such provider."""
    try:
        return inspect.signature(infer_provider_class(provider).__init__).parameters
    except ValueError:
        return ()


def _unknown(name: str) -> ModelFailed:
    named = {known.partition(":")[0] for known in known_model_names() if not known.startswith("gateway/")}
    known = sorted({*named, *PROVIDERS} - {"test"})
    near = get_close_matches(name, known, n=1)
    return ModelFailed(
        f"There is no provider {name!r}",
        (f"Did you mean {near[0]!r}? " if near else "")
        + f"There are {', '.join(known)}. A server of your own needs its base URL in the settings.",
    )
