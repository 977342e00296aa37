"""Error messages: what happened, what to do, the exit status, and the end of the agent's stderr or stray stdout."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, Literal, cast

from accord import errors
from accord.apps.console.errors import ConsoleFailed, ExitStatus
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.sanitizer import one_line
from accord.apps.console.tty import login_method_text
from accord.dialects.all_versions.lifecycle import read_auth_methods
from accord.errors.escape_sequences import clean_output, strip_colours
from accord.session.capabilities import VariableLogin
from accord.transports.framing import FRAME_LIMIT
from accord.transports.output_tail import OutputTail

_REPORT = "Report this to those who make it"
LONG_FRAME_MESSAGE = (
    f"the agent sent more than {FRAME_LIMIT // 2**20} MiB in one message, which was skipped; something is missing here"
)


def explain_error(
    error: Exception, doing: str, agent: KnownAgent, output: AgentOutput, methods: Sequence[Any] = ()
) -> ConsoleFailed:
    """`doing` is what we were about, such as `starting`; `methods` are the ways to log in that the agent has named."""
    who = f"the agent {agent.name!r}"
    match error:
        case errors.AccordError() if output.is_echo:
            reason = f"{who} is no agent: it only says again what it is told"
            return ConsoleFailed(reason, check_advice(agent), ExitStatus.AGENT_GONE, output.stderr)
        case errors.ConnectionClosed():
            return _closed(error, doing, agent, output)
        case errors.DeadlineExceeded(method="initialize", seconds=seconds):
            return start_timed_out(agent, output, seconds, "--start-timeout")
        case errors.DeadlineExceeded():
            return ConsoleFailed(
                f"{who} did not answer `{error.method}` within {error.seconds:g} s, so it was ended",
                "Try again; `accord run --timeout` gives a turn more time, or less",
                ExitStatus.TIMEOUT,
                output.tail,
            )
        case errors.VersionRefused():
            return ConsoleFailed(
                f"{who} speaks another version of the protocol: {error_text(error)}",
                "accord speaks v1 and v2: look for a newer release of the agent, or of accord",
                ExitStatus.AGENT_GONE,
                output.tail,
            )
        case errors.AuthRequired():
            ways = read_auth_methods(error.auth_methods, methods) or methods
            return ConsoleFailed(_wants_login(error, who), _logins(ways), ExitStatus.LOGIN_NEEDED)
        case errors.Overloaded() | errors.Malformed():
            return ConsoleFailed(
                f"{who} broke the protocol while {doing}: {error}",
                _REPORT if output.messages else check_advice(agent),
                ExitStatus.AGENT_GONE,
                output.tail,
            )
        case errors.SessionInUse() | errors.Fenced():
            reason = f"{who} failed while {doing}: {error_text(error)} (error {error.code})"
            return ConsoleFailed(reason, session_owner_advice(error, agent), ExitStatus.FAILED)
        case errors.RequestFailed():
            words = output.tail if isinstance(error, errors.InternalError) else ""
            advice = _advice(error)
            said = error_text(error, "advice").removesuffix(advice).rstrip(". ") if advice else error_text(error)
            reason = f"{who} failed while {doing}: {said} (error {error.code})"
            return ConsoleFailed(reason, advice, ExitStatus.FAILED, words)
        case _:
            return ConsoleFailed(f"{doing} failed: {error}", "", ExitStatus.FAILED, output.tail)


def _closed(error: errors.ConnectionClosed, doing: str, agent: KnownAgent, output: AgentOutput) -> ConsoleFailed:
    if error.kind == "not_started":
        return ConsoleFailed(error.reason, "", ExitStatus.NOT_EXECUTABLE)
    if error.kind == "closed_here":
        kept = "What it has kept of the session can be taken up with --continue"
        return ConsoleFailed(killed_message(agent), kept, ExitStatus.INTERRUPTED, output.stderr)
    code = "" if error.exit_code is None else f" with exit code {error.exit_code}"
    words = error.stderr_tail or output.tail
    if error.kind == "overloaded":
        reason = f"the agent {agent.name!r} was ended, because it sent too much while {doing}: {error.reason}"
        return ConsoleFailed(reason, _REPORT, ExitStatus.AGENT_GONE, words)
    if error.kind == "bad_frames":
        reason = f"the agent {agent.name!r} prints something that is not ACP, so it was ended: {error.reason}"
        advice = _REPORT if output.messages else check_advice(agent)
        return ConsoleFailed(reason, advice, ExitStatus.AGENT_GONE, error.stderr_tail or output.stderr)
    if output.messages == 0:
        reason = f"the agent {agent.name!r} ended{code} before it said anything"
        return ConsoleFailed(_with_noise(reason, output), check_advice(agent), ExitStatus.AGENT_GONE, words)
    return ConsoleFailed(
        f"the agent {agent.name!r} is gone while {doing}: {error.reason}{code}",
        "Try again; what it has kept of the session can be taken up with --continue",
        ExitStatus.AGENT_GONE,
        words,
    )


def start_timed_out(agent: KnownAgent, output: AgentOutput, seconds: float, option: str) -> ConsoleFailed:
    """It has not answered at its start in the time that this option gives it."""
    reason = f"the agent {agent.name!r} did not answer `initialize` within {seconds:g} s"
    advice = f"{_REPORT if output.messages else check_advice(agent)}; {option} gives it more time"
    return ConsoleFailed(_with_noise(reason, output), advice, ExitStatus.TIMEOUT, output.tail)


def _with_noise(reason: str, output: AgentOutput) -> str:
    return f"{reason}; what it wrote to stdout is no ACP" if output.stray_stdout else reason


def killed_message(agent: KnownAgent) -> str:
    """Why it is gone, when we ended it in a turn."""
    return f"the agent {agent.name!r} was ended, because it did not stop"


def check_advice(agent: KnownAgent) -> str:
    """What to do about an agent that may be none: nothing of the protocol was output of it."""
    return f"Does `{agent.line}` start it as an ACP agent? Try that command by itself, and look for its flag for ACP"


def session_owner_advice(error: errors.SessionInUse | errors.Fenced, agent: KnownAgent) -> str:
    """What to do about a session that another process has."""
    id = one_line(shlex.quote(str(error.session_id or "ID")), 200)
    behind = f" -- {agent.line}" if agent.source == "command" else ""
    named = f" --agent {agent.name}" if agent.source in ("config", "preset") else ""
    if isinstance(error, errors.Fenced):
        return (
            f"`accord sessions --take-over {id}{named}{behind}` takes it back; go on with it then, or where it is now"
        )
    return f"Close it there, or take it over with `accord sessions --take-over {id}{named}{behind}` and try again"


def _wants_login(error: errors.AuthRequired, who: str) -> str:
    said = error_text(error)
    return f"{who} wants a login first" + ("" if said == "Authentication required" else f": {said}")


def _logins(methods: Sequence[Any]) -> str:
    if not methods:
        return "It names no way to log in: start it by itself and log in there"
    if all(isinstance(method, VariableLogin) and method.variables for method in methods):
        return f"Set {' or '.join(_variables(method) for method in methods)} in the environment and start again"
    ways = "; ".join(login_method_text(method).rstrip(".") for method in methods)
    first = getattr(methods[0], "id", "ID")
    return f"Choose one: {ways}. At a terminal you are asked, elsewhere add `--login {first}` to the options"


def _variables(method: VariableLogin) -> str:
    names = " and ".join(one_line(each.name, 80) for each in method.variables if not each.optional)
    names = names or one_line(method.variables[0].name, 80)
    return names + (f" (see {one_line(method.link)})" if method.link else "")


def error_text(error: errors.RequestFailed, *left_out: str) -> str:
    """Its message and what its `data` says beyond it, but for these members, in one line."""
    return one_line(strip_colours(error.full_message(*left_out)), 2000)


def _advice(error: errors.RequestFailed) -> str:
    if isinstance(error, errors.RateLimited):
        return error.advice
    details: Any = error.data
    said = cast("dict[str, Any]", details).get("advice") if isinstance(details, dict) else None
    return one_line(said, 1000) if isinstance(said, str) else ""


_STDERR_BYTES = 16 * 1024
_STRAY_BYTES = 2 * 1024


class AgentOutput:
    """Captures the agent's stderr and stray stdout, and counts its protocol messages. Only the end of each is stored."""

    def __init__(self) -> None:
        self._stderr = OutputTail(_STDERR_BYTES)
        self._stray = OutputTail(_STRAY_BYTES)
        self._first_sent: bytes | None = None
        self.messages = 0
        """The number of protocol messages received."""
        self.is_echo = False
        """Whether it repeats what it receives, as `cat` does: it is not an agent."""

    def add_stderr(self, data: bytes) -> None:
        self._stderr.add(data)

    def add_frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        """A line of either side."""
        if direction == "sent":
            self._first_sent = self._first_sent or frame.strip()
        elif _is_message(frame):
            self.is_echo = self.is_echo or (self.messages == 0 and frame.strip() == self._first_sent)
            self.messages += 1
        else:
            self._stray.add(frame.rstrip(b"\n") + b"\n")

    @property
    def stray_stdout(self) -> str:
        """The end of what came on stdout and is not a protocol message."""
        return clean_output(self._stray.text)

    @property
    def stderr(self) -> str:
        """The end of stderr, without terminal escape sequences."""
        return clean_output(self._stderr.text)

    @property
    def tail(self) -> str:
        """The end of stderr; without any, the end of the stray stdout."""
        return self.stderr or self.stray_stdout


def _is_message(frame: bytes) -> bool:
    """Whether it looks like a protocol message. JSON that a program logs does not."""
    is_json = frame.lstrip()[:1] in (b"{", b"[")
    return is_json and (b'"jsonrpc"' in frame or (b'"id"' in frame and (b'"result"' in frame or b'"error"' in frame)))
