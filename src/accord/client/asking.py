"""Put a permission request to a person, through a callback that may fail, hang or not be there."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias, cast

from accord.client.choosing import ALLOWING, Policy, chosen, deny, offered, selected, sendable
from accord.peer.limited_log import LimitedLog
from accord.session.requests import PermissionAnswer, PermissionOption, RequestPermission

__all__ = ["Callback", "Verdict", "ask"]

log = logging.getLogger("accord.client")

Verdict: TypeAlias = PermissionOption | PermissionAnswer | str | bool | None
Callback: TypeAlias = Callable[[RequestPermission], Verdict | Awaitable[Verdict]]


def ask(callback: Callback, *, deadline: float | None = None) -> Policy:
    """What the callback returns: an option, its id, True (allow, once if offered), False or None (no).

    An async callback runs in the event loop and is cancelled when the deadline passes or the turn is cancelled; a plain
    function runs in a thread of its own, so it may wait for a key.
    """
    limited = LimitedLog()

    async def policy(asked: RequestPermission) -> PermissionAnswer:
        try:
            async with asyncio.timeout(deadline):
                verdict = await _called(callback, asked)
        except TimeoutError:
            limited.warning(log, "nobody has answered a permission request in time: denied")
            return await deny(asked)
        except Exception as error:  # noqa: BLE001  # whatever it is, nobody has said yes
            limited.failure(log, error, "a permission request could not be put to anybody: denied")
            return await deny(asked)
        return _answer(asked, verdict) or await deny(asked)

    return policy


def _answer(asked: RequestPermission, verdict: Verdict) -> PermissionAnswer | None:
    if verdict is True:
        return chosen(asked, *ALLOWING)
    if isinstance(verdict, PermissionAnswer):
        return sendable(asked, verdict)
    option = offered(asked, verdict.id if isinstance(verdict, PermissionOption) else cast("str | None", verdict))
    return None if option is None else selected(option)


async def _called(callback: Callback, asked: RequestPermission) -> Verdict:
    is_async = inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(type(callback).__call__)
    verdict = callback(asked) if is_async else await _in_thread(callback, asked)
    return await cast("Awaitable[Verdict]", verdict) if inspect.isawaitable(verdict) else cast("Verdict", verdict)


async def _in_thread(callback: Callback, asked: RequestPermission) -> Any:
    """Not asyncio's threads: the end of the program waits for those, and somebody may never press a key."""
    loop = asyncio.get_running_loop()
    returned: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if not returned.done():
            returned.set_result((result, error))

    def run() -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = context.run(callback, asked)
        except BaseException as error:  # noqa: BLE001  # SystemExit too: this thread is not the program
            failure = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="accord question", daemon=True).start()
    result, failure = await returned
    if failure is not None:
        raise RuntimeError("the callback failed") from failure
    return result
