"""The tools `move` and `delete`. They act on a link itself, not on its target."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, ToolCallContent, file_diff
from accord.apps.coder.errors import FileMissing, ToolFailed
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult
from accord.apps.coder.tools.write import danger_of_moving
from accord.errors import RequestFailed
from accord.local.paths import Directory, ResolvedPath
from accord.local.text import printable
from accord.local.threads import in_thread


class DeleteArguments(Struct):
    path: Annotated[str, Meta(description="The file: absolute, or relative to the working directory.")]


class DeleteFile(Tool[DeleteArguments]):
    name = "delete"
    title_format = "Delete {0.path}"
    description = "Delete one file."
    kind = "delete"
    needs = "delete"

    def paths(self, context: ToolContext, arguments: DeleteArguments) -> list[Path]:
        return [context.path_to_change(arguments.path)]

    async def preview(self, context: ToolContext, arguments: DeleteArguments) -> list[ToolCallContent]:
        path = context.path_to_change(arguments.path)
        if await in_thread(path.is_dir):
            raise ToolFailed(f"{arguments.path} is a directory: only files can be deleted")
        if not await in_thread(lambda: os.path.lexists(path)):
            raise FileMissing(f"file not found: {arguments.path}")
        try:
            text = await context.files.read(path)
        except ToolFailed:
            return [f"{printable(arguments.path)} is not a text file; it is deleted permanently."]
        context.files.previewed.add(path, text)
        return [file_diff(path, text, None)]

    async def run(self, context: ToolContext, arguments: DeleteArguments, call: AgentToolCall) -> ToolResult:
        path = context.path_to_change(arguments.path)
        if path in context.files.previewed:
            context.files.check_unchanged(path, await context.files.read(path))
        await _on_disk(lambda: _remove(context, path), f"{arguments.path} can't be deleted")
        context.files.seen.forget(path)
        return ToolResult(f"Deleted {arguments.path}.")


class MoveArguments(Struct):
    source: Annotated[str, Meta(description="The file or directory to move.")]
    destination: Annotated[str, Meta(description="Its new path, where nothing may exist yet.")]


class MoveFile(Tool[MoveArguments]):
    name = "move"
    title_format = "Move {0.source} to {0.destination}"
    description = "Move or rename a file or a directory."
    kind = "move"
    needs = "edit"

    def paths(self, context: ToolContext, arguments: MoveArguments) -> tuple[Path, Path]:
        return context.path_to_change(arguments.source), context.path_to_change(arguments.destination)

    def danger(self, context: ToolContext, arguments: MoveArguments) -> str | None:
        return danger_of_moving(context, *self.paths(context, arguments))

    async def preview(self, context: ToolContext, arguments: MoveArguments) -> list[ToolCallContent]:
        source, destination = self.paths(context, arguments)
        if not await in_thread(lambda: os.path.lexists(source)):
            raise FileMissing(f"file not found: {arguments.source}")
        if await in_thread(source.resolve) in context.session.roots.directories:
            raise ToolFailed(f"{arguments.source} is one of the session's directories: it can't be moved")
        if await in_thread(lambda: os.path.lexists(destination)):
            raise ToolFailed(f"{arguments.destination} already exists: delete it first, or choose another name")
        return [f"{printable(arguments.source)} → {printable(arguments.destination)}"]

    async def run(self, context: ToolContext, arguments: MoveArguments, call: AgentToolCall) -> ToolResult:
        source, destination = self.paths(context, arguments)
        await _on_disk(lambda: _move(context, source, destination), f"{arguments.source} can't be moved")
        context.files.seen.forget(source)
        return ToolResult(f"Moved {arguments.source} to {arguments.destination}.")


@contextmanager
def _open_parent(context: ToolContext, path: Path, *, creating: bool = False) -> Generator[Directory]:
    """The directory that holds the last name of a path, opened without following a link that appeared meanwhile."""
    if path.name in ("", ".."):
        raise ToolFailed(f"{context.display_path(path)} does not end with a name")
    parent = context.session.roots.resolve(os.path.realpath(path.parent), "fs.change")
    with ResolvedPath(str(path), parent.root, (*parent.names, path.name)).parent(creating=creating) as directory:
        yield directory


def _remove(context: ToolContext, path: Path) -> None:
    with _open_parent(context, path) as directory:
        directory.remove(path.name)


def _move(context: ToolContext, source: Path, destination: Path) -> None:
    with _open_parent(context, source) as here, _open_parent(context, destination, creating=True) as there:
        if there.status(destination.name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(destination))
        here.move(source.name, there, destination.name)


async def _on_disk(call: Callable[[], None], failure: str) -> None:
    try:
        await in_thread(call)
    except OSError as error:
        raise ToolFailed(f"{failure}: {error.strerror}") from None
    except RequestFailed as error:
        raise ToolFailed(f"{failure}: {error.message}") from None
