"""Who tells what happens in a run: as text, as events or as raw updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from msgspec import Struct

from accord.apps.console import exits
from accord.apps.console.failures import ConsoleFailed
from accord.apps.console.sanitising import one_line
from accord.client.session import Session
from accord.client.terminal import OnTerminal, TerminalEvent
from accord.session import Transcript
from accord.session.entities import Exit
from accord.session.requests import Initialized, PermissionAnswer, RequestPermission
from accord.session.updates import Change

__all__ = ["Outcome", "Reporter", "terminals_told", "words_of_exit", "words_of_stop"]

_STOPPED = {
    "max_tokens": "the answer was cut off: the model's limit of tokens was reached",
    "max_turn_requests": "the turn was cut off: the agent may not ask its model any more in one turn",
    "refusal": "the agent refused to answer",
    "cancelled": "the turn was cancelled",
}


class Outcome(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    exit: exits.Exit
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

    def wrote(self, path: str, size: int) -> None:
        """A file was written for the agent."""
        ...

    def noted(self, text: str, severity: str = "info") -> None:
        """We have something to say ourselves."""
        ...

    def ended(self, outcome: Outcome) -> None:
        """The last call."""
        ...


def terminals_told(changed: Callable[[Change], None]) -> OnTerminal:
    """Who hears of the commands that run here for an agent, and tells them like those that agents show."""
    kept = Transcript()

    def told(event: TerminalEvent) -> None:
        if event.report is not None:
            changed(kept.apply(event.report))

    return told


def words_of_exit(how: Exit) -> str:
    """How a command ended."""
    if how.signal is not None:
        return f"ended by {one_line(how.signal)}"
    return "ended" if how.code is None else f"exit {how.code}"


def words_of_stop(outcome: Outcome) -> str:
    """Why the agent stopped before it was done; nothing where it was done, or a failure tells."""
    reason = outcome.stop_reason
    if reason in (None, "end_turn", "error"):
        return ""
    return _STOPPED.get(reason) or f"the agent stopped: {one_line(reason, 80)}"
