"""Running commands, in the client's terminals where it has some."""

from __future__ import annotations

import asyncio
import os
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from accord.agent.command_line import CommandResult
from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.settings.display import printable
from accord.apps.coder.tools.always_scope import AlwaysScope, covered
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.git_diff import safe_git_environment
from accord.apps.coder.tools.programs import environment, run_program
from accord.apps.coder.tools.tool import Tool, ToolResult, fenced
from accord.errors import UnusableRepository
from accord.local.git import find_working_tree
from accord.local.saved_choices import project_root
from accord.local.threads import in_thread

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

    def title(self, context: ToolContext, arguments: RunArguments) -> str:
        return arguments.command

    async def preview(self, context: ToolContext, arguments: RunArguments) -> list[ToolCallContent]:
        where = self._directory(context, arguments)
        if "\0" in arguments.command or not arguments.command.strip():
            raise ToolFailed("that is no command: it is blank, or holds a NUL character")
        if where is not None and not await in_thread(where.is_dir):
            raise ToolFailed(f"{arguments.directory} is no directory: a command can't run there")
        seen = printable(arguments.command)
        is_as_it_looks = seen == arguments.command.replace("\n", "\\n").replace("\t", "\\t")
        return [
            fenced(arguments.command, "sh")
            + ("" if is_as_it_looks else f"\nwhich holds letters that can't be seen: {seen}")
            + ("" if where is None else f"\nin {printable(context.display_path(where))}")
        ]

    def scope(self, context: ToolContext, arguments: RunArguments) -> str | None:
        return self._coverage(context, arguments).scope

    def _coverage(self, context: ToolContext, arguments: RunArguments) -> AlwaysScope:
        where = self._directory(context, arguments) or context.turn.cwd
        return covered(arguments.command, _in_project(context.turn.cwd, where), _Surroundings(context, where).is_inside)

    def _directory(self, context: ToolContext, arguments: RunArguments) -> Path | None:
        """Where it runs, if that is not the session's directory."""
        where = context.path(arguments.directory) if arguments.directory else context.turn.cwd
        return None if where == context.turn.cwd else where

    async def run(self, context: ToolContext, arguments: RunArguments, call: AgentToolCall) -> ToolResult:
        deadline = min(arguments.seconds or context.settings.command_deadline, context.settings.command_deadline)
        where = self._directory(context, arguments)
        coverage = await in_thread(partial(self._coverage, context, arguments))
        if coverage.scope != context.asked.get(call.id):
            raise ToolFailed("the files there have changed since this was allowed", "try again")
        if coverage.words is not None:
            ended = await self._look(context, coverage.words, where or context.turn.cwd, deadline, call)
        else:
            line = arguments.command if any(map(str.isspace, arguments.command)) else f"{arguments.command} "
            ended = await context.turn.run(line, cwd=where, deadline=deadline, output_limit=_KEPT, call=call)
        details = {
            "exitCode": ended.code,
            "signal": ended.signal,
            "truncated": ended.is_truncated,
            "timedOut": ended.is_timed_out,
        }
        return ToolResult(told(ended, deadline), details, is_error=not ended.succeeded)

    async def _look(
        self, context: ToolContext, words: list[str], where: Path, deadline: float, call: AgentToolCall
    ) -> CommandResult:
        """By ourselves, because only so it does no more than the user was told: without a shell, and git as for `changes`."""
        real = await in_thread(where.resolve)
        try:
            async with asyncio.timeout(deadline):
                whole = (
                    await safe_git_environment(context, real)
                    if words[0] == "git"
                    else environment(context.session.roots)
                )
                ended = await run_program(words, real, whole, deadline)
        except TimeoutError:
            raise ToolFailed(f"{words[0]} took longer than {deadline:g} seconds", "ask for less") from None
        if ended.output:
            await call.say(fenced(ended.output))
        return ended


class _Surroundings:
    """Where a command may go, by what it does."""

    def __init__(self, context: ToolContext, where: Path) -> None:
        self._context = context
        self._where = where

    def is_inside(self, what: Literal["git", "look", "test"], word: str) -> bool:
        try:
            self._context.path(str(self._where / word))
        except ToolFailed:
            return False
        if what == "test":
            return True
        roots = self._context.session.roots.directories
        if any(hidden.is_relative_to(root) for hidden in self._context.hidden for root in roots):
            return False  # it may look at all that is below a directory
        tree = self._tree if what == "git" else None
        return what == "look" or (tree is not None and Path(os.path.realpath(self._where / word)).is_relative_to(tree))

    @cached_property
    def _tree(self) -> Path | None:
        """The working tree there, if all of it is in the session's directories and git may look at it."""
        try:
            tree = find_working_tree(self._where)
            self._context.path(str(tree))
        except (ToolFailed, UnusableRepository):
            return None
        return tree


def _in_project(cwd: Path, where: Path) -> str | None:
    """A directory from the root of the project, for which choices are kept; None for the root itself."""
    real, project = Path(os.path.realpath(where)), Path(project_root(cwd))
    if real == project:
        return None
    return str(real.relative_to(project)) if real.is_relative_to(project) else str(real)


def told(ran: CommandResult, deadline: float) -> str:
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
