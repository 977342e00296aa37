"""Error blocks: what happened, the last output of the agent, and what to do."""

from __future__ import annotations

import traceback

from accord import errors
from accord.apps.console.error_messages import AgentOutput, check_advice, explain_error
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.sanitizer import visible
from accord.apps.console.screen.blocks.notices import ErrorBlock
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.errors.escape_sequences import strip_colours

_MOST_DETAILS = 12


def crash_report() -> str:
    """The traceback of the current exception, without values, which may be secret."""
    return f"accord has crashed. This is a bug, please report it:\n{visible(traceback.format_exc(limit=-10))}"


def restart_advice(keys: KeyBindings) -> str:
    """What to do when the agent has ended."""
    return f"{keys.hint('restart')} restarts the agent with this session, {keys.hint('log')} shows the wire log."


def agent_error_block(
    error: Exception, doing: str, agent: KnownAgent, output: AgentOutput, keys: KeyBindings
) -> ErrorBlock:
    """The agent has ended or did not start. `doing` is what failed."""
    if not isinstance(error, errors.ConnectionClosed | errors.DeadlineExceeded | errors.VersionRefused):
        return error_block(error, keys)
    failure = explain_error(error, doing, agent, output)
    if output.messages == 0:
        is_started = not isinstance(error, errors.ConnectionClosed) or error.kind != "not_started"
        check = f"{check_advice(agent)}. " if is_started else ""
        more = "`--start-timeout` gives it more time. " if isinstance(error, errors.DeadlineExceeded) else ""
        advice = f"{check}{more}{keys.hint('restart')} tries again, {keys.hint('log')} shows the wire log."
    elif isinstance(error, errors.VersionRefused):
        advice = f"{failure.advice}."
    else:
        advice = restart_advice(keys)
    return ErrorBlock(_sentence(failure.reason), advice, failure.last_words)


def reopen_error_block(error: Exception, keys: KeyBindings) -> ErrorBlock:
    """A saved session could not be reopened."""
    if isinstance(error, errors.AuthRequired | errors.SessionInUse) or not isinstance(error, errors.RequestFailed):
        return error_block(error, keys)
    return ErrorBlock(
        f"The session cannot be reopened: {_title(error)}",
        f"{keys.hint('sessions')} lists the sessions of the agent, {_again(keys)}.",
        _details(error),
    )


def settings_error_block(error: errors.AccordError, keys: KeyBindings) -> ErrorBlock:
    """The agent rejected the mode or an option."""
    block = error_block(error, keys)
    choose = " or ".join(dict.fromkeys([keys.hint("options"), keys.hint("next_mode")]))
    hint = f"{error.advice}. " if isinstance(error, ConsoleFailed) and error.advice else ""
    return ErrorBlock(
        block.title,
        f"{hint}Prompts are held. Choose another mode or option with {choose}, try again with {keys.hint('restart')}, or "
        f"send anyway with {keys.hint('send_now')}.",
        block.output,
    )


def error_block(error: Exception, keys: KeyBindings) -> ErrorBlock:
    """Shows everything the agent said."""
    match error:
        case ConsoleFailed():
            return ErrorBlock(_sentence(error.reason), error.advice or restart_advice(keys), error.last_words)
        case errors.DeadlineExceeded():
            return ErrorBlock(f"{error.method} timed out after {error.seconds:g} s", restart_advice(keys))
        case errors.AuthRequired():
            reason = "" if error.message == "Authentication required" else f": {strip_colours(error.message)}"
            return ErrorBlock(f"The agent requires a login{reason}", "Type /login to log in.", _details(error))
        case errors.RateLimited():
            title = f"Rate limit exceeded: {strip_colours(error.message)}"
            return ErrorBlock(title, "Wait a moment, then send the prompt again (↑).", _details(error))
        case errors.SessionInUse():
            advice = f"Close it there, or run `accord sessions --take-over` with its id; {_again(keys)}."
            return ErrorBlock(_title(error), advice, _details(error))
        case errors.Fenced():
            advice = f"Continue there. When it is closed there, {keys.hint('restart')} reopens it here; {_new(keys)}."
            return ErrorBlock(_title(error), advice, _details(error))
        case errors.RequestFailed():
            advice = f"{error.advice}." if isinstance(error, errors.MethodNotFound) else ""
            return ErrorBlock(f"The agent returned an error: {_title(error)}", advice, _details(error))
        case errors.AccordError():
            return ErrorBlock(str(error), "")
        case _:
            return ErrorBlock(f"{type(error).__name__}: {error}", "")


def _again(keys: KeyBindings) -> str:
    return f"{keys.hint('restart')} tries again, {_new(keys)}"


def _new(keys: KeyBindings) -> str:
    return f"{keys.hint('new_session')} opens a new session"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _title(error: errors.RequestFailed) -> str:
    return f"{strip_colours(error.message)} ({error.code})"


def _details(error: errors.RequestFailed) -> str:
    """The details in its `data`; of a long text the beginning, which has the reason."""
    lines = error.details.splitlines()
    more = len(lines) - _MOST_DETAILS
    return "\n".join([*lines[:_MOST_DETAILS], f"… and {more} more lines"] if more > 1 else lines)
