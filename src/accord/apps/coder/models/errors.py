"""Maps failures of model providers to errors with advice, and closes their HTTP responses.

Google's library does not: its answers stay open, and are paid for, until Python collects its garbage.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
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

from accord.apps.coder.errors import ModelFailed, ModelNeedsKey, ModelOverloaded, ModelUnreachable
from accord.apps.coder.models.catalog import ModelEndpoint
from accord.local.redaction import redact

__all__ = ["OpenResponses", "model_failure", "tracked_client"]

_LONGEST = 400
_TOO_LONG = ("context length", "context size", "context window", "prompt is too long", "too many tokens")


def model_failure(error: Exception, endpoint: ModelEndpoint, *, began: bool) -> ModelFailed:
    """The failure to raise for what the library raised; `began` when a part of the answer was streamed already."""
    if began:
        return ModelFailed(
            f"The answer of {endpoint.name} was cut off in the middle: {_said(error, endpoint)}",
            "What was said so far is kept; send another prompt to go on.",
        )
    match error:
        case ModelAuthenticationError():
            variable = endpoint.key_names[0]
            refused = (
                f"{endpoint.provider} refused the key in {variable}"
                if endpoint.key
                else f"{endpoint.provider} wants a key"
            )
            return ModelNeedsKey(variable, endpoint.provider, f"{refused}: {_said(error, endpoint)}")
        case ModelRateLimitError():
            return ModelOverloaded(
                f"{endpoint.provider} allows no more requests now: {_said(error, endpoint)}",
                _later(error.retry_after),
                error.retry_after,
            )
        case ModelUnavailableError() | ModelServerError():
            return ModelOverloaded(
                f"{endpoint.provider} can't answer now: {_said(error, endpoint)}",
                _later(error.retry_after),
                error.retry_after,
            )
        case ModelConnectionError() | httpx2.TransportError():
            return _unreachable(error, endpoint)
        case _:
            return _refused(error, endpoint)


def _later(seconds: float | None) -> str:
    when = "later" if seconds is None else f"in {seconds:g} seconds"
    return f"Try again {when}, or choose another model with /model."


def _refused(error: Exception, endpoint: ModelEndpoint) -> ModelFailed:
    said = _said(error, endpoint)
    if isinstance(error, ModelContextWindowExceededError) or (
        isinstance(error, ModelRequestRejectedError) and any(words in said.lower() for words in _TOO_LONG)
    ):
        return ModelFailed(
            f"The conversation is longer than {endpoint.name} can take: {said}",
            "Shorten it with /compact, or choose a model with a larger context with /model.",
        )
    match error:
        case ModelQuotaExceededError():
            return ModelFailed(f"The account at {endpoint.provider} has no credit left: {said}", "Add credit there.")
        case ModelNotFoundError():
            meant = getattr(error, "suggested_model_id", None)
            hint = f"Did you mean {meant}?" if meant else "Check the name of the model"
            where = f", and the base URL {redact(endpoint.url)}" if endpoint.url and not meant else ""
            return ModelFailed(f"{endpoint.provider} has no model {endpoint.model!r}: {said}", f"{hint}{where}.")
        case ModelAPIError():
            return ModelFailed(f"{endpoint.provider} refused the request: {said}")
        case UserError():
            return ModelFailed(f"{endpoint.name} can't be asked this: {said}")
        case _:
            return ModelFailed(f"The answer of {endpoint.name} can't be read: {said}")


def _unreachable(error: Exception, endpoint: ModelEndpoint) -> ModelUnreachable:
    if endpoint.url:
        advice = f"Is a server running there? The address is the base URL of {endpoint.provider!r} in the settings."
    else:
        advice = "Check the network, or choose the model 'offline', which needs none."
    return ModelUnreachable(
        f"{redact(endpoint.url or endpoint.provider)} can't be reached: {_said(error, endpoint)}", advice
    )


def _said(error: Exception, endpoint: ModelEndpoint) -> str:
    """The provider's own words, in one short line."""
    text = ""
    if isinstance(error, ModelHTTPError):
        text = _message_in(error.body) or f"status {error.status_code}"
    text = redact(" ".join((text or str(error) or type(error).__name__).split()).rstrip("."), endpoint.url)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _message_in(body: object) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, dict):
        members = cast("dict[str, Any]", body)
        return _message_in(members.get("error")) or _message_in(members.get("message"))
    return ""


_answers: ContextVar[OpenResponses | None] = ContextVar("answers", default=None)


def tracked_client(*, keeps_connections: bool = True) -> httpx2.AsyncClient:
    """A client whose answers are noted."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(600, connect=10),
        limits=httpx2.Limits(max_keepalive_connections=None if keeps_connections else 0),
        event_hooks={"response": [_note]},
    )


async def _note(answer: httpx2.Response) -> None:
    answers = _answers.get()
    if answers is not None:
        answers.opened.append(answer)


class OpenResponses:
    """Those of one stream."""

    def __init__(self) -> None:
        self.opened: list[httpx2.Response] = []

    @contextmanager
    def noted(self) -> Generator[None]:
        """Whatever is asked within belongs to this stream. Left in the step that entered it: it is a context variable."""
        token = _answers.set(self)
        try:
            yield
        finally:
            _answers.reset(token)

    async def aclose(self) -> None:
        for answer in self.opened:
            await answer.aclose()
