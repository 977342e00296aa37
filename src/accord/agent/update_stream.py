"""Sends the updates of a session to the connections that subscribe to it.

Laws: each subscriber gets every update, once and in order. Updates that come before a subscriber is ready, because the
response that opens the session or its history comes first, are held for it. Text that follows text within a short window
is sent as one chunk (FN-80), and updates of a tool call right before its end are sent with its end (FN-114); any other
update flushes them first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any

from accord.agent.connection import AgentEndpoint
from accord.dialects.chunk_fast_path import ChunkEncoder
from accord.session.backlog_merge import is_final, merge, merge_key, waits_for_end, with_outcome
from accord.session.content import Text
from accord.session.message import Message
from accord.session.updates import MessageAppend, MessageChunk, NoticeShown, ToolCallChanged, Update

log = logging.getLogger("accord.agent")

_MAX_PENDING_SIZE = 4096  # characters
_MAX_HELD = 100_000  # updates


class Subscription:
    """One connection that gets a session's updates. They are held until `begin`."""

    def __init__(self, session_id: str, endpoint: AgentEndpoint) -> None:
        self.endpoint = endpoint
        self.is_ready = False
        """Whether updates are sent at once."""
        self.send: Callable[[Update], bool] = self._hold
        """Send an update, or hold it; returns whether there is room for more. Nothing is sent once the client is gone."""
        self.send_text: Callable[[Message, str], bool] = self._hold_text
        """As `send`, for plain text that was appended to a message."""
        self._session_id = session_id
        self._encoder = ChunkEncoder(endpoint.dialect, session_id)
        self._held: list[Update] = []
        self._caught_up: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def has_room(self) -> bool:
        """Whether more can be sent without waiting."""
        return self.is_ready and self.endpoint.peer.has_room

    def _hold(self, update: Update) -> bool:
        if len(self._held) < _MAX_HELD:
            self._held.append(update)
        elif self._closing is None:
            log.error(
                "closing a connection that does not read the history of %s: too many updates wait", self._session_id
            )
            self._closing = asyncio.create_task(self.endpoint.peer.aclose())
        return False

    def post(self, update: Update) -> bool:
        """Send an update before those that are held: a part of the history."""
        peer = self.endpoint.peer
        frame = self._encoder.encode(update)
        if frame is not None:
            return peer.post_frame(frame)
        if not peer.is_open:
            return False
        has_room = False
        for params in self.endpoint.dialect.update_to_wire(self._session_id, update):
            has_room = peer.post("session/update", params)
        return has_room

    def _hold_text(self, message: Message, text: str) -> bool:
        return self._hold(_text_chunk(message, text))

    def _post_text(self, message: Message, text: str) -> bool:
        frame = self._encoder.encode_text(message, text)
        if frame is None:
            return self.post(_text_chunk(message, text))
        return self.endpoint.peer.post_frame(frame)

    def begin(self) -> None:
        """Send the held updates, and from now on every update at once."""
        held, self._held = self._held, []
        for update in held:
            self.post(update)
        self.is_ready, self.send, self.send_text = True, self.post, self._post_text

    @asynccontextmanager
    async def replaying(self, whole: bool) -> AsyncGenerator[None]:
        """Holds new updates while the history is posted."""
        self.is_ready, self.send, self.send_text = False, self._hold, self._hold_text
        if whole:
            self._held = [update for update in self._held if type(update) is NoticeShown]  # the history has the others
        caught_up = self._caught_up = asyncio.get_running_loop().create_future()
        try:
            yield
            self.begin()
        finally:
            self._caught_up = None
            caught_up.set_result(None)

    async def drain(self) -> None:
        """Wait until it can take more; raises when the connection is closed."""
        if self._caught_up is not None:
            await asyncio.shield(self._caught_up)
        await self.endpoint.peer.drain()


class UpdateStream:
    """Sends the updates of one session to its subscribers; text waits up to `window` seconds for more text."""

    def __init__(self, session_id: str, window: float) -> None:
        self.subscriptions: list[Subscription] = []
        self._session_id = session_id
        self._window = window
        self._message: Message | None = None  # whose text waits
        self._texts: list[str] = []
        self._pending: list[Update] = []  # other updates that wait; if any do, no text does
        self._pending_key: Any = None
        self._pending_size = 0
        self._timer: asyncio.TimerHandle | None = None

    def find(self, endpoint: AgentEndpoint) -> Subscription | None:
        """The subscription of a connection, if it has one."""
        return next((each for each in self.subscriptions if each.endpoint is endpoint), None)

    def subscribe(self, endpoint: AgentEndpoint) -> Subscription:
        """Subscribe a connection; call `begin` on the subscription when it is ready."""
        self.flush()
        subscription = Subscription(self._session_id, endpoint)
        self.subscriptions.append(subscription)
        return subscription

    def unsubscribe(self, endpoint: AgentEndpoint) -> None:
        """Send nothing more to a connection."""
        self.flush()
        self.subscriptions = [each for each in self.subscriptions if each.endpoint is not endpoint]
        endpoint.dialect.forget_session(self._session_id)

    def close(self) -> None:
        """Unsubscribe every connection."""
        self.flush()
        for subscription in list(self.subscriptions):
            self.unsubscribe(subscription.endpoint)

    def send(self, update: Update) -> bool:
        """Send an update now or within the window; returns whether there is room for more."""
        if type(update) is ToolCallChanged:
            return self._send_call(update)
        if type(update) is MessageChunk and (text := update.plain_text) is not None:
            return self.send_text(update.message, text)
        return self._delay(update, merge_key(update)) if self._window else self._post(update)

    def send_text(self, message: Message, text: str) -> bool:
        """As `send`, for plain text that was appended to a message."""
        if not self._window:
            return self._post_text(message, text)
        if message is not self._message:
            self.flush()
            self._message = message
            self._start_timer()
        self._texts.append(text)
        self._pending_size += len(text)
        if self._pending_size > _MAX_PENDING_SIZE:
            self.flush()
        return self._has_room()

    def _send_call(self, update: ToolCallChanged) -> bool:
        key = ("call", update.call.id)
        if is_final(update):
            pending = self._take_pending() if key == self._pending_key else []
            update = with_outcome(update, [each for each in pending if type(each) is ToolCallChanged])
        if not self._window:
            return self._post(update)
        return self._delay(update, key if waits_for_end(update) else None)

    def _delay(self, update: Update, key: Hashable | None) -> bool:
        if key is None or key != self._pending_key:
            self.flush()
        if key is None:
            return self._post(update)
        if not self._pending:
            self._pending_key = key
            self._start_timer()
        self._pending.append(update)
        self._pending_size += _MAX_PENDING_SIZE // 8
        if self._pending_size > _MAX_PENDING_SIZE:
            self.flush()
        return self._has_room()

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._window, self.flush)

    def _has_room(self) -> bool:
        for subscription in self.subscriptions:  # noqa: SIM110  # a generator in `all` would cost more than the rest
            if not subscription.has_room:
                return False
        return True

    def flush(self) -> None:
        """Send the updates that wait for the end of the window."""
        if self._message is not None:
            message, text = self._message, "".join(self._texts)
            self._take_pending()
            self._post_text(message, text)
        elif self._pending:
            pending = self._take_pending()
            for update in pending if type(pending[0]) is ToolCallChanged else (merge(pending),):
                self._post(update)

    def _take_pending(self) -> list[Update]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pending, self._pending = self._pending, []
        self._message, self._texts = None, []
        self._pending_key, self._pending_size = None, 0
        return pending

    def _post(self, update: Update) -> bool:
        has_room = True
        for subscription in self.subscriptions:
            has_room = subscription.send(update) and has_room
        return has_room

    def _post_text(self, message: Message, text: str) -> bool:
        has_room = True
        for subscription in self.subscriptions:
            has_room = subscription.send_text(message, text) and has_room
        return has_room

    def echo(self, update: Update, sender: AgentEndpoint, *, to_sender: bool) -> None:
        """Send a prompt to all but its sender, or to its sender only."""
        self.flush()
        for subscription in self.subscriptions:
            if (subscription.endpoint is sender) is to_sender:
                subscription.send(update)

    async def drain(self, prompter: AgentEndpoint | None) -> None:
        """Wait until there is room for more: at the connection that prompted, or at the only one.

        Other clients must not slow down the turn; one that never reads is closed by its own limit.
        """
        is_only = len(self.subscriptions) == 1
        for subscription in list(self.subscriptions):
            if is_only or subscription.endpoint is prompter:
                await subscription.drain()


def _text_chunk(message: Message, text: str) -> MessageChunk:
    content = Text(text)
    patch = MessageAppend(role=message.role, id=message.id, content=content)
    return MessageChunk(message=message, content=content, patch=patch)
