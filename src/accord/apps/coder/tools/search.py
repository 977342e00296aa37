"""The tool `search`: searches files with ripgrep, which skips what `.gitignore` names."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import FileMissing, ToolFailed
from accord.apps.coder.tools.programs import environment, ripgrep, run_program
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult, fenced
from accord.local.paths import file_kind
from accord.local.threads import in_thread
from accord.session.entities import Location

_MAX_LOCATIONS = 20
_MAX_ENDINGS = 20
_HIT = re.compile(r"^([^\0\n]+)\0(?:(\d+):)?(.*)$")


class SearchArguments(Struct):
    pattern: Annotated[
        str, Meta(description="A regular expression in ripgrep's syntax. Without it, the names of files are listed.")
    ] = ""
    path: Annotated[str, Meta(description="The directory or file to search.")] = "."
    glob: Annotated[str, Meta(description="Only files that match this, such as *.py")] | None = None
    is_plain: Annotated[bool, Meta(description="The pattern is plain text, not a regular expression.")] = False
    ignore_case: bool = False


class _Hit(NamedTuple):
    path: Path
    line: int | None
    text: str


class SearchFiles(Tool[SearchArguments]):
    name = "search"
    description = (
        "Search the content of files, or without a pattern list all files below a directory. "
        "Files that .gitignore names are skipped."
    )
    kind = "search"

    def title(self, context: ToolContext, arguments: SearchArguments) -> str:
        what = f"for {arguments.pattern!r}" if arguments.pattern else "for files"
        where = "" if arguments.path == "." else f" in {arguments.path}"
        return f"Search {what}{where}" + (f" ({arguments.glob})" if arguments.glob else "")

    def paths(self, context: ToolContext, arguments: SearchArguments) -> list[Path]:
        return [context.path(arguments.path)]

    async def run(self, context: ToolContext, arguments: SearchArguments, call: AgentToolCall) -> ToolResult:
        path = context.path(arguments.path)
        kind = await in_thread(lambda: file_kind(path))
        if kind is None:
            raise FileMissing(f"file or directory not found: {arguments.path}")
        if kind == "other":
            raise ToolFailed(f"{arguments.path} is neither a file nor a directory")
        variables = environment(context.session.roots)
        run = await run_program(_command(path, arguments, variables["PATH"]), context.turn.cwd, variables)
        hits = _permitted(context, path, _parse(run.output, is_of_names=not arguments.pattern))
        if run.code not in (0, 1) and not hits:  # 2 comes with hits, too: when some file could not be opened
            raise ToolFailed(f"the search failed: {run.output.strip() or f'ripgrep exited with code {run.code}'}")
        if not hits:
            return ToolResult("", {"hits": 0}, "nothing found")
        if arguments.pattern:
            found = [Location(path=str(hit.path), line=hit.line) for hit in hits[:_MAX_LOCATIONS]]
            await call.update(locations=[*call.call.locations, *found])
        text = "\n".join(_display(context, hit) for hit in hits)
        header = "only the last hits; search for less, or in fewer files" if run.is_truncated else ""
        await call.say(fenced("\n".join(part for part in (header, text) if part)))
        details: dict[str, Any] = {"hits": len(hits)}
        if not arguments.pattern:  # true however much of the text is left out
            endings = Counter(hit.path.suffix.lower() for hit in hits)
            details |= {"endings": dict(endings.most_common(_MAX_ENDINGS)), "isWhole": not run.is_truncated}
        return ToolResult(text, details, header)


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


def _parse(output: str, *, is_of_names: bool) -> list[_Hit]:
    matches = [_HIT.match(line) for line in (output.replace("\0", "\0\n") if is_of_names else output).split("\n")]
    return [_Hit(Path(match[1]), int(match[2]) if match[2] else None, match[3]) for match in matches if match]


def _permitted(context: ToolContext, path: Path, hits: list[_Hit]) -> list[_Hit]:
    """Without hits in files that the model must not see, or whose path was cut off or is not valid text."""
    as_text = os.fsencode(path).decode("utf-8", "replace")
    hits = [hit for hit in hits if hit.path.is_relative_to(as_text)]
    hidden = [each for each in context.hidden if each.is_relative_to(os.path.realpath(path))]
    if not hidden:
        return hits
    valid = [hit for hit in hits if "\ufffd" not in str(hit.path)]
    return [hit for hit in valid if not any(Path(os.path.realpath(hit.path)).is_relative_to(each) for each in hidden)]


def _display(context: ToolContext, hit: _Hit) -> str:
    name = context.display_path(hit.path)
    return name if hit.line is None else f"{name}:{hit.line}:{hit.text}"
