"""Programs that a tool uses to look at files: nobody sees them, and they end in bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from accord.agent.processes import start
from accord.apps.coder.failures import ToolFailed
from accord.errors import ConnectionClosed

__all__ = ["Written", "written_by"]

_KEPT = 4 * 1024 * 1024
_SECONDS = 60.0


class Written(NamedTuple):
    """What a program wrote, and how it ended; `is_cut` when the beginning of it is gone."""

    code: int | None
    text: str
    is_cut: bool


async def written_by(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, seconds: float = _SECONDS
) -> Written:
    """Run it to its end; ToolFailed when it can't be started or takes too long. It is ended with all it started."""
    try:
        running = await start(command, str(cwd), environment or {}, _KEPT)
    except ConnectionClosed as error:
        raise ToolFailed(f"{Path(command[0]).name} could not be started: {error.reason}") from None
    try:
        async with asyncio.timeout(seconds):
            async for _ in running:
                pass
    except TimeoutError:
        raise ToolFailed(f"{Path(command[0]).name} took longer than {seconds:g} seconds: ask for less") from None
    finally:
        ended = await running.end()
    return Written(ended.code, running.output, running.is_truncated)
