"""Who tells what happens in a run: as text, as events or as raw updates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from accord.apps.console import errors
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.sanitizer import one_line
from accord.client.permissions.writes_and_commands import allows
from accord.client.session import Session
from accord.client.workspace.terminals import OnTerminal, TerminalEvent
from accord.session import Transcript
from accord.session.content import Content, Text
from accord.session.entities import USER, Exit
from accord.session.requests import InitializeResult, PermissionAnswer, PermissionRequest
from accord.session.updates import MessageChanged, MessageChunk, ToolCallChanged, Update

NOT_ACCEPTED = "the prompt was not accepted"
_KEPT_BYTES = 4 * 1024 * 1024
_KEPT_TERMINALS = 1000
_STOPPED = {
    "max_tokens": "the answer was cut off: the model's limit of tokens was reached",
    "max_turn_requests": "the turn was cut off: the agent may not ask its model any more in one turn",
    "refusal": "the agent refused to answer",
    "cancelled": "the turn was cancelled",
}
LATE_SECONDS = 0.15
"""How long to wait for what a turn of v1 says after its answer, where it has said nothing. FN-02"""
EMPTY_TURN = "the agent ended its turn without any text, thought or tool call"
_DID_NOTHING = {
    errors.ExitStatus.EMPTY_TURN: EMPTY_TURN,
    errors.ExitStatus.ALL_REJECTED: "everything that needed a permission was rejected",
}


class Outcome(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    exit: errors.ExitStatus
    stop_reason: str | None = None
    session_id: str | None = None
    failure: ConsoleFailed | None = None


class TurnSummary:
    """What a turn has in it, as far as it decides on how the turn is said to have ended."""

    def __init__(self) -> None:
        self.is_empty = True
        """Whether the agent has said, thought and done nothing. FN-106"""
        self._allowed = self._rejected = 0

    def changed(self, change: Update) -> None:
        """Something changed in the session."""
        self.is_empty = self.is_empty and not is_activity(change)

    def elicited(self) -> None:
        """The agent has asked the user for something."""
        self.is_empty = False

    def decided(self, request: PermissionRequest, answer: PermissionAnswer) -> None:
        """A permission request was answered."""
        self.is_empty = False
        if allows(request, answer):
            self._allowed += 1
        else:
            self._rejected += 1

    def exit_of(self, stop_reason: str | None) -> errors.ExitStatus:
        """The status of a turn that we have not cancelled: what the agent says counts for more than what we have seen.

        Some agents call their turn cancelled when they hear a no. FN-93
        """
        status = errors.exit_status_of(stop_reason)
        if stop_reason not in ("end_turn", "cancelled"):
            return status
        if self.is_empty:
            return errors.ExitStatus.EMPTY_TURN if stop_reason == "end_turn" else status
        return errors.ExitStatus.ALL_REJECTED if self._rejected and not self._allowed else status


def is_activity(change: Update) -> bool:
    """Whether it is something that the agent says, thinks or does."""
    match change:
        case ToolCallChanged():
            return True
        case MessageChunk():
            return change.role != USER and _says_anything([change.content])
        case MessageChanged(message=message):
            return message.role != USER and _says_anything(message.content)
        case _:
            return False


def _says_anything(content: Iterable[Content]) -> bool:
    return any(not isinstance(block, Text) or block.text.strip() for block in content)


class Reporter:
    """Receives everything in order; writes and never waits. What a format does not show is ignored."""

    def started(self, agent: InitializeResult, session: Session, *, resumed: bool) -> None:
        """The session is open, the prompt follows."""

    def changed(self, change: Update) -> None:
        """Something changed in the session."""

    def frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        """A frame of either side, before anything is made of it."""

    def decided(self, request: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        """A permission request was answered."""

    def wrote(self, path: str, size: int) -> None:
        """A file was written for the agent."""

    def noted(self, text: str, severity: str = "info") -> None:
        """A note of accord itself."""

    def ended(self, outcome: Outcome) -> None:
        """The last call."""


def terminal_reporter(changed: Callable[[Update], None]) -> OnTerminal:
    """Who hears of the commands that run here for an agent, and tells them like those that agents show."""
    kept = Transcript(_KEPT_BYTES, _KEPT_TERMINALS)

    def told(event: TerminalEvent) -> None:
        if event.patch is not None:
            changed(kept.apply(event.patch))

    return told


def describe_exit(how: Exit) -> str:
    """How a command ended."""
    if how.signal is not None:
        return f"ended by {one_line(how.signal)}"
    return "ended" if how.code is None else f"exit {how.code}"


def describe_stop(outcome: Outcome) -> str:
    """Why the agent stopped before it was done, or did nothing; nothing where it was done, or a failure tells."""
    reason = outcome.stop_reason
    if outcome.exit in _DID_NOTHING:
        return _DID_NOTHING[outcome.exit]
    if reason in (None, "end_turn", "error"):
        return ""
    return _STOPPED.get(reason) or f"the agent stopped: {one_line(reason, 80)}"
