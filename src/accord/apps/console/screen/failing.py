"""What went wrong with an agent, as a person needs to hear it: what happened, its last words, and what to do."""

from __future__ import annotations

import traceback

from accord.apps.console.explaining import explained, way_to_check
from accord.apps.console.failures import ConsoleFailed
from accord.apps.console.heard import Heard
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.sanitising import visible
from accord.apps.console.screen.blocks.remarks import Failure
from accord.errors import (
    AccordError,
    AuthRequired,
    ConnectionClosed,
    DeadlineExceeded,
    RateLimited,
    RequestFailed,
    VersionRefused,
)

__all__ = ["RESTART", "failure_of", "failure_of_agent", "not_taken_up", "own_fault"]

RESTART = "Press F5 to start it again with this session, ^L to see what was said on the wire."
_AGAIN = "Press F5 to try again, ^L to see what was said on the wire."


def own_fault() -> str:
    """Where the exception that is being handled comes from. No values: they may be secret."""
    return (
        f"A fault of accord itself has ended the screen, please report it:\n{visible(traceback.format_exc(limit=-10))}"
    )


def failure_of_agent(error: Exception, doing: str, agent: KnownAgent, heard: Heard) -> Failure:
    """The agent itself is gone, or never came: `doing` is what we were about."""
    if not isinstance(error, ConnectionClosed | DeadlineExceeded | VersionRefused):
        return failure_of(error)
    told = explained(error, doing, agent, heard)
    if heard.frames == 0:
        check = "" if told.reason.startswith("can't start") else f"{way_to_check(agent)}. "
        advice = f"{check}{_AGAIN}"
    elif isinstance(error, VersionRefused):
        advice = f"{told.advice}."
    else:
        advice = RESTART
    return Failure(_sentence(told.reason), advice, told.last_words)


def not_taken_up(error: Exception) -> Failure:
    """A session that was asked for is not to be had."""
    if isinstance(error, AuthRequired) or not isinstance(error, RequestFailed):
        return failure_of(error)
    return Failure(
        f"The session can't be taken up: {error.message} ({error.code})",
        "F3 lists those that the agent has kept, F5 tries again, Ctrl+N begins a new one.",
        _details(error),
    )


def failure_of(error: Exception) -> Failure:
    """Nothing the agent said is left out."""
    match error:
        case ConsoleFailed():
            return Failure(_sentence(error.reason), error.advice or RESTART, error.last_words)
        case DeadlineExceeded():
            return Failure(f"{error.method} was not answered within {error.seconds:g} s", RESTART)
        case AuthRequired():
            said = "" if error.message == "Authentication required" else f": {error.message}"
            return Failure(f"The agent wants you to log in{said}", "Type /login to do it.")
        case RateLimited():
            return Failure(f"The agent is asked too often: {error.message}", "Wait a little, then send it again (↑).")
        case RequestFailed():
            return Failure(f"The agent answered with an error: {error.message} ({error.code})", "", _details(error))
        case AccordError():
            return Failure(str(error), "")
        case _:
            return Failure(f"{type(error).__name__}: {error}", "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _details(error: RequestFailed) -> str:
    data = error.data
    if isinstance(data, dict):
        return "\n".join(f"{name}: {value}" for name, value in data.items())  # pyright: ignore[reportUnknownVariableType]
    return data if isinstance(data, str) else ""
