"""Error blocks: what happened, the last output of the agent, and what to do."""

from __future__ import annotations

import traceback

from accord import errors
from accord.apps.console.error_messages import AgentOutput, check_advice, explain_error
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.sanitizer import visible
from accord.apps.console.screen.blocks.notices import ErrorBlock
from accord.errors.escape_sequences import strip_colours

RESTART = "Press F5 to restart the agent with this session, ^L to see the wire log."
_RETRY = "Press F5 to try again, ^L to see the wire log."
_MOST_DETAILS = 12


def crash_report() -> str:
    """The traceback of the current exception, without values, which may be secret."""
    return f"accord has crashed. This is a bug, please report it:\n{visible(traceback.format_exc(limit=-10))}"


def agent_error_block(error: Exception, doing: str, agent: KnownAgent, output: AgentOutput) -> ErrorBlock:
    """The agent has ended or did not start. `doing` is what failed."""
    if not isinstance(error, errors.ConnectionClosed | errors.DeadlineExceeded | errors.VersionRefused):
        return error_block(error)
    failure = explain_error(error, doing, agent, output)
    if output.messages == 0:
        is_started = not isinstance(error, errors.ConnectionClosed) or error.kind != "not_started"
        check = f"{check_advice(agent)}. " if is_started else ""
        more = "`--start-timeout` gives it more time. " if isinstance(error, errors.DeadlineExceeded) else ""
        advice = f"{check}{more}{_RETRY}"
    elif isinstance(error, errors.VersionRefused):
        advice = f"{failure.advice}."
    else:
        advice = RESTART
    return ErrorBlock(_sentence(failure.reason), advice, failure.last_words)


def reopen_error_block(error: Exception) -> ErrorBlock:
    """A saved session could not be reopened."""
    if isinstance(error, errors.AuthRequired | errors.SessionInUse) or not isinstance(error, errors.RequestFailed):
        return error_block(error)
    return ErrorBlock(
        f"The session cannot be reopened: {_title(error)}",
        "F3 lists the sessions of the agent, F5 tries again, Ctrl+N opens a new session.",
        _details(error),
    )


def settings_error_block(error: errors.AccordError) -> ErrorBlock:
    """The agent rejected the mode or an option."""
    block = error_block(error)
    hint = f"{error.advice}. " if isinstance(error, ConsoleFailed) and error.advice else ""
    return ErrorBlock(
        block.title,
        f"{hint}Prompts are held. Choose another mode or option with F2 or Shift+Tab, try again with F5, or send anyway "
        "with Ctrl+S.",
        block.output,
    )


def error_block(error: Exception) -> ErrorBlock:
    """Shows everything the agent said."""
    match error:
        case ConsoleFailed():
            return ErrorBlock(_sentence(error.reason), error.advice or RESTART, error.last_words)
        case errors.DeadlineExceeded():
            return ErrorBlock(f"{error.method} timed out after {error.seconds:g} s", RESTART)
        case errors.AuthRequired():
            reason = "" if error.message == "Authentication required" else f": {strip_colours(error.message)}"
            return ErrorBlock(f"The agent requires a login{reason}", "Type /login to log in.", _details(error))
        case errors.RateLimited():
            title = f"Rate limit exceeded: {strip_colours(error.message)}"
            return ErrorBlock(title, "Wait a moment, then send the prompt again (↑).", _details(error))
        case errors.SessionInUse():
            advice = "Close it there, or run `accord sessions --take-over` with its id; F5 tries again, Ctrl+N opens a new session."
            return ErrorBlock(_title(error), advice, _details(error))
        case errors.Fenced():
            advice = "Continue there. When it is closed there, F5 reopens it here; Ctrl+N opens a new session."
            return ErrorBlock(_title(error), advice, _details(error))
        case errors.RequestFailed():
            advice = f"{error.advice}." if isinstance(error, errors.MethodNotFound) else ""
            return ErrorBlock(f"The agent returned an error: {_title(error)}", advice, _details(error))
        case errors.AccordError():
            return ErrorBlock(str(error), "")
        case _:
            return ErrorBlock(f"{type(error).__name__}: {error}", "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _title(error: errors.RequestFailed) -> str:
    return f"{strip_colours(error.message)} ({error.code})"


def _details(error: errors.RequestFailed) -> str:
    """The details in its `data`; of a long text the beginning, which has the reason."""
    lines = error.details.splitlines()
    more = len(lines) - _MOST_DETAILS
    return "\n".join([*lines[:_MOST_DETAILS], f"… and {more} more lines"] if more > 1 else lines)
