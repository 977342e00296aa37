"""Runs the programs that tools use to look at files without asking the user. Their time and memory are limited.

Law: none of them comes from the session's directories, unless accord itself does, nor does any depend on where it starts.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from accord.agent.command_runs import start
from accord.agent.tool_calls import CommandResult
from accord.apps.coder.errors import ToolFailed
from accord.errors import ConnectionClosed
from accord.local.paths import Roots
from accord.local.processes import program_environment
from accord.transports.installation import install_command

_MAX_OUTPUT = 4 * 1024 * 1024
_TIMEOUT = 60.0
_MAX_MEMORY = 2 * 1024 * 1024 * 1024


def environment(roots: Roots) -> dict[str, str]:
    """Our environment without the variables that make programs run something or do more than they are asked."""
    return program_environment(roots, os.environ)


def installation() -> list[Path]:
    """The directories in which accord is installed: files there may be run without asking."""
    return [Path(os.path.realpath(sysconfig.get_path(name))) for name in ("data", "scripts", "purelib", "platlib")]


def ripgrep(search_path: str | None = None) -> str:
    """The program of the package `ripgrep`, otherwise the one on the PATH.

    The first may be in a session's directory, as part of accord's installation, which tools change only after asking.
    """
    of_package = Path(sysconfig.get_path("scripts")) / ("rg.exe" if os.name == "nt" else "rg")
    program = str(of_package) if of_package.is_file() else shutil.which("rg", path=search_path)
    if program is None:
        raise ToolFailed(f"command not found: rg (ripgrep). Install it, or run: {install_command('coder')}")
    return program


async def run_program(
    command: Sequence[str],
    cwd: Path,
    variables: Mapping[str, str],
    seconds: float = _TIMEOUT,
    *,
    max_output: int | None = None,
) -> CommandResult:
    """Run a program to its end, with exactly these environment variables; ToolFailed if it can't start or times out.

    It is ended with everything it started. Of its output the last `max_output` bytes are kept.
    """
    name = Path(command[0]).name
    try:
        running = await start(command, str(cwd), variables, max_output or _MAX_OUTPUT, memory=_MAX_MEMORY)
    except ConnectionClosed as error:
        raise ToolFailed(f"{name} could not be started: {error.reason}") from None
    try:
        async with asyncio.timeout(seconds):
            async for _ in running:
                pass
    except TimeoutError:
        raise ToolFailed(f"{name} timed out after {seconds:g} s", "ask for less") from None
    finally:
        ended = await running.end()
    return CommandResult(output=running.output, code=ended.code, signal=ended.signal, is_truncated=running.is_truncated)
