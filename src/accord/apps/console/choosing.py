"""Models and modes by the names that users give them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches

from accord.apps.console.explaining import words_of
from accord.apps.console.failures import ConsoleFailed, UsageWrong
from accord.apps.console.sanitising import one_line
from accord.client.session import Session
from accord.errors import AuthRequired, RequestFailed
from accord.session.entities import Option

__all__ = ["choose_mode", "choose_model", "choose_option", "mode_in_force"]

_TRIES = 2
"""Something that the agent had told before it heard of the first may look as if it had not heeded it."""


async def choose_model(session: Session, wanted: str, *, anew: bool = False) -> Option:
    """Put a model in force; the option that it is a value of. UsageWrong names those that there are."""
    option = next((each for each in session.options if "model" in (each.category, each.id)), None)
    if option is None:
        raise UsageWrong("the agent offers no choice of models", "Leave --model out, or give its own flag after `--`")
    value = _meant("model", wanted, {choice.value: choice.name for choice in option.choices})
    return await choose_option(session, option.id, value, anew=anew)


async def choose_option(session: Session, option_id: str, wanted: str | bool, *, anew: bool = False) -> Option:
    """Give an option a value, unless it has it, or `anew` in any case; ConsoleFailed if the agent does not do that."""
    for _ in range(_TRIES):
        option = next((each for each in session.options if each.id == option_id), None)
        if option is None:
            raise ConsoleFailed(f"the agent has no option {one_line(option_id, 80)!r} here")
        if option.value == wanted and not anew:
            return option
        anew = False
        with _naming(f"{one_line(str(wanted), 80)!r} for the option {one_line(option_id, 80)!r}"):
            await session.set_option(option_id, wanted)
    option = next((each for each in session.options if each.id == option_id), None)
    if option is not None and option.value == wanted:
        return option
    raise ConsoleFailed(
        f"the agent did not take {one_line(str(wanted), 80)!r} for the option {one_line(option_id, 80)!r}"
    )


async def choose_mode(session: Session, wanted: str, *, anew: bool = False) -> str:
    """Put a mode in force, unless it is, or `anew` in any case; its id.

    UsageWrong names those that there are, ConsoleFailed if it stays away.
    """
    option = _mode_option(session)
    if session.modes is not None:
        known = {mode.id: mode.name for mode in session.modes.available}
    elif option is not None:
        known = {choice.value: choice.name for choice in option.choices}
    else:
        raise UsageWrong(f"the agent has no modes, and so no mode {wanted!r}", "Leave --mode out")
    value = _meant("mode", wanted, known)
    for _ in range(_TRIES):
        if mode_in_force(session) == value and not anew:
            return value
        anew = False
        with _naming(f"the mode {value!r}"):
            if session.modes is None and option is not None:
                await session.set_option(option.id, value)
            else:
                await session.set_mode(value)
    if mode_in_force(session) == value:
        return value
    raise ConsoleFailed(f"the agent stays in the mode {mode_in_force(session)!r}; {value!r} was asked for")


def mode_in_force(session: Session) -> str | None:
    """The id of the mode that the agent says it works in."""
    if session.modes is not None:
        return session.modes.current
    option = _mode_option(session)
    return option.value if option is not None and isinstance(option.value, str) else None


@contextmanager
def _naming(what: str) -> Generator[None]:
    """Say what it was that the agent has refused."""
    try:
        yield
    except AuthRequired:
        raise
    except RequestFailed as error:
        raise ConsoleFailed(f"the agent refuses {what}: {words_of(error)} (error {error.code})") from error


def _mode_option(session: Session) -> Option | None:
    return next((each for each in session.options if "mode" in (each.category, each.id)), None)


def _meant(what: str, wanted: str, known: dict[str, str]) -> str:
    if wanted in known:
        return wanted
    for value, name in known.items():
        if wanted.casefold() in (value.casefold(), name.casefold()):
            return value
    close = get_close_matches(wanted, known, n=2)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    there = ", ".join(one_line(value, 80) for value in known) or "none"
    raise UsageWrong(f"the agent has no {what} {wanted!r}{hint}", f"There are: {there}")
