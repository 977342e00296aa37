"""The reply to a prompt, as `session.prompt` returns it: the updates of its turn, its text, and how it ended."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, NoReturn, Self

from accord.client.turn import PromptTurn
from accord.errors import AccordError
from accord.peer.required_await import refuse_syntax
from accord.session.entities import TokenUsage
from accord.session.open_enums import StopReason
from accord.session.updates import Update


class Reply:
    """The agent's reply to one prompt: iterate over it for the updates in order, or await it to read to its end.

    When it ends, every update of the turn has been delivered; an error of the turn is raised after them. After a
    `break`, another `async for` continues with the next update, and `await` reads the rest. It may be awaited again.
    A reply that is kept and not read slows its connection down once a few megabytes are waiting in it; one that is not
    kept does not. If the turn of a reply fails and nobody ever gets the error, that is logged.
    """

    def __init__(self, turn: PromptTurn, cancel: Callable[[PromptTurn], Awaitable[None]]) -> None:
        self._turn = turn
        self._cancel = cancel
        self._loop = asyncio.get_running_loop()
        self._reader: Callable[[], AsyncGenerator[Update, None] | None] = lambda: None
        self._is_read = False

    @property
    def text(self) -> str:
        """Everything the agent has said in this turn so far; after `await`, everything it said."""
        return self._turn.text

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the agent stopped; None until the turn is over, and when the turn did not end by itself."""
        return self._turn.stop_reason

    @property
    def cancel_requested(self) -> bool:
        """Whether this side asked for the turn to be cancelled, whatever the agent made of it (FN-93)."""
        return self._turn.cancel_requested

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended; its last updates may still be waiting to be read."""
        return self._turn.is_over

    @property
    def updates_may_follow(self) -> bool:
        """Whether updates of this turn may arrive after its end, as in v1 and the draft; they go to `on_update`."""
        return self._turn.connection.dialect.result_ends_turn

    @property
    def error(self) -> AccordError | None:
        """The error that the turn failed with; reading the reply raises it."""
        self._turn.is_error_retrieved = self._turn.is_error_retrieved or self._turn.is_over
        if self._turn.error is not None:
            self._turn.connection.add_stderr(self._turn.error)
        return self._turn.error

    @property
    def token_usage(self) -> TokenUsage | None:
        """The tokens that the turn took, once it is over and if the agent reports them."""
        return self._turn.token_usage

    @property
    def message_id(self) -> str | None:
        """The id that the agent gave the prompt, if it gave one."""
        return None if self._turn.result is None else self._turn.result.message_id

    def __aiter__(self) -> AsyncGenerator[Update, None]:
        if self._is_read:
            raise RuntimeError("this reply was read to its end: use reply.text, or store the updates in the first loop")
        reader = self._updates()
        self._reader = weakref.ref(reader)
        return reader

    async def _updates(self) -> AsyncGenerator[Update, None]:
        # A generator: waiting updates are handed out without a coroutine for each of them.
        inbox = self._turn.inbox
        waiting, take = inbox.entries, inbox.take
        try:
            while await inbox.wait():
                while waiting:
                    yield take()
        except AccordError as error:
            self._turn.connection.add_stderr(error)
            self._finish()
            raise
        self._finish()

    def __await__(self) -> Generator[Any, None, Self]:
        return self._read().__await__()

    if not TYPE_CHECKING:  # a type checker reports it without help
        __iter__ = refuse_syntax("a reply arrives bit by bit: write `async for update in reply:`")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a reply is neither true nor false: write `await session.prompt(...)`, then look at reply.text or reply.stop_reason"
        )

    async def _read(self) -> Self:
        """Read to the end; but leave the updates to an `async for` that has not ended, in this task or another."""
        if self._reader() is not None:
            self._turn.stop_backpressure()
            await asyncio.wait((self._turn.ended,))
        if self._reader() is None and not self._is_read:
            async for _ in self:
                pass
        if self.error is not None:
            raise self.error
        return self

    def _finish(self) -> None:
        self._is_read = self._turn.is_error_retrieved = True
        self._turn.discard()

    async def cancel(self) -> None:
        """Cancel the turn, as `Session.cancel` does; a queued prompt is not sent. Continue to read until it ends."""
        await self._cancel(self._turn)

    def __del__(self) -> None:
        turn = getattr(self, "_turn", None)
        if turn is not None and not self._loop.is_closed():
            # Perhaps collected in another thread.
            self._loop.call_soon_threadsafe(turn.abandon)
