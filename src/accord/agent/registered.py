"""What an agent's author has registered, and how each of it is called."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from accord.session.capabilities import AgentLogin, AuthMethod, TerminalLogin
from accord.session.entities import Choice, Command, Option

__all__ = ["Handler", "LoginMethod", "OfferedCommand", "OfferedOption", "called", "choice_of"]

Handler = Callable[..., Any]
"""A function of the author's, plain or async."""


class LoginMethod(msgspec.Struct):
    """A way to log in; without a handler it is one that the client runs in a terminal."""

    method: AgentLogin | TerminalLogin
    handler: Handler | None = None

    @property
    def shown(self) -> AuthMethod:
        return self.method


class OfferedOption(msgspec.Struct):
    """A setting as every session begins with it."""

    option: Option
    handler: Handler | None = None


class OfferedCommand(msgspec.Struct):
    """A slash command and who answers it."""

    command: Command
    handler: Handler


def choice_of(choice: str | Choice | tuple[str, str]) -> Choice:
    """A choice: a value that is its own name, or a value and a name."""
    if isinstance(choice, Choice):
        return choice
    if isinstance(choice, str):
        return Choice(value=choice, name=choice)
    return Choice(value=choice[0], name=choice[1])


async def called(handler: Handler, *arguments: Any) -> Any:
    """Call it with as many of the arguments as it takes; a plain function in a thread, so that it may block (FN-15)."""
    given = arguments[: _places(handler)]
    if inspect.iscoroutinefunction(handler):
        return await handler(*given)
    result: Any = await asyncio.to_thread(handler, *given)
    return await result if inspect.isawaitable(result) else result


def _places(handler: Handler) -> int | None:
    """How many arguments it takes; None for any number."""
    places = 0
    for parameter in inspect.signature(handler).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return None
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            places += 1
    return places
