"""Running commands, in the client's terminals where it has some."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.ran import Ran
from accord.agent.tool_calls import OpenToolCall, Shown
from accord.apps.coder.failures import ToolFailed
from accord.apps.coder.tools.covering import covered
from accord.apps.coder.tools.tool import Result, Tool, fenced
from accord.apps.coder.tools.work import Work
from accord.local.blocking import in_thread
from accord.local.choices import project_of

__all__ = ["RunCommand", "told"]

_KEPT = 10 * 1024 * 1024


class RunArguments(Struct):
    command: Annotated[str, Meta(description="A line for the shell.", min_length=1)]
    directory: Annotated[str, Meta(description="Where to run it; the working directory by default.")] | None = None
    seconds: Annotated[float, Meta(description="After how long it is killed.", gt=0)] | None = None


class RunCommand(Tool[RunArguments]):
    name = "run"
    description = (
        "Run a command to its end and see what it writes. There is nobody to type: commands that ask something hang "
        "until their time is over."
    )
    kind = "execute"
    needs = "command"
    arguments = RunArguments

    def title(self, work: Work, arguments: RunArguments) -> str:
        return f"`{arguments.command}`"

    async def preview(self, work: Work, arguments: RunArguments) -> list[Shown]:
        where = self._directory(work, arguments)
        if "\0" in arguments.command or not arguments.command.strip():
            raise ToolFailed("that is no command: it is blank, or holds a NUL character")
        if where is not None and not await in_thread(where.is_dir):
            raise ToolFailed(f"{arguments.directory} is no directory: a command can't run there")
        return [fenced(arguments.command, "sh") + ("" if where is None else f"\nin {work.shown(where)}")]

    def scope(self, work: Work, arguments: RunArguments) -> str:
        where = self._directory(work, arguments) or work.turn.cwd
        return covered(
            arguments.command, _in_project(work.turn.cwd, where), lambda word: self._is_inside(work, where, word)
        )

    def _directory(self, work: Work, arguments: RunArguments) -> Path | None:
        """Where it runs, if that is not the session's directory."""
        where = work.path(arguments.directory) if arguments.directory else work.turn.cwd
        return None if where == work.turn.cwd else where

    def _is_inside(self, work: Work, where: Path, word: str) -> bool:
        try:
            work.path(str(where / word))
        except ToolFailed:
            return False
        return True

    async def run(self, work: Work, arguments: RunArguments, call: OpenToolCall) -> Result:
        deadline = min(arguments.seconds or work.settings.command_deadline, work.settings.command_deadline)
        where = self._directory(work, arguments)
        line = arguments.command if " " in arguments.command.strip() else f"{arguments.command.strip()} "
        ran = await work.turn.run(line, cwd=where, deadline=deadline, output_limit=_KEPT, call=call)
        return Result(
            told(ran, deadline),
            {"exitCode": ran.code, "signal": ran.signal, "truncated": ran.is_truncated, "timedOut": ran.is_timed_out},
            is_error=not ran.succeeded,
        )


def _in_project(cwd: Path, where: Path) -> str | None:
    """A directory from the root of the project, for which choices are kept; None for the root itself."""
    real, project = Path(os.path.realpath(where)), Path(project_of(cwd))
    if real == project:
        return None
    return str(real.relative_to(project)) if real.is_relative_to(project) else str(real)


def told(ran: Ran, deadline: float) -> str:
    """How it ended, in words, and what it wrote."""
    if ran.is_timed_out:
        end = f"killed after {deadline:g} seconds"
    elif ran.signal is not None:
        end = f"ended by {ran.signal}"
    elif ran.code is None:
        end = "ended; how, the client did not say"
    else:
        end = f"exit code {ran.code}"
    if ran.is_truncated:
        end += "; the beginning of what it wrote is not kept"
    return f"[{end}]\n{ran.output}" if ran.output else f"[{end}, nothing written]"
