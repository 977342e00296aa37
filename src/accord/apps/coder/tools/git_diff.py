"""What has changed in the working tree, as git tells it.

Law: looking runs no program that the repository names; `accord.local.git` says how. What can't be looked at so is refused,
in bounded time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.command_line import CommandResult
from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.programs import environment, run_program
from accord.apps.coder.tools.tool import Tool, ToolResult, fenced
from accord.errors import UnusableRepository
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
from accord.session.entities import Location

__all__ = ["ShowChanges", "safe_git_environment"]

_SECONDS = 60.0
_NOT_ONE_IS_SET = 1
_LONGEST_INDEX = 64 * 1024 * 1024


class ChangesArguments(Struct):
    path: Annotated[str, Meta(description="Only what changed below this path.")] = "."


class ShowChanges(Tool[ChangesArguments]):
    name = "changes"
    description = "Show what has changed in the git working tree since the last commit: the files and the diff."
    kind = "read"
    arguments = ChangesArguments

    def title(self, context: ToolContext, arguments: ChangesArguments) -> str:
        return "Look at the changes" + ("" if arguments.path == "." else f" in {arguments.path}")

    def locations(self, context: ToolContext, arguments: ChangesArguments) -> Iterable[Location]:
        return [Location(path=str(context.path(arguments.path)))]

    async def run(self, context: ToolContext, arguments: ChangesArguments, call: AgentToolCall) -> ToolResult:
        try:
            async with asyncio.timeout(_SECONDS):
                status, difference = await self._changes(context, context.path(arguments.path))
        except TimeoutError:
            raise ToolFailed(f"git took longer than {_SECONDS:g} seconds", "ask for less") from None
        if not status.output.strip():
            return ToolResult("Nothing has changed since the last commit.", {"files": 0})
        shown = _shown(status)
        await call.say(fenced(shown))
        if difference.output:
            await call.say(fenced(_shown(difference), "diff"))
        files = {} if status.is_truncated else {"files": len(status.output.splitlines())}
        return ToolResult(f"{shown}\n{_shown(difference)}", files)

    async def _changes(self, context: ToolContext, path: Path) -> tuple[CommandResult, CommandResult]:
        """The files, and the diff."""
        where, below = await in_thread(context.turn.cwd.resolve), await in_thread(path.resolve)
        whole = {**await safe_git_environment(context, where), "GIT_LITERAL_PATHSPECS": "0"}
        hidden = [f":(exclude,literal){each}" for each in context.hidden if each.is_relative_to(below)]
        paths = ["--", f":(literal){below}", *hidden]
        status = [*GIT, "status", "--porcelain", "--ignore-submodules=dirty", *paths]
        listed = _succeeded(await run_program(status, where, whole))
        has_commit = (await run_program([*GIT, "rev-parse", "--verify", "--quiet", "HEAD"], where, whole)).code == 0
        since = "HEAD" if has_commit else "--cached"
        return listed, _succeeded(await run_program([*GIT, "diff", since, *DIFF_OPTIONS, *paths], where, whole))


async def safe_git_environment(context: ToolContext, where: Path) -> dict[str, str]:
    """The whole environment in which git may look there without a question; ToolFailed when there is none."""
    ours = environment(context.session.roots)
    try:
        tree = await in_thread(partial(find_working_tree, where))
        whole = git_environment(tree, ours)
        index = _succeeded(await run_program(INDEX_COMMAND, tree, whole, kept=_LONGEST_INDEX))
        await in_thread(partial(check_index, tree, index.output, is_whole=not index.is_truncated))
        listed = await run_program(FILTERS_COMMAND, where, whole)
        if listed.code != _NOT_ONE_IS_SET:
            _succeeded(listed)
        return git_environment(tree, ours, filter_overrides(listed.output, is_whole=not listed.is_truncated))
    except UnusableRepository as why:
        raise ToolFailed(f"git can't be asked here without permission: {why}", "use the run tool") from None


def _succeeded(ended: CommandResult) -> CommandResult:
    if ended.code != 0:
        raise ToolFailed(f"git says: {ended.output.strip() or ended.code}")
    return ended


def _shown(ended: CommandResult) -> str:
    return f"[the beginning is left out: ask for a path]\n{ended.output}" if ended.is_truncated else ended.output
