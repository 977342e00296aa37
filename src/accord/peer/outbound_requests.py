"""A request under way, from its sending to the one outcome that it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Raw

from accord.errors import AccordError

if TYPE_CHECKING:
    from accord.peer.peer import Peer

__all__ = ["Call", "OnAnswer", "OnResult", "outcome_of"]

log = logging.getLogger("accord.peer")

T = TypeVar("T")

OnAnswer: TypeAlias = Callable[[Raw | AccordError], None]
"""Called by the reader with a result, or with what the request failed with; must not wait."""

OnResult: TypeAlias = Callable[[Raw], T]
"""Called by the reader with a result; must not wait. What it returns or raises is what the request comes to."""


class Call:
    """Await it for the result; it raises what the request failed with."""

    __slots__ = ("_on_answer", "_peer", "_take", "future", "id", "method")

    def __init__(
        self,
        peer: Peer,
        id: int,
        method: str,
        on_answer: OnAnswer | None = None,
        take: OnResult[Any] | None = None,
    ) -> None:
        self._peer = peer
        self.id = id
        self.method = method
        self.future: asyncio.Future[Any] = peer.new_future()
        self._on_answer = on_answer
        self._take = take

    def cancel(self) -> None:
        """Send `$/cancel_request`. The answer still comes: a result, perhaps partial, or RequestCancelled."""
        self._peer.cancel(self)

    def __await__(self) -> Generator[Any, None, Any]:
        return self.future.__await__()

    def settle(self, outcome: Raw | AccordError) -> None:
        """Called once by the reader, in wire order, or at the end of the connection."""
        if self._on_answer is not None:
            try:
                self._on_answer(outcome)
            except Exception as error:  # noqa: BLE001  # whoever awaits it still gets it
                self._peer.limited_log.failure(log, error, "the answer to %s could not be taken in", self.method)
        if self.future.done():  # whoever waited was cancelled, and must not be given anything to keep
            return
        if isinstance(outcome, AccordError):
            self._fail(outcome)
            return
        try:
            self.future.set_result(outcome if self._take is None else self._take(outcome))
        except Exception as error:  # noqa: BLE001  # whoever waits gets it raised
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.future.set_exception(error)
        self.future.exception()  # seen: an answer that nobody awaits any more is nothing to warn about


async def outcome_of(call: Call) -> Raw | AccordError:
    """What it comes to, without raising that."""
    try:
        return await call.future
    except AccordError as error:
        return error
