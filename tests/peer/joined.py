"""Two peers joined in memory, and small functions to answer with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from accord.errors import MethodNotFound
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import Peer
from accord.transports import memory

Handlers = dict[str, Callable[[Any], Any]]


def receiver(handlers: Handlers, heard: list[tuple[str, Any]] | None = None) -> Any:
    """What a peer hands its messages to: handlers are coroutine functions by method, notifications are collected."""

    def receive(event: RequestReceived | NotificationReceived) -> Any:
        if isinstance(event, RequestReceived):
            incoming = event.request
            if incoming.method not in handlers:
                raise MethodNotFound(incoming.method)
            return handlers[incoming.method](msgspec.json.decode(incoming.params))
        if heard is not None:
            heard.append((event.method, msgspec.json.decode(event.params)))
        return None

    return receive


@asynccontextmanager
async def joined(
    ours: Any = None, theirs: Any = None, our_options: dict[str, Any] | None = None, their_options: Any = None
) -> AsyncIterator[tuple[Peer, Peer]]:
    """Two open peers; each side is a receiver or a dict of handlers."""
    one, two = memory.memory_pair()
    sides: list[Any] = [side if callable(side) else receiver(side or {}) for side in (ours, theirs)]
    us = Peer(one, sides[0], **(our_options or {}))
    them = Peer(two, sides[1], **(their_options or {}))
    async with us, them:
        yield us, them


def value(result: Any) -> Any:
    """A raw result as plain Python."""
    return msgspec.json.decode(result)


async def until(condition: Callable[[], Any]) -> None:
    """Let everything else run until the condition holds; the hang guard ends it if it never does."""
    while not condition():  # noqa: ASYNC110  # what is waited for has no event of its own
        await asyncio.sleep(0)
