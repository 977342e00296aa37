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
from accord.apps.coder.models.catalog import Place
from accord.local.redaction import redacted

__all__ = ["Answers", "explained", "watched_client"]

_LONGEST = 400
_TOO_LONG = ("context length", "context size", "context window", "prompt is too long", "too many tokens")


def explained(error: Exception, place: Place, *, began: bool) -> ModelFailed:
    """The failure to raise for what the library raised; `began` when a part of the answer was streamed already."""
    if began:
        return ModelFailed(
            f"The answer of {place.name} was cut off in the middle: {_said(error, place)}",
            "What was said so far is kept; send another prompt to go on.",
        )
    match error:
        case ModelAuthenticationError():
            variable = place.key_names[0]
            refused = (
                f"{place.provider} refused the key in {variable}" if place.key else f"{place.provider} wants a key"
            )
            return ModelNeedsKey(variable, place.provider, f"{refused}: {_said(error, place)}")
        case ModelRateLimitError():
            return ModelOverloaded(
                f"{place.provider} allows no more requests now: {_said(error, place)}",
                _later(error.retry_after),
                error.retry_after,
            )
        case ModelUnavailableError() | ModelServerError():
            return ModelOverloaded(
                f"{place.provider} can't answer now: {_said(error, place)}",
                _later(error.retry_after),
                error.retry_after,
            )
        case ModelConnectionError() | httpx2.TransportError():
            return _unreachable(error, place)
        case _:
            return _refused(error, place)


def _later(seconds: float | None) -> str:
    when = "later" if seconds is None else f"in {seconds:g} seconds"
    return f"Try again {when}, or choose another model with /model."


def _refused(error: Exception, place: Place) -> ModelFailed:
    said = _said(error, place)
    if isinstance(error, ModelContextWindowExceededError) or (
        isinstance(error, ModelRequestRejectedError) and any(words in said.lower() for words in _TOO_LONG)
    ):
        return ModelFailed(
            f"The conversation is longer than {place.name} can take: {said}",
            "Shorten it with /compact, or choose a model with a larger context with /model.",
        )
    match error:
        case ModelQuotaExceededError():
            return ModelFailed(f"The account at {place.provider} has no credit left: {said}", "Add credit there.")
        case ModelNotFoundError():
            meant = getattr(error, "suggested_model_id", None)
            hint = f"Did you mean {meant}?" if meant else "Check the name of the model"
            where = f", and the base URL {redacted(place.url)}" if place.url and not meant else ""
            return ModelFailed(f"{place.provider} has no model {place.model!r}: {said}", f"{hint}{where}.")
        case ModelAPIError():
            return ModelFailed(f"{place.provider} refused the request: {said}")
        case UserError():
            return ModelFailed(f"{place.name} can't be asked this: {said}")
        case _:
            return ModelFailed(f"The answer of {place.name} can't be read: {said}")


def _unreachable(error: Exception, place: Place) -> ModelUnreachable:
    if place.url:
        advice = f"Is a server running there? The address is the base URL of {place.provider!r} in the settings."
    else:
        advice = "Check the network, or choose the model 'offline', which needs none."
    return ModelUnreachable(f"{redacted(place.url or place.provider)} can't be reached: {_said(error, place)}", advice)


def _said(error: Exception, place: Place) -> str:
    """The provider's own words, in one short line."""
    text = ""
    if isinstance(error, ModelHTTPError):
        text = _message_in(error.body) or f"status {error.status_code}"
    text = redacted(" ".join((text or str(error) or type(error).__name__).split()).rstrip("."), place.url)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _message_in(body: object) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, dict):
        members = cast("dict[str, Any]", body)
        return _message_in(members.get("error")) or _message_in(members.get("message"))
    return ""


_answers: ContextVar[Answers | None] = ContextVar("answers", default=None)


def watched_client(*, keeps_connections: bool = True) -> httpx2.AsyncClient:
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


class Answers:
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
