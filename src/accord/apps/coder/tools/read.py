"""The tools `read` and `list`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import FileMissing, ToolFailed
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult, fenced
from accord.local.threads import in_thread
from accord.session.entities import Location

_MAX_ENTRIES = 1000
_LARGE_FILE = 8 * 1024 * 1024
_DEFAULT_LIMIT_OF_LARGE = 2000


class ReadArguments(Struct):
    path: Annotated[str, Meta(description="The file: absolute, or relative to the working directory.")]
    line: Annotated[int, Meta(description="The first line to read, counted from 1.", ge=1)] | None = None
    limit: Annotated[int, Meta(description="How many lines to read.", ge=1)] | None = None


class ReadFile(Tool[ReadArguments]):
    name = "read"
    description = "Read a text file, or some lines of it. Includes the user's unsaved changes."
    kind = "read"

    def title(self, context: ToolContext, arguments: ReadArguments) -> str:
        return f"Read {arguments.path}{_range(arguments)}"

    def locations(self, context: ToolContext, arguments: ReadArguments) -> list[Location]:
        return [Location(path=str(context.path(arguments.path)), line=arguments.line)]

    async def run(self, context: ToolContext, arguments: ReadArguments, call: AgentToolCall) -> ToolResult:
        path, first = context.path(arguments.path), arguments.line or 1
        if (arguments.line or arguments.limit) and await in_thread(lambda: _is_large(path)):
            return await self._read_large(context, path, first, arguments.limit or _DEFAULT_LIMIT_OF_LARGE, call)
        text = await context.files.read(path)
        context.files.seen.add(path, text)
        lines = text.splitlines(keepends=True)
        part = "".join(lines[first - 1 : None if arguments.limit is None else first - 1 + arguments.limit])
        if not part and first > 1:
            raise ToolFailed(f"{arguments.path} has only {len(lines)} lines")
        await call.say(fenced(part, path.suffix.removeprefix(".")))
        last = first - 1 + part.count("\n") + (not part.endswith("\n"))
        header = f"lines {first} to {last} of {len(lines)}" if part != text else "" if text else "the file is empty"
        return ToolResult(part, {"lines": len(lines)}, header)

    async def _read_large(
        self, context: ToolContext, path: Path, first: int, limit: int, call: AgentToolCall
    ) -> ToolResult:
        """Lines of a file that is too large for memory; so it can't be known whether it changes later."""
        part = await context.files.read(path, first, limit)
        await call.say(fenced(part, path.suffix.removeprefix(".")))
        return ToolResult(part, header=f"{len(part.splitlines())} lines from line {first} on; the file is large")


def _is_large(path: Path) -> bool:
    try:
        return path.stat().st_size > _LARGE_FILE
    except OSError:
        return False


def _range(arguments: ReadArguments) -> str:
    if arguments.line is None and arguments.limit is None:
        return ""
    first = arguments.line or 1
    return f", line {first}" if arguments.limit == 1 else f", from line {first}"


class ListArguments(Struct):
    path: Annotated[str, Meta(description="The directory: absolute, or relative to the working directory.")] = "."


class ListDirectory(Tool[ListArguments]):
    name = "list"
    title_format = "List {0.path}"
    description = "List a directory. The names of directories end with a slash."
    kind = "read"

    def paths(self, context: ToolContext, arguments: ListArguments) -> list[Path]:
        return [context.path(arguments.path)]

    async def run(self, context: ToolContext, arguments: ListArguments, call: AgentToolCall) -> ToolResult:
        path = context.path(arguments.path)
        try:
            names = await in_thread(lambda: _names(path))
        except FileNotFoundError:
            raise FileMissing(f"directory not found: {arguments.path}") from None
        except NotADirectoryError:
            raise ToolFailed(f"{arguments.path} is not a directory", "use the read tool") from None
        except OSError as error:
            raise ToolFailed(f"{arguments.path} can't be listed: {error.strerror}") from None
        header = "" if names else "the directory is empty"
        if len(names) > _MAX_ENTRIES:
            header = f"the first {_MAX_ENTRIES} of {len(names)} entries"
        text = "\n".join(names[:_MAX_ENTRIES])
        await call.say(fenced("\n".join(part for part in (text, header) if part)))
        return ToolResult(text, {"entries": len(names)}, header)


def _names(path: Path) -> list[str]:
    with os.scandir(path) as entries:
        return [
            f"{name}/" if is_directory else name for name, is_directory in sorted((e.name, e.is_dir()) for e in entries)
        ]
