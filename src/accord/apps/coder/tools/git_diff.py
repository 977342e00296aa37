"""The tool `changes`: shows the status and diff of the git working tree.

Law: it runs no program that the repository names; `accord.local.git` says how. A repository that can't be read that way
is refused. Time is limited.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, CommandResult
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.programs import environment, run_program
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult, fenced
from accord.errors import RepositoryMissing, UnusableRepository
from accord.local.git import (
    DIFF_OPTIONS,
    FILTERS_COMMAND,
    GIT,
    INDEX_COMMAND,
    check_index,
    filter_overrides,
    find_working_tree,
    git_environment,
)
from accord.local.threads import in_thread

_TIMEOUT = 60.0
_NO_FILTERS_SET = 1
_MAX_INDEX = 64 * 1024 * 1024


class ChangesArguments(Struct):
    path: Annotated[str, Meta(description="Only changes below this path.")] = "."


class ShowChanges(Tool[ChangesArguments]):
    name = "changes"
    description = "Show what has changed in the git working tree since the last commit: the files and the diff."
    kind = "read"

    def title(self, context: ToolContext, arguments: ChangesArguments) -> str:
        return "Look at the changes" + ("" if arguments.path == "." else f" in {arguments.path}")

    def paths(self, context: ToolContext, arguments: ChangesArguments) -> list[Path]:
        return [context.path(arguments.path)]

    async def run(self, context: ToolContext, arguments: ChangesArguments, call: AgentToolCall) -> ToolResult:
        try:
            async with asyncio.timeout(_TIMEOUT):
                status, diff = await self._changes(context, context.path(arguments.path))
        except TimeoutError:
            raise ToolFailed(f"git timed out after {_TIMEOUT:g} s", "ask for less") from None
        if not status.output.strip():
            return ToolResult("", {"files": 0}, "nothing has changed since the last commit")
        await call.say(fenced(status.output))
        if diff.output:
            await call.say(fenced(diff.output, "diff"))
        header = ""
        if status.is_truncated or diff.is_truncated:
            part = "list of files" if status.is_truncated else "diff"
            header = f"the beginning of the {part} is left out: ask for a path"
            await call.say(header)
        files = {} if status.is_truncated else {"files": len(status.output.splitlines())}
        return ToolResult(f"{status.output}\n{diff.output}", files, header)

    async def _changes(self, context: ToolContext, path: Path) -> tuple[CommandResult, CommandResult]:
        """The results of `git status` and `git diff`."""
        cwd, below = await in_thread(context.turn.cwd.resolve), await in_thread(path.resolve)
        variables = {**await safe_git_environment(context, cwd), "GIT_LITERAL_PATHSPECS": "0"}
        hidden = [f":(exclude,literal){each}" for each in context.hidden if each.is_relative_to(below)]
        paths = ["--", f":(literal){below}", *hidden]
        status_command = [*GIT, "status", "--porcelain", "--ignore-submodules=dirty", *paths]
        status = _check(await run_program(status_command, cwd, variables))
        head = await run_program([*GIT, "rev-parse", "--verify", "--quiet", "HEAD"], cwd, variables)
        since = "HEAD" if head.code == 0 else "--cached"
        return status, _check(await run_program([*GIT, "diff", since, *DIFF_OPTIONS, *paths], cwd, variables))


async def safe_git_environment(context: ToolContext, cwd: Path) -> dict[str, str]:
    """All environment variables with which git may read there without asking; ToolFailed if it may not."""
    ours = environment(context.session.roots)
    try:
        tree = await in_thread(partial(find_working_tree, cwd))
        variables = git_environment(tree, ours)
        index = _check(await run_program(INDEX_COMMAND, tree, variables, max_output=_MAX_INDEX))
        await in_thread(partial(check_index, tree, index.output, is_whole=not index.is_truncated))
        filters = await run_program(FILTERS_COMMAND, cwd, variables)
        if filters.code != _NO_FILTERS_SET:
            _check(filters)
        return git_environment(tree, ours, filter_overrides(filters.output, is_whole=not filters.is_truncated))
    except RepositoryMissing as error:
        raise ToolFailed(str(error)) from None
    except UnusableRepository as error:
        raise ToolFailed(f"git can't be run here without permission: {error}", "use the run tool") from None


def _check(run: CommandResult) -> CommandResult:
    if run.code != 0:
        raise ToolFailed(f"git failed: {run.output.strip() or f'exit code {run.code}'}")
    return run
