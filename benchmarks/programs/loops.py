"""Runs a program on the chosen event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run"]

Result = TypeVar("Result")


def run(main: Coroutine[Any, Any, Result], *, uvloop: bool) -> Result:
    if not uvloop:
        return asyncio.run(main)
    from uvloop import new_event_loop  # noqa: PLC0415  # an extra

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
