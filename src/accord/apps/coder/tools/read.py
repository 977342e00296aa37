"""Looking at files: read, list."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.tool import Tool, ToolResult, fenced
from accord.local.threads import in_thread
from accord.session.entities import Location

__all__ = ["ListDirectory", "ReadFile"]

_MOST_ENTRIES = 1000
_LARGE = 8 * 1024 * 1024
_LINES_OF_LARGE = 2000


class ReadArguments(Struct):
    path: Annotated[str, Meta(description="The file, from the working directory or absolute.")]
    line: Annotated[int, Meta(description="The first line wanted, counted from 1.", ge=1)] | None = None
    limit: Annotated[int, Meta(description="How many lines are wanted.", ge=1)] | None = None


class ReadFile(Tool[ReadArguments]):
    name = "read"
    description = "Read a text file, whole or some lines of it. What the user has not saved yet is seen, too."
    kind = "read"
    arguments = ReadArguments

    def title(self, context: ToolContext, arguments: ReadArguments) -> str:
        return f"Read {arguments.path}{_range(arguments)}"

    def locations(self, context: ToolContext, arguments: ReadArguments) -> Iterable[Location]:
        return [Location(path=str(context.path(arguments.path)), line=arguments.line)]

    async def run(self, context: ToolContext, arguments: ReadArguments, call: AgentToolCall) -> ToolResult:
        path = context.path(arguments.path)
        if await in_thread(lambda: _is_large(path)) and (arguments.line or arguments.limit):
            return await self._part_of_large(context, path, arguments, call)
        text = await context.read(path)
        context.seen.note(path, text)
        lines = text.splitlines(keepends=True)
        first = (arguments.line or 1) - 1
        part = "".join(lines[first : None if arguments.limit is None else first + arguments.limit])
        if not part and first:
            raise ToolFailed(f"{arguments.path} has only {len(lines)} lines")
        await call.say(fenced(part, path.suffix.removeprefix(".")))
        if part == text:
            return ToolResult(text or "(the file is empty)", {"lines": len(lines)})
        last = first + part.count("\n") + (not part.endswith("\n"))
        return ToolResult(f"[lines {first + 1} to {last} of {len(lines)}]\n{part}", {"lines": len(lines)})

    async def _part_of_large(
        self, context: ToolContext, path: Path, arguments: ReadArguments, call: AgentToolCall
    ) -> ToolResult:
        """Lines of a file that nobody wants whole in memory; so it can't be known whether it changes later."""
        first = arguments.line or 1
        part = await context.read(path, first, arguments.limit or _LINES_OF_LARGE)
        await call.say(fenced(part, path.suffix.removeprefix(".")))
        return ToolResult(f"[{len(part.splitlines())} lines from line {first} on; the file is large]\n{part}")


def _is_large(path: Path) -> bool:
    try:
        return path.stat().st_size > _LARGE
    except OSError:
        return False


def _range(arguments: ReadArguments) -> str:
    if arguments.line is None and arguments.limit is None:
        return ""
    first = arguments.line or 1
    return f", line {first}" if arguments.limit == 1 else f", from line {first}"


class ListArguments(Struct):
    path: Annotated[str, Meta(description="The directory, from the working directory or absolute.")] = "."


class ListDirectory(Tool[ListArguments]):
    name = "list"
    description = "List what is in a directory; directories end with a slash."
    kind = "read"
    arguments = ListArguments

    def title(self, context: ToolContext, arguments: ListArguments) -> str:
        return f"List {arguments.path}"

    def locations(self, context: ToolContext, arguments: ListArguments) -> Iterable[Location]:
        return [Location(path=str(context.path(arguments.path)))]

    async def run(self, context: ToolContext, arguments: ListArguments, call: AgentToolCall) -> ToolResult:
        path = context.path(arguments.path)
        try:
            names = await in_thread(lambda: _names(path))
        except NotADirectoryError:
            raise ToolFailed(f"{arguments.path} is no directory", "use the read tool") from None
        except OSError as error:
            raise ToolFailed(f"{arguments.path} can't be listed: {error.strerror}") from None
        text = "\n".join(names[:_MOST_ENTRIES]) or "(the directory is empty)"
        if len(names) > _MOST_ENTRIES:
            text += f"\n[{len(names) - _MOST_ENTRIES} more]"
        await call.say(fenced(text))
        return ToolResult(text, {"entries": len(names)})


def _names(path: Path) -> list[str]:
    with os.scandir(path) as entries:
        found = [(entry.name, entry.is_dir()) for entry in entries]
    return [f"{name}/" if is_directory else name for name, is_directory in sorted(found)]
