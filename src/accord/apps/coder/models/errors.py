"""Maps errors of model providers to errors of the coding agent, with advice for the user."""

from __future__ import annotations

from typing import Any, cast

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
    UserError,
)

from accord.apps.coder.errors import AnswerCutOff, ModelFailed, ModelNeedsKey, ModelOverloaded, ModelUnreachable
from accord.apps.coder.models.catalog import ModelEndpoint
from accord.local.redaction import redact

_MAX_MESSAGE = 400
_CONTEXT_EXCEEDED = ("context length", "context size", "context window", "prompt is too long", "too many tokens")


def model_failure(error: Exception, endpoint: ModelEndpoint, *, has_begun: bool) -> ModelFailed:
    """The error to raise for an error of the library; `has_begun` when a part of the answer was already streamed."""
    message, provider = _message(error, endpoint), endpoint.provider
    if has_begun:
        return AnswerCutOff(endpoint.name, message)
    match error:
        case ModelAuthenticationError():
            variable = endpoint.key_variables[0]
            reason = f"{provider} refused the API key in {variable}" if endpoint.key else f"{provider} needs an API key"
            return ModelNeedsKey(variable, provider, f"{reason}: {message}")
        case ModelRateLimitError():
            return _overloaded(f"Rate limit of {provider} exceeded: {message}", error.retry_after)
        case ModelUnavailableError() | ModelServerError():
            return _overloaded(f"{provider} is not available now: {message}", error.retry_after)
        case ModelConnectionError() | httpx2.TransportError():
            return _unreachable(message, endpoint)
        case _:
            return _rejected(error, message, endpoint)


def _overloaded(reason: str, retry_after: float | None) -> ModelOverloaded:
    when = "later" if retry_after is None else f"in {retry_after:g} seconds"
    return ModelOverloaded(reason, f"Try again {when}, or choose another model with /model.", retry_after)


def _unreachable(message: str, endpoint: ModelEndpoint) -> ModelUnreachable:
    if endpoint.url:
        advice = f"Is a server running there? The address is the base URL of {endpoint.provider!r} in the settings."
    else:
        advice = "Check the network, or choose the model 'offline', which needs none."
    return ModelUnreachable(f"Can't connect to {redact(endpoint.url or endpoint.provider)}: {message}", advice)


def _rejected(error: Exception, message: str, endpoint: ModelEndpoint) -> ModelFailed:
    provider = endpoint.provider
    if isinstance(error, ModelContextWindowExceededError) or (
        isinstance(error, ModelRequestRejectedError) and any(words in message.lower() for words in _CONTEXT_EXCEEDED)
    ):
        return ModelFailed(
            f"The conversation is too long for {endpoint.name}: {message}",
            "Shorten it with /compact, or choose a model with a larger context with /model.",
        )
    match error:
        case ModelQuotaExceededError():
            return ModelFailed(f"The account at {provider} has no credit left: {message}", "Add credit there.")
        case ModelNotFoundError():
            near = getattr(error, "suggested_model_id", None)
            advice = f"Did you mean {near}?" if near else "Check the name of the model"
            if not near:
                advice += f", and the base URL {redact(endpoint.url)}." if endpoint.url else "."
            return ModelFailed(f"{provider} has no model {endpoint.model!r}: {message}", advice)
        case ModelAPIError():
            return ModelFailed(f"{provider} rejected the request: {message}")
        case UserError():
            return ModelFailed(f"Invalid request to {endpoint.name}: {message}")
        case _:
            return ModelFailed(f"Invalid answer from {endpoint.name}: {message}")


def _message(error: Exception, endpoint: ModelEndpoint) -> str:
    """The provider's own message, in one short line."""
    text = ""
    if isinstance(error, ModelHTTPError):
        text = _message_in(error.body) or f"status {error.status_code}"
    text = redact(" ".join((text or str(error) or type(error).__name__).split()).rstrip("."), endpoint.url)
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"


def _message_in(body: object) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, dict):
        members = cast("dict[str, Any]", body)
        return _message_in(members.get("error")) or _message_in(members.get("message"))
    return ""
