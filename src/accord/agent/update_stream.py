"""The updates of a session on their way to the connections that subscribe to it.

Laws: each subscriber gets everything, once and in order. What happens while a subscriber can't be told yet, because the
answer that opens its session or the session's history comes first, is held for it. Text that follows text within a short
window is sent as one chunk (FN-80), and what is told of a tool call right before its end is sent with its end (FN-114);
whatever else is told lets it go first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any

from accord.agent.connection import AgentConnection
from accord.dialects.chunk_fast_path import TextFrames
from accord.session.backlog_merge import is_final, merge, merge_key, waits_for_end, with_outcome
from accord.session.updates import MessageChunk, NoticeShown, ToolCallChanged, Update

__all__ = ["Subscription", "UpdateStream"]

log = logging.getLogger("accord.agent")

_FULL = 4096  # characters that wait at most
_HELD = 100_000


class Subscription:
    """One connection that gets a session's updates. What is sent is held until `begin`."""

    def __init__(self, session_id: str, connection: AgentConnection) -> None:
        self.connection = connection
        self.is_ready = False
        """Whether what is sent leaves at once."""
        self.send: Callable[[Update], bool] = self._hold
        """Send it, and whether there is room for more; nothing is sent when nobody is there any more."""
        self._session_id = session_id
        self._text_frame = TextFrames(connection.dialect, session_id).frame_of
        self._held: list[Update] = []
        self._caught_up: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def has_room(self) -> bool:
        """Whether it need not be waited for."""
        return self.is_ready and self.connection.peer.has_room

    def _hold(self, change: Update) -> bool:
        if len(self._held) < _HELD:
            self._held.append(change)
        elif self._closing is None:
            log.error("a client that does not take the history of %s is given up: too much waits", self._session_id)
            self._closing = asyncio.create_task(self.connection.peer.aclose())
        return False

    def post(self, change: Update) -> bool:
        """As `send`, before what is held: a part of the history."""
        peer = self.connection.peer
        frame = self._text_frame(change)
        if frame is not None:
            return peer.post_frame(frame)
        if not peer.is_open:
            return False
        has_room = False
        for params in self.connection.dialect.update_to_wire(self._session_id, change):
            has_room = peer.post("session/update", params)
        return has_room

    def begin(self) -> None:
        """Send what was held, and from now on everything at once."""
        held, self._held = self._held, []
        for change in held:
            self.post(change)
        self.is_ready, self.send = True, self.post

    @asynccontextmanager
    async def replaying(self, whole: bool) -> AsyncGenerator[None]:
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

    async def drain(self) -> None:
        """Wait until it can take more; raises when it is gone."""
        if self._caught_up is not None:
            await asyncio.shield(self._caught_up)
        await self.connection.peer.drain()


class UpdateStream:
    """Sends the changes of one session to its subscribers; `window` is for how long text may wait for more, in seconds."""

    def __init__(self, session_id: str, window: float) -> None:
        self.subscriptions: list[Subscription] = []
        self._session_id = session_id
        self._window = window
        self._held: list[Update] = []
        self._held_key: Any = None
        self._held_size = 0
        self._timer: asyncio.TimerHandle | None = None

    def find(self, connection: AgentConnection) -> Subscription | None:
        """The subscription of this connection, if it has one."""
        return next((each for each in self.subscriptions if each.connection is connection), None)

    def subscribe(self, connection: AgentConnection) -> Subscription:
        """Let a connection have everything from now on; it says when to begin."""
        self.flush()
        subscription = Subscription(self._session_id, connection)
        self.subscriptions.append(subscription)
        return subscription

    def unsubscribe(self, connection: AgentConnection) -> None:
        """Send it nothing more."""
        self.flush()
        self.subscriptions = [each for each in self.subscriptions if each.connection is not connection]
        connection.dialect.forget_session(self._session_id)

    def close(self) -> None:
        """Send nothing more to anybody."""
        for subscription in list(self.subscriptions):
            self.unsubscribe(subscription.connection)

    def send(self, change: Update) -> bool:
        """Send it, or hold it for the window; whether there is room for more."""
        if type(change) is ToolCallChanged:
            return self._send_call(change)
        return self._hold(change, merge_key(change)) if self._window else self._post(change)

    def _send_call(self, change: ToolCallChanged) -> bool:
        key = ("call", change.call.id)
        if is_final(change):
            waiting = self._take_held() if key == self._held_key else []
            change = with_outcome(change, [each for each in waiting if type(each) is ToolCallChanged])
        if not self._window:
            return self._post(change)
        return self._hold(change, key if waits_for_end(change) else None)

    def _hold(self, change: Update, key: Hashable | None) -> bool:
        if key is None or key != self._held_key:
            self.flush()
        if key is None:
            return self._post(change)
        if not self._held:
            self._held_key = key
            self._timer = asyncio.get_running_loop().call_later(self._window, self.flush)
        self._held.append(change)
        self._held_size += len(change.text) if type(change) is MessageChunk else _FULL // 8
        if self._held_size > _FULL:
            self.flush()
        return all(subscription.has_room for subscription in self.subscriptions)

    def flush(self) -> None:
        """Send what waits for the window to end."""
        if not self._held:
            return
        held = self._take_held()
        for change in held if type(held[0]) is ToolCallChanged else (merge(held),):
            self._post(change)

    def _take_held(self) -> list[Update]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, []
        self._held_key, self._held_size = None, 0
        return held

    def _post(self, change: Update) -> bool:
        has_room = True
        for subscription in self.subscriptions:
            has_room = subscription.send(change) and has_room
        return has_room

    def echo(self, change: Update, sender: AgentConnection, *, to_sender: bool) -> None:
        """Tell a prompt to those who did not send it, or to the one who did."""
        self.flush()
        for subscription in self.subscriptions:
            if (subscription.connection is sender) is to_sender:
                subscription.send(change)

    async def drain(self, prompter: AgentConnection | None) -> None:
        """Wait until there is room for more. Only whoever has prompted is waited for, or the only one there is.

        A client that only looks on must not stop others; if it never reads, its connection fails by its own limit.
        """
        is_only_one = len(self.subscriptions) == 1
        for subscription in list(self.subscriptions):
            if is_only_one or subscription.connection is prompter:
                await subscription.drain()
