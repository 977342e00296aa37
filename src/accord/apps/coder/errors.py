"""What can go wrong in the coding agent, each one a fact that says what to do.

CoderFailed
├─ ModelFailed              the model did not answer; `advice` says what helps
│  ├─ ModelNeedsKey         its provider has no key from us, or refused it; names the variable
│  ├─ ModelOverloaded       too many requests, or the provider is down for a moment; worth another try
│  └─ ModelUnreachable      nobody answers at its address
├─ ToolFailed               told to the model as the tool's result, and to the user as a failed call; `advice` to the model alone
└─ InvalidSettings            a setting can't be used; says which, and where it stands

The text of each is meant for the user.
"""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

from accord.errors import AccordError

__all__ = [
    "CoderFailed",
    "InvalidSettings",
    "ModelFailed",
    "ModelNeedsKey",
    "ModelOverloaded",
    "ModelUnreachable",
    "ToolFailed",
]


class CoderFailed(AccordError):
    """Whatever the coding agent raises on purpose; its text is meant for the user."""


class ModelFailed(CoderFailed):
    """The model did not answer."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason, advice)
        self.reason = reason
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.reason}. {self.advice}" if self.advice else self.reason


class ModelNeedsKey(ModelFailed):
    """No key is set for the model's provider, or it refused the one in `variable`: then `reason` says so."""

    def __init__(self, variable: str, provider: str, reason: str = "") -> None:
        super().__init__(
            reason or f"{provider} needs a key",
            f"Set {variable} in the environment or under [environment] in config.toml, then log in again.",
        )
        self.variable = variable
        self.provider = provider


class ModelOverloaded(ModelFailed):
    """Too many requests, or a fault of the provider that passes; `retry_after` is what the provider asked for."""

    def __init__(self, reason: str, advice: str = "", retry_after: float | None = None) -> None:
        super().__init__(reason, advice)
        self.retry_after = retry_after


class ModelUnreachable(ModelFailed):
    """Nobody answers at the model's address."""


class ToolFailed(CoderFailed):
    """A tool could not do what the model asked for. `reason` is for people, `advice` is what the model should do now."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason, advice)
        self.reason = reason
        self.advice = advice

    @property
    def told_to_model(self) -> str:
        """The reason and the advice."""
        return f"{self.reason}: {self.advice}" if self.advice else self.reason

    def __str__(self) -> str:
        return self.reason


class InvalidSettings(CoderFailed):
    """A setting can't be used; `where` is its file and key, its variable or its flag."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(where, reason)
        self.where = where
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"
