"""Every asynchronous test here runs on each event loop that we support."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping

if sys.platform != "win32":
    import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    if sys.platform != "win32":
        loops["uvloop"] = uvloop.new_event_loop
    return loops
