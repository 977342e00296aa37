"""Errors of the coding agent. The text of each is written for the user and says what to do.

CoderFailed
├─ ModelFailed              the model did not answer; `advice` says what helps
│  ├─ ModelNeedsKey         the provider's API key is missing or was refused; names the variable
│  ├─ ModelOverloaded       rate limit or server error; worth a retry
│  ├─ ModelUnreachable      no connection to the provider; worth a retry
│  └─ AnswerCutOff          the connection broke after a part of the answer was streamed
├─ ToolFailed               the result of a failed tool call; the model also gets the `advice`
│  ├─ FileMissing           there is no file or directory at the path
│  └─ AmbiguousText         the text to replace occurs several times
└─ InvalidSettings          a setting is invalid; says which, and where it is written
"""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

from accord.errors import AccordError


class CoderFailed(AccordError):
    """The base class of everything that the coding agent raises on purpose."""


class _FailedWithAdvice(CoderFailed):
    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason, advice)
        self.reason = reason
        self.advice = advice


class ModelFailed(_FailedWithAdvice):
    """The model did not answer."""

    def __str__(self) -> str:
        return f"{self.reason}. {self.advice}" if self.advice else self.reason


class ModelNeedsKey(ModelFailed):
    """The API key in `variable` is missing, or the provider refused it: then `reason` says so."""

    def __init__(self, variable: str, provider: str, reason: str = "") -> None:
        super().__init__(reason or f"{provider} needs an API key", self.advice_for(variable))
        self.variable = variable
        self.provider = provider

    @staticmethod
    def advice_for(variable: str) -> str:
        """How to give the agent an API key."""
        return f"Set {variable} in the environment or under [environment] in config.toml, then log in again."


class ModelOverloaded(ModelFailed):
    """Rate limit or server error; `retry_after` is the delay in seconds that the provider asked for."""

    def __init__(self, reason: str, advice: str = "", retry_after: float | None = None) -> None:
        super().__init__(reason, advice)
        self.retry_after = retry_after


class ModelUnreachable(ModelFailed):
    """No connection to the provider."""


class AnswerCutOff(ModelFailed):
    """The answer ended too early; the part that was streamed stays in the conversation."""

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(
            f"The answer of {model} was cut off: {reason}", "The text so far is kept; send another prompt to continue."
        )


class ToolFailed(_FailedWithAdvice):
    """A tool call failed. `reason` is for people and the model, `advice` tells the model what to do now."""

    @property
    def model_text(self) -> str:
        """The reason and the advice."""
        return f"{self.reason}: {self.advice}" if self.advice else self.reason

    def __str__(self) -> str:
        return self.reason


class FileMissing(ToolFailed):
    """There is no file or directory at the path."""


class AmbiguousText(ToolFailed):
    """The text to replace occurs several times."""


class InvalidSettings(CoderFailed):
    """A setting is invalid; `where` is its file and key, its variable or its flag."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(where, reason)
        self.where = where
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"
