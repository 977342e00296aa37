"""Models and modes by the names that users give them."""

from __future__ import annotations

from difflib import get_close_matches

from accord.apps.console.failures import UsageWrong
from accord.apps.console.sanitising import one_line
from accord.client.session import Session

__all__ = ["choose", "choose_mode", "choose_model"]


async def choose(session: Session, model: str | None, mode: str | None) -> None:
    """What of both was asked for."""
    if model:
        await choose_model(session, model)
    if mode:
        await choose_mode(session, mode)


async def choose_model(session: Session, wanted: str) -> None:
    """Put a model in force; UsageWrong names those that there are."""
    option = next((each for each in session.options if "model" in (each.category, each.id)), None)
    if option is None:
        raise UsageWrong("the agent offers no choice of models", "Leave --model out, or give its own flag after `--`")
    value = _meant("model", wanted, {choice.value: choice.name for choice in option.choices})
    await session.set_option(option.id, value)


async def choose_mode(session: Session, wanted: str) -> None:
    """Put a mode in force; UsageWrong names those that there are."""
    option = next((each for each in session.options if "mode" in (each.category, each.id)), None)
    if session.modes is not None:
        known = {mode.id: mode.name for mode in session.modes.available}
    elif option is not None:
        known = {choice.value: choice.name for choice in option.choices}
    else:
        raise UsageWrong("the agent has no modes", "Leave --mode out")
    await session.set_mode(_meant("mode", wanted, known))


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
