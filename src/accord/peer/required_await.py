"""Makes a forgotten `await` an error where it would otherwise mean yes.

A coroutine is true, and unequal to everything: `if turn.allowed(call):` would always go on. The methods marked here return
a coroutine that refuses to be a truth value, to be compared and to be used as its result. In the same way an object can
refuse `with` and `for` where `async with` and `async for` are meant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from types import TracebackType
from typing import Any, NoReturn, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])


class RequiredAwait(Coroutine[Any, Any, Any]):
    """A coroutine that is only good for `await`, `asyncio.create_task` and the like."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], spelling: str) -> None:
        self._coroutine = coroutine
        self._spelling = spelling

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def send(self, value: Any, /) -> Any:
        return self._coroutine.send(value)

    def throw(self, typ: Any, val: Any = None, tb: TracebackType | None = None, /) -> Any:
        return self._coroutine.throw(typ) if val is None and tb is None else self._coroutine.throw(typ, val, tb)

    def close(self) -> None:
        self._coroutine.close()

    def __bool__(self) -> bool:
        caller = inspect.currentframe()
        caller = None if caller is None else caller.f_back
        if caller is None or caller.f_globals.get("__name__") != "asyncio.base_tasks":
            self._refuse()
        return True  # from Python 3.13 on, the repr of a task asks whether the task has a coroutine

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        self._refuse()
        return None

    __hash__ = object.__hash__

    def __contains__(self, item: object) -> NoReturn:
        self._refuse()

    def __iter__(self) -> NoReturn:
        self._refuse()

    def __str__(self) -> str:  # noqa: PLE0307  # it always raises
        self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("cr_", "__")):  # asyncio and debuggers look at the coroutine itself
            return getattr(self._coroutine, name)
        raise AttributeError(self._advice())

    def _refuse(self) -> NoReturn:
        self._coroutine.close()  # else Python warns about it as well
        raise TypeError(self._advice())

    def _advice(self) -> str:
        return f"{self._spelling}(...) has no result until it is awaited: write `await {self._spelling}(...)`"


def refuse_syntax(advice: str) -> Callable[..., NoReturn]:
    """A special method for a statement that an object does not support, such as `with` for `async with`."""

    def refuse(self: object, *arguments: object) -> NoReturn:
        raise TypeError(advice)

    return refuse


def requires_await(spelling: str) -> Callable[[F], F]:
    """Mark an `async def` whose result decides something; `spelling` is how an author calls it."""

    def mark(method: F) -> F:
        @wraps(method)
        def call(*args: Any, **options: Any) -> RequiredAwait:
            return RequiredAwait(method(*args, **options), spelling)

        return cast(F, call)

    return mark
