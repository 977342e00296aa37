"""What has changed in the working tree, as git tells it.

Law: looking runs no program that the repository names. Its own configuration can name several: monitors, hooks, filters,
drivers of diffs, and commands that fetch what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import OpenToolCall
from accord.apps.coder.failures import ToolFailed
from accord.apps.coder.tools.programs import Written, written_by
from accord.apps.coder.tools.tool import Result, Tool, fenced
from accord.apps.coder.tools.work import Work
from accord.session.entities import Location

__all__ = ["ShowChanges"]

_GIT = ["git", "--no-pager", "--no-optional-locks"]
_PLAIN = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"]
_OFF = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null"}
_NO_FETCHING = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


class ChangesArguments(Struct):
    path: Annotated[str, Meta(description="Only what changed below this path.")] = "."


class ShowChanges(Tool[ChangesArguments]):
    name = "changes"
    description = "Show what has changed in the git working tree since the last commit: the files and the diff."
    kind = "read"
    arguments = ChangesArguments

    def title(self, work: Work, arguments: ChangesArguments) -> str:
        return "Look at the changes" + ("" if arguments.path == "." else f" in {arguments.path}")

    def locations(self, work: Work, arguments: ChangesArguments) -> Iterable[Location]:
        return [Location(path=str(work.path(arguments.path)))]

    async def run(self, work: Work, arguments: ChangesArguments, call: OpenToolCall) -> Result:
        path = str(work.path(arguments.path))
        environment = _environment({**_OFF, **await self._filters_off(work)})
        status = await self._git(work, environment, "status", "--porcelain", "--ignore-submodules=dirty", "--", path)
        if not status.strip():
            return Result("Nothing has changed since the last commit.", {"files": 0})
        has_commit = (await self._ran(work, environment, "rev-parse", "--verify", "--quiet", "HEAD")).code == 0
        since = "HEAD" if has_commit else "--cached"
        difference = await self._git(work, environment, "diff", since, *_PLAIN, "--", path)
        await call.say(fenced(status))
        if difference:
            await call.say(fenced(difference, "diff"))
        return Result(f"{status}\n{difference}", {"files": len(status.splitlines())})

    async def _filters_off(self, work: Work) -> dict[str, str]:
        """Filters that the repository itself names; those of the user's own configuration stay."""
        named = ("config", "--show-scope", "--null", "--name-only", "--get-regexp", r"^filter\.")
        words = (await self._ran(work, _environment(_OFF), *named)).text.split("\0")
        off: dict[str, str] = {}
        for scope, key in zip(words[::2], words[1::2], strict=False):
            if scope in ("local", "worktree"):
                name = key.rpartition(".")[0]
                off |= {f"{name}.clean": "", f"{name}.smudge": "", f"{name}.process": "", f"{name}.required": "false"}
        return off

    async def _git(self, work: Work, environment: Mapping[str, str], *arguments: str) -> str:
        ran = await self._ran(work, environment, *arguments)
        if ran.code != 0:
            raise ToolFailed(f"git says: {ran.text.strip() or ran.code}")
        return f"[the beginning is left out: ask for a path]\n{ran.text}" if ran.is_cut else ran.text

    async def _ran(self, work: Work, environment: Mapping[str, str], *arguments: str) -> Written:
        return await written_by([*_GIT, *arguments], work.turn.cwd, environment)


def _environment(configured: Mapping[str, str]) -> dict[str, str]:
    """Settings for one run of git, stronger than those of any file; a name may hold any letter this way."""
    environment = {**_NO_FETCHING, "GIT_CONFIG_COUNT": str(len(configured))}
    for number, (key, value) in enumerate(configured.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment
