"""What an agent does with a prompt, as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from accord.errors import AccordError
from accord.session.entities import TokenUsage
from accord.session.updates import Change
from accord.session.vocabulary import StopReason

if TYPE_CHECKING:
    from accord.client.turns import PromptedTurn

__all__ = ["Reply"]


class Reply:
    """One turn. Iterate over it for the changes in their order, or ask for `text()` or `finished()`.

    When it ends, every update of the turn has been delivered. What the turn failed with is raised after them. There
    is one reader: `text()` and `finished()` go on where an iteration stopped. A reply that nobody reads slows its
    connection down once a few megabytes wait in it; one that nobody holds any more does not.
    """

    def __init__(self, turn: PromptedTurn) -> None:
        self._turn = turn
        self._loop = asyncio.get_running_loop()

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the agent says that it stopped; None until the turn is over, and when it did not end by itself."""
        return self._turn.stop_reason

    @property
    def cancel_requested(self) -> bool:
        """Whether we asked for the turn to be cancelled, whatever the agent made of it (FN-93)."""
        return self._turn.cancel_requested

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended; its last changes may still be waiting to be read."""
        return self._turn.is_over

    @property
    def error(self) -> AccordError | None:
        """What the turn failed with, which is also raised."""
        return self._turn.error

    @property
    def token_usage(self) -> TokenUsage | None:
        """The tokens that the turn took, once it is over and where the agent tells them."""
        return self._turn.token_usage

    @property
    def message_id(self) -> str | None:
        """The id that the agent gave the prompt, where it tells one."""
        return None if self._turn.answer is None else self._turn.answer.message_id

    async def __aiter__(self) -> AsyncIterator[Change]:
        # A generator: what waits is handed out without a coroutine for each change.
        inbox = self._turn.inbox
        waiting, take = inbox.waiting, inbox.take
        try:
            while await inbox.filled():
                while waiting:
                    yield take()
        except AccordError:
            self._turn.discard()
            raise
        self._turn.discard()

    async def __anext__(self) -> Change:
        try:
            return await self._turn.inbox.__anext__()
        except (StopAsyncIteration, AccordError):
            self._turn.discard()
            raise

    async def finished(self) -> StopReason | None:
        """Read to the end; the stop reason."""
        async for _ in self:
            pass
        return self.stop_reason

    async def text(self) -> str:
        """Read to the end; all that the agent said in the turn, from its beginning."""
        await self.finished()
        return self._turn.text()

    async def cancel(self) -> None:
        """Cancel the turn, as `Session.cancel` does; a turn that has not begun just ends. Go on reading to its end."""
        await self._turn.session.cancel_turn(self._turn)

    def __del__(self) -> None:
        turn = getattr(self, "_turn", None)
        if turn is not None and not self._loop.is_closed():
            # Perhaps collected in another thread.
            self._loop.call_soon_threadsafe(turn.discard)
