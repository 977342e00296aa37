"""Programs that a tool uses to look at files: nobody is asked about them. Their time and their memory are bounded.

Law: none of them comes from the session's directories, nor does any depend on where it starts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from accord.agent.processes import start
from accord.agent.ran import Ran
from accord.apps.coder.failures import ToolFailed
from accord.errors import ConnectionClosed
from accord.local.roots import Roots

__all__ = ["environment", "ran"]

_KEPT = 4 * 1024 * 1024
_SECONDS = 60.0
_MEMORY = 2 * 1024 * 1024 * 1024
_MISLEADING = ("GREP_OPTIONS", "RIPGREP_CONFIG_PATH")


def environment(roots: Roots) -> dict[str, str]:
    """Ours, without what tells programs to do more than they are asked."""
    kept = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return {**kept, "PATH": roots.search_path(os.environ.get("PATH", os.defpath))}


async def ran(
    command: Sequence[str], cwd: Path, whole: Mapping[str, str], seconds: float = _SECONDS, *, kept: int = _KEPT
) -> Ran:
    """Run it to its end, in this whole environment; ToolFailed when it can't be started or takes too long.

    It is ended with all it started. Of its output the last `kept` bytes are.
    """
    try:
        running = await start(command, str(cwd), whole, kept, memory=_MEMORY)
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
    return Ran(output=running.output, code=ended.code, signal=ended.signal, is_truncated=running.is_truncated)
