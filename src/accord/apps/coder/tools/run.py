"""The tool `run`: runs a command, in the client's terminal if it has one."""

from __future__ import annotations

import asyncio
import os
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, CommandResult, ToolCallContent
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.always_scope import AlwaysScope, always_scope
from accord.apps.coder.tools.git_diff import safe_git_environment
from accord.apps.coder.tools.programs import environment, run_program
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult, fenced
from accord.errors import UnusableRepository
from accord.local.git import find_working_tree
from accord.local.saved_choices import project_root
from accord.local.text import printable
from accord.local.threads import in_thread

_MAX_OUTPUT = 10 * 1024 * 1024


class RunArguments(Struct):
    command: Annotated[str, Meta(description="A command line for the shell.", min_length=1)]
    directory: Annotated[str, Meta(description="Where to run it; default: the working directory.")] | None = None
    seconds: Annotated[float, Meta(description="Kill it after this time.", gt=0)] | None = None


class RunCommand(Tool[RunArguments]):
    name = "run"
    title_format = "{0.command}"
    description = (
        "Run a command to its end and return its output. Nobody can type input: a command that asks for some hangs until "
        "it is killed."
    )
    kind = "execute"
    needs = "command"

    async def preview(self, context: ToolContext, arguments: RunArguments) -> list[ToolCallContent]:
        command, directory = arguments.command, self._directory(context, arguments)
        if "\0" in command or not command.strip():
            raise ToolFailed("invalid command: it is blank, or contains a NUL character")
        if directory is not None and not await in_thread(directory.is_dir):
            raise ToolFailed(f"{arguments.directory} is not a directory: a command can't run there")
        visible = printable(command)
        is_as_it_looks = visible == command.replace("\n", "\\n").replace("\t", "\\t")
        return [
            fenced(command, "sh")
            + ("" if is_as_it_looks else f"\nwhich contains invisible characters: {visible}")
            + ("" if directory is None else f"\nin {printable(context.display_path(directory))}")
        ]

    def scope(self, context: ToolContext, arguments: RunArguments) -> str | None:
        return self._always_scope(context, arguments).scope

    def _always_scope(self, context: ToolContext, arguments: RunArguments) -> AlwaysScope:
        directory = self._directory(context, arguments) or context.turn.cwd
        in_project = _path_in_project(context.turn.cwd, directory)
        return always_scope(arguments.command, in_project, _Boundaries(context, directory).is_inside)

    def _directory(self, context: ToolContext, arguments: RunArguments) -> Path | None:
        """Where it runs, unless that is the session's directory."""
        directory = context.path(arguments.directory) if arguments.directory else context.turn.cwd
        return None if directory == context.turn.cwd else directory

    async def run(self, context: ToolContext, arguments: RunArguments, call: AgentToolCall) -> ToolResult:
        deadline = min(arguments.seconds or context.settings.command_deadline, context.settings.command_deadline)
        directory = self._directory(context, arguments)
        always = await in_thread(partial(self._always_scope, context, arguments))
        if always.scope != context.approved_scopes.get(call.id):
            raise ToolFailed("the files there have changed since this was allowed", "try again")
        if always.words is not None:
            run = await self._run_reader(context, always.words, directory or context.turn.cwd, deadline, call)
        else:
            line = arguments.command if any(map(str.isspace, arguments.command)) else f"{arguments.command} "
            run = await context.turn.run(line, cwd=directory, deadline=deadline, output_limit=_MAX_OUTPUT, call=call)
        details = {
            "exitCode": run.code,
            "signal": run.signal,
            "truncated": run.is_truncated,
            "timedOut": run.is_timed_out,
        }
        return ToolResult(run.output, details, describe_exit(run, deadline), is_error=not run.succeeded)

    async def _run_reader(
        self, context: ToolContext, words: list[str], directory: Path, deadline: float, call: AgentToolCall
    ) -> CommandResult:
        """Run a program that only reads ourselves, so that it does no more than the user was told.

        Without a shell, and git as for `changes`.
        """
        real = await in_thread(directory.resolve)
        try:
            async with asyncio.timeout(deadline):
                is_git = words[0] == "git"
                variables = await safe_git_environment(context, real) if is_git else environment(context.session.roots)
                run = await run_program(words, real, variables, deadline)
        except TimeoutError:
            raise ToolFailed(f"{words[0]} timed out after {deadline:g} s", "ask for less") from None
        if run.output:
            await call.say(fenced(run.output))
        return run


class _Boundaries:
    """The paths that a command may use, by the kind of its program."""

    def __init__(self, context: ToolContext, directory: Path) -> None:
        self._context = context
        self._directory = directory

    def is_inside(self, kind: Literal["git", "read", "test"], word: str) -> bool:
        try:
            self._context.path(str(self._directory / word))
        except ToolFailed:
            return False
        if kind == "test":
            return True
        roots = self._context.session.roots.directories
        if any(hidden.is_relative_to(root) for hidden in self._context.hidden for root in roots):
            return False  # it may read everything below a directory
        if kind == "read":
            return True
        tree = self._tree
        return tree is not None and Path(os.path.realpath(self._directory / word)).is_relative_to(tree)

    @cached_property
    def _tree(self) -> Path | None:
        """The working tree there, if all of it is in the session's directories and git may read it."""
        try:
            tree = find_working_tree(self._directory)
            self._context.path(str(tree))
        except (ToolFailed, UnusableRepository):
            return None
        return tree


def _path_in_project(cwd: Path, directory: Path) -> str | None:
    """A directory relative to the root of the project, for which answers are saved; None for the root itself."""
    real, project = Path(os.path.realpath(directory)), Path(project_root(cwd))
    if real == project:
        return None
    return str(real.relative_to(project)) if real.is_relative_to(project) else str(real)


def describe_exit(run: CommandResult, deadline: float) -> str:
    """How a command ended, in words."""
    if run.is_timed_out:
        end = f"killed: timed out after {deadline:g} s"
    elif run.signal is not None:
        end = f"killed by {run.signal}"
    elif run.code is None:
        end = "exited; the client did not report the exit code"
    else:
        end = f"exit code {run.code}"
    if run.is_truncated:
        end += "; the beginning of the output is left out"
    return end if run.output else f"{end}, no output"
