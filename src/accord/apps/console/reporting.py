"""Who tells what happens in a run: as text, as events or as raw updates."""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from accord.apps.console.exits import Exit
from accord.apps.console.failures import ConsoleFailed
from accord.client.session import Session
from accord.session.requests import Initialized, PermissionAnswer, RequestPermission
from accord.session.updates import Change

__all__ = ["Outcome", "Reporter", "is_allowed"]


class Outcome(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    exit: Exit
    stop_reason: str | None = None
    session_id: str | None = None
    failure: ConsoleFailed | None = None


class Reporter(Protocol):
    """Hears everything in order; writes and never waits."""

    def started(self, agent: Initialized, session: Session, *, resumed: bool) -> None:
        """The session is open, the prompt follows."""
        ...

    def changed(self, change: Change) -> None:
        """Something changed in the session."""
        ...

    def received(self, frame: bytes) -> None:
        """A frame of the agent's, before anything is made of it."""
        ...

    def decided(self, asked: RequestPermission, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        """A permission request was answered."""
        ...

    def noted(self, text: str, severity: str = "info") -> None:
        """We have something to say ourselves."""
        ...

    def ended(self, outcome: Outcome) -> None:
        """The last call."""
        ...


def is_allowed(asked: RequestPermission, answer: PermissionAnswer) -> bool:
    """Whether the answer allows what was asked."""
    if answer.outcome != "selected":
        return False
    return any(option.id == answer.option_id and option.kind.startswith("allow") for option in asked.options)
