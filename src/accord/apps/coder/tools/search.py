"""Searching the files with ripgrep, which knows what `.gitignore` leaves out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.programs import environment, ripgrep, run_program
from accord.apps.coder.tools.tool import Tool, ToolResult, fenced
from accord.local.paths import file_kind
from accord.local.threads import in_thread
from accord.session.entities import Location

__all__ = ["SearchFiles"]

_FOLLOWED = 20
_HIT = re.compile(r"^([^\0\n]+)\0(?:(\d+):)?(.*)$")


class SearchArguments(Struct):
    pattern: Annotated[
        str, Meta(description="A regular expression as ripgrep has them; left out, the files themselves are listed.")
    ] = ""
    path: Annotated[str, Meta(description="The directory or file to search.")] = "."
    glob: Annotated[str, Meta(description="Only files like this, such as *.py")] | None = None
    is_plain: Annotated[bool, Meta(description="The pattern is text, not a regular expression.")] = False
    ignore_case: bool = False


class _Hit(NamedTuple):
    path: Path
    line: int | None
    text: str


class SearchFiles(Tool[SearchArguments]):
    name = "search"
    description = (
        "Search the content of files, or without a pattern list the files below a directory; "
        "what .gitignore names is left out."
    )
    kind = "search"
    arguments = SearchArguments

    def title(self, context: ToolContext, arguments: SearchArguments) -> str:
        what = f"for {arguments.pattern!r}" if arguments.pattern else "for files"
        where = "" if arguments.path == "." else f" in {arguments.path}"
        return f"Search {what}{where}" + (f" ({arguments.glob})" if arguments.glob else "")

    def locations(self, context: ToolContext, arguments: SearchArguments) -> Iterable[Location]:
        return [Location(path=str(context.path(arguments.path)))]

    async def run(self, context: ToolContext, arguments: SearchArguments, call: AgentToolCall) -> ToolResult:
        path = context.path(arguments.path)
        if await in_thread(lambda: file_kind(path)) not in ("directory", "file"):
            raise ToolFailed(f"there is no file and no directory {arguments.path}: nothing can be searched there")
        whole = environment(context.session.roots)
        ended = await run_program(_command(path, arguments, whole["PATH"]), context.turn.cwd, whole)
        hits = _allowed(context, path, _hits(ended.output, is_of_names=not arguments.pattern))
        if ended.code not in (0, 1) and not hits:  # 2 comes with hits, too: when some file could not be opened
            raise ToolFailed(f"the search failed: {ended.output.strip() or f'ripgrep ended with {ended.code}'}")
        if not hits:
            return ToolResult("Nothing was found.", {"hits": 0})
        for hit in hits[:_FOLLOWED] if arguments.pattern else ():
            await call.locate(hit.path, hit.line)
        found = "\n".join(_told(context, hit) for hit in hits)
        if ended.is_truncated:
            found = f"[only the last hits are here: search for less, or in fewer files]\n{found}"
        await call.say(fenced(found))
        return ToolResult(found, {"hits": len(hits)})


def _command(path: Path, arguments: SearchArguments, search_path: str) -> list[str]:
    command = [ripgrep(search_path), "--no-config", "--no-messages", "--null", "--color=never", "--sort=path"]
    if arguments.pattern:
        command += ["--line-number", "--with-filename", "--no-heading", "--max-columns=400", "--max-columns-preview"]
        command.append(f"--regexp={arguments.pattern}")
    else:
        command.append("--files")
    if arguments.is_plain:
        command.append("--fixed-strings")
    if arguments.ignore_case:
        command.append("--ignore-case")
    if arguments.glob:
        command.append(f"--glob={arguments.glob}")
    return [*command, "--", str(path)]


def _hits(output: str, *, is_of_names: bool) -> list[_Hit]:
    found = [_HIT.match(line) for line in (output.replace("\0", "\0\n") if is_of_names else output).split("\n")]
    return [_Hit(Path(hit[1]), int(hit[2]) if hit[2] else None, hit[3]) for hit in found if hit is not None]


def _allowed(context: ToolContext, path: Path, hits: list[_Hit]) -> list[_Hit]:
    """Without those in files that the model must not see, and without one whose path was cut off or can't be told."""
    as_told = os.fsencode(path).decode("utf-8", "replace")
    hits = [hit for hit in hits if hit.path.is_relative_to(as_told)]
    hidden = [each for each in context.hidden if each.is_relative_to(os.path.realpath(path))]
    if not hidden:
        return hits
    told = [hit for hit in hits if "\ufffd" not in str(hit.path)]
    return [hit for hit in told if not any(Path(os.path.realpath(hit.path)).is_relative_to(each) for each in hidden)]


def _told(context: ToolContext, hit: _Hit) -> str:
    name = context.display_path(hit.path)
    return name if hit.line is None else f"{name}:{hit.line}:{hit.text}"
