"""What went wrong with an agent, as a person needs to hear it: what happened, its last words, and what to do."""

from __future__ import annotations

import traceback

from accord.apps.console.agent_stderr import AgentOutput
from accord.apps.console.error_messages import explained, way_to_check
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.sanitizer import visible
from accord.apps.console.screen.blocks.notices import Failure
from accord.errors import (
    AccordError,
    AuthRequired,
    ConnectionClosed,
    DeadlineExceeded,
    Fenced,
    MethodNotFound,
    RateLimited,
    RequestFailed,
    SessionInUse,
    VersionRefused,
)
from accord.errors.escape_sequences import strip_colours

__all__ = ["RESTART", "failure_of", "failure_of_agent", "not_restored", "not_taken_up", "own_fault"]

RESTART = "Press F5 to start it again with this session, ^L to see what was said on the wire."
_MOST_DETAILS = 12
_AGAIN = "Press F5 to try again, ^L to see what was said on the wire."


def own_fault() -> str:
    """Where the exception that is being handled comes from. No values: they may be secret."""
    return (
        f"A fault of accord itself has ended the screen, please report it:\n{visible(traceback.format_exc(limit=-10))}"
    )


def failure_of_agent(error: Exception, doing: str, agent: KnownAgent, output: AgentOutput) -> Failure:
    """The agent itself is gone, or never came: `doing` is what we were about."""
    if not isinstance(error, ConnectionClosed | DeadlineExceeded | VersionRefused):
        return failure_of(error)
    told = explained(error, doing, agent, output)
    if output.messages == 0:
        is_started = not isinstance(error, ConnectionClosed) or error.kind != "not_started"
        check = "" if not is_started else f"{way_to_check(agent)}. "
        more = "`--start-timeout` gives it more time. " if isinstance(error, DeadlineExceeded) else ""
        advice = f"{check}{more}{_AGAIN}"
    elif isinstance(error, VersionRefused):
        advice = f"{told.advice}."
    else:
        advice = RESTART
    return Failure(_sentence(told.reason), advice, told.last_words)


def not_taken_up(error: Exception) -> Failure:
    """A session that was asked for is not to be had."""
    if isinstance(error, AuthRequired | SessionInUse) or not isinstance(error, RequestFailed):
        return failure_of(error)
    return Failure(
        f"The session can't be taken up: {_title(error)}",
        "F3 lists those that the agent has kept, F5 tries again, Ctrl+N begins a new one.",
        _details(error),
    )


def not_restored(error: AccordError) -> Failure:
    """The agent does not take a mode or an option that was chosen."""
    told = failure_of(error)
    hint = f"{error.advice}. " if isinstance(error, ConsoleFailed) and error.advice else ""
    return Failure(
        told.title,
        f"{hint}Nothing is sent here meanwhile. F2 or Shift+Tab takes another mode or option, F5 tries again, Ctrl+S sends "
        "with what the agent has.",
        told.last_words,
    )


def failure_of(error: Exception) -> Failure:
    """Nothing the agent said is left out."""
    match error:
        case ConsoleFailed():
            return Failure(_sentence(error.reason), error.advice or RESTART, error.last_words)
        case DeadlineExceeded():
            return Failure(f"{error.method} was not answered within {error.seconds:g} s", RESTART)
        case AuthRequired():
            said = "" if error.message == "Authentication required" else f": {strip_colours(error.message)}"
            return Failure(f"The agent wants you to log in{said}", "Type /login to do it.", _details(error))
        case RateLimited():
            title = f"The agent is asked too often: {strip_colours(error.message)}"
            return Failure(title, "Wait a little, then send it again (↑).", _details(error))
        case SessionInUse():
            advice = "Close it there, or run `accord sessions --take-over` with its id; F5 tries again, Ctrl+N begins a new one."
            return Failure(_title(error), advice, _details(error))
        case Fenced():
            advice = "Go on with it there; F5 takes it up again here once it is closed there, Ctrl+N begins a new one."
            return Failure(_title(error), advice, _details(error))
        case RequestFailed():
            advice = f"{error.advice}." if isinstance(error, MethodNotFound) else ""
            return Failure(f"The agent answered with an error: {_title(error)}", advice, _details(error))
        case AccordError():
            return Failure(str(error), "")
        case _:
            return Failure(f"{type(error).__name__}: {error}", "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _title(error: RequestFailed) -> str:
    return f"{strip_colours(error.message)} ({error.code})"


def _details(error: RequestFailed) -> str:
    """What its `data` says: of something long the beginning, where the reason is."""
    lines = error.details.splitlines()
    more = len(lines) - _MOST_DETAILS
    return "\n".join([*lines[:_MOST_DETAILS], f"… and {more} lines more"] if more > 1 else lines)
