"""Methods and notifications that the protocol does not have: names that begin with an underscore (EXT-04)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from accord.session.checks import check_extension

__all__ = ["Extensions"]

Handler = TypeVar("Handler", bound=Callable[[Any], Any])


class Extensions:
    """What the other side may call here beyond the protocol. A handler gets the params, decoded."""

    def __init__(self) -> None:
        self.methods: dict[str, Callable[[Any], Coroutine[Any, Any, Any]]] = {}
        self.notifications: dict[str, Callable[[Any], Any]] = {}

    def method(self, name: str) -> Callable[[Handler], Handler]:
        """Register what answers a request; what it returns is the result."""

        def register(handler: Handler) -> Handler:
            async def answer(params: Any) -> Any:
                result = handler(params)
                return await result if inspect.isawaitable(result) else result

            self.methods[check_extension(name)] = answer
            return handler

        return register

    def notification(self, name: str) -> Callable[[Handler], Handler]:
        """Register what hears a notification; it is called in the order of arrival."""

        def register(handler: Handler) -> Handler:
            self.notifications[check_extension(name)] = handler
            return handler

        return register
