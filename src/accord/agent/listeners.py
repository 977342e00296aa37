"""A connection that hears a session; there may be several.

Law: each hears everything, once and in order. What happens while a listener can't be told yet, because the answer that
opens its session or the session's history comes first, is held for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from accord.agent.connected_client import ConnectedClient
from accord.dialects.text_frames import TextFrames
from accord.session.updates import Change, NoticeShown

__all__ = ["Listener"]

log = logging.getLogger("accord.agent")

_HELD = 100_000


class Listener:
    """What is told is held until `begin`."""

    def __init__(self, session_id: str, client: ConnectedClient) -> None:
        self.client = client
        self.is_ready = False
        """Whether what is sent leaves at once."""
        self.send: Callable[[Change], bool] = self._hold
        """Tell it, and whether it has room for more; nothing is told when nobody is there any more."""
        self._session_id = session_id
        self._text_frame = TextFrames(client.dialect, session_id).frame_of
        self._held: list[Change] = []
        self._caught_up: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def has_room(self) -> bool:
        """Whether it need not be waited for."""
        return self.is_ready and self.client.peer.has_room

    def _hold(self, change: Change) -> bool:
        if len(self._held) < _HELD:
            self._held.append(change)
        elif self._closing is None:
            log.error("a client that does not take the history of %s is given up: too much waits", self._session_id)
            self._closing = asyncio.create_task(self.client.peer.aclose())
        return False

    def post(self, change: Change) -> bool:
        """As `send`, before what is held: a part of the history."""
        peer = self.client.peer
        frame = self._text_frame(change)
        if frame is not None:
            return peer.post_frame(frame)
        if not peer.is_open:
            return False
        has_room = False
        for params in self.client.dialect.update_to_wire(self._session_id, change):
            has_room = peer.post("session/update", params)
        return has_room

    def begin(self) -> None:
        """Tell what was held, and from now on everything at once."""
        held, self._held = self._held, []
        for change in held:
            self.post(change)
        self.is_ready, self.send = True, self.post

    @asynccontextmanager
    async def retelling(self, whole: bool) -> AsyncGenerator[None]:
        """Meanwhile the history is posted; what happens is held until that is done."""
        self.is_ready, self.send = False, self._hold
        if whole:
            self._held = [change for change in self._held if type(change) is NoticeShown]  # the rest is in the history
        caught_up = self._caught_up = asyncio.get_running_loop().create_future()
        try:
            yield
            self.begin()
        finally:
            self._caught_up = None
            caught_up.set_result(None)

    async def room(self) -> None:
        """Wait until it can take more; raises when it is gone."""
        if self._caught_up is not None:
            await asyncio.shield(self._caught_up)
        await self.client.peer.drain()
