"""What went wrong with an agent, as a person needs to hear it: what happened, its last words, and what to do."""

from __future__ import annotations

from accord.apps.console.failures import ConsoleFailed
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

__all__ = ["RESTART", "failure_of"]

RESTART = "Press F5 to start it again with this session, ^L to see what was said on the wire."


def failure_of(error: Exception) -> Failure:
    """Nothing the agent said is left out."""
    match error:
        case ConsoleFailed():
            return Failure(error.reason, error.advice or RESTART, error.last_words)
        case ConnectionClosed():
            code = "" if error.exit_code is None else f" (exit code {error.exit_code})"
            return Failure(f"The agent is gone: {error.reason}{code}", RESTART, error.stderr_tail)
        case DeadlineExceeded(method="initialize"):
            return Failure(
                f"The agent did not answer within {error.seconds:g} s",
                f"Is it an agent that speaks ACP on stdin and stdout? Some need a flag such as --acp. {RESTART}",
            )
        case DeadlineExceeded():
            return Failure(f"{error.method} was not answered within {error.seconds:g} s", RESTART)
        case AuthRequired():
            return Failure(f"The agent wants you to log in: {error.message}", "Type /login to do it.")
        case VersionRefused():
            return Failure(str(error), "Another version of the agent, or of accord, may agree.")
        case RateLimited():
            return Failure(f"The agent is asked too often: {error.message}", "Wait a little, then send it again (↑).")
        case RequestFailed():
            return Failure(f"The agent answered with an error: {error.message} ({error.code})", "", _details(error))
        case AccordError():
            return Failure(str(error), "")
        case _:
            return Failure(f"{type(error).__name__}: {error}", "")


def _details(error: RequestFailed) -> str:
    data = error.data
    if isinstance(data, dict):
        return "\n".join(f"{name}: {value}" for name, value in data.items())  # pyright: ignore[reportUnknownVariableType]
    return data if isinstance(data, str) else ""
