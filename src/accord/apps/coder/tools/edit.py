"""Changing files: write, edit, delete, move. Each shows what it would do before the user is asked."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, ToolCallContent, file_change
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.settings.display import printable
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.tool import Tool, ToolResult
from accord.errors import RequestFailed
from accord.local.paths import Directory, ResolvedPath
from accord.local.threads import in_thread
from accord.session.entities import Diff, Location

__all__ = ["DeleteFile", "EditFile", "MoveFile", "WriteFile"]

_PathArgument = Annotated[str, Meta(description="The file, from the working directory or absolute.")]


class WriteArguments(Struct):
    path: _PathArgument
    content: Annotated[str, Meta(description="The whole new content.")]


class WriteFile(Tool[WriteArguments]):
    name = "write"
    description = "Write a whole file, new or in place of one that you have read. To change a part, use edit."
    kind = "edit"
    needs = "edit"
    arguments = WriteArguments

    def title(self, context: ToolContext, arguments: WriteArguments) -> str:
        return f"Write {arguments.path}"

    def locations(self, context: ToolContext, arguments: WriteArguments) -> Iterable[Location]:
        return [Location(path=str(context.path_to_change(arguments.path)))]

    def danger(self, context: ToolContext, arguments: WriteArguments) -> str | None:
        path = context.path_to_change(arguments.path)
        return context.repository_made(path) or context.installation_changed(path)

    async def preview(self, context: ToolContext, arguments: WriteArguments) -> list[ToolCallContent]:
        path = context.path_to_change(arguments.path)
        before = await self._before(context, path, is_preview=True)
        return [Diff(changes=[file_change(str(path), before, arguments.content)])]

    async def run(self, context: ToolContext, arguments: WriteArguments, call: AgentToolCall) -> ToolResult:
        path = context.path_to_change(arguments.path)
        before = await self._before(context, path)
        await context.write(path, arguments.content)
        return ToolResult(f"{'Created' if before is None else 'Wrote'} {arguments.path}.")

    async def _before(self, context: ToolContext, path: Path, *, is_preview: bool = False) -> str | None:
        if await in_thread(path.is_dir):
            raise ToolFailed(f"{context.display_path(path)} is a directory")
        if not await in_thread(path.exists):
            return None
        before = await context.read(path)
        if is_preview:
            context.previewed.note(path, before)
        context.check_unchanged(path, before)
        if not context.seen.is_known(path):
            raise ToolFailed(
                f"{context.display_path(path)} exists already, and was not read", "read it first, or use edit"
            )
        return before


class EditArguments(Struct):
    path: _PathArgument
    old_text: Annotated[
        str, Meta(description="The text to replace, exactly as it is in the file, with enough around it to be unique.")
    ]
    new_text: Annotated[str, Meta(description="What takes its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class EditFile(Tool[EditArguments]):
    name = "edit"
    description = (
        "Replace a piece of text in a file by another; it must be there exactly once unless replace_all is set."
    )
    kind = "edit"
    needs = "edit"
    arguments = EditArguments

    def title(self, context: ToolContext, arguments: EditArguments) -> str:
        return f"Edit {arguments.path}"

    def locations(self, context: ToolContext, arguments: EditArguments) -> Iterable[Location]:
        return [Location(path=str(context.path_to_change(arguments.path)))]

    def danger(self, context: ToolContext, arguments: EditArguments) -> str | None:
        path = context.path_to_change(arguments.path)
        return context.repository_made(path) or context.installation_changed(path)

    async def preview(self, context: ToolContext, arguments: EditArguments) -> list[ToolCallContent]:
        path = context.path_to_change(arguments.path)
        before = await context.read(path)
        context.previewed.note(path, before)
        after, _ = self._edited(context, path, before, arguments)
        return [Diff(changes=[file_change(str(path), before, after)])]

    async def run(self, context: ToolContext, arguments: EditArguments, call: AgentToolCall) -> ToolResult:
        path = context.path_to_change(arguments.path)
        before = await context.read(path)
        after, line = self._edited(context, path, before, arguments)
        await context.write(path, after)
        await call.locate(path, line)
        return ToolResult(f"Edited {arguments.path} at line {line}.", {"line": line})

    def _edited(self, context: ToolContext, path: Path, before: str, arguments: EditArguments) -> tuple[str, int]:
        """The file as it will be, and the line of the first change."""
        context.check_unchanged(path, before)
        name, old, new = context.display_path(path), arguments.old_text, arguments.new_text
        if not old:
            raise ToolFailed(
                "the text to replace is empty", "use write for a new file, or name the text before the place"
            )
        if old == new:
            raise ToolFailed("the text to replace and the new one are the same: there is nothing to do")
        if "\r\n" in before and old not in before:  # models write lines as they are written elsewhere
            old, new = (re.sub(r"\r?\n", "\r\n", text) for text in (old, new))
        found = before.count(old)
        if found == 0:
            hint = _nearest(before, old)
            advice = "" if hint else "read the file again and copy the text exactly"
            raise ToolFailed(f"the text to replace is not in {name}{hint}", advice)
        if found > 1 and not arguments.replace_all:
            lines = ", ".join(str(line) for line in _lines_of(before, old))
            raise ToolFailed(
                f"the text to replace is {found} times in {name} (lines {lines})",
                "add more of what is around it, or set replace_all",
            )
        return before.replace(old, new), before.count("\n", 0, before.find(old)) + 1


class DeleteArguments(Struct):
    path: _PathArgument


class DeleteFile(Tool[DeleteArguments]):
    name = "delete"
    description = "Delete one file."
    kind = "delete"
    needs = "delete"
    arguments = DeleteArguments

    def title(self, context: ToolContext, arguments: DeleteArguments) -> str:
        return f"Delete {arguments.path}"

    def locations(self, context: ToolContext, arguments: DeleteArguments) -> Iterable[Location]:
        return [Location(path=str(context.path_to_change(arguments.path)))]

    async def preview(self, context: ToolContext, arguments: DeleteArguments) -> list[ToolCallContent]:
        path = context.path_to_change(arguments.path)
        if await in_thread(path.is_dir):
            raise ToolFailed(f"{arguments.path} is a directory: only files can be deleted")
        if not await in_thread(lambda: os.path.lexists(path)):
            raise ToolFailed(f"there is no file {arguments.path}")
        try:
            before = await context.read(path)
        except ToolFailed:
            return [f"{printable(arguments.path)} is no text file; it is deleted for good."]
        context.previewed.note(path, before)
        return [Diff(changes=[file_change(str(path), before, None)])]

    async def run(self, context: ToolContext, arguments: DeleteArguments, call: AgentToolCall) -> ToolResult:
        path = context.path_to_change(arguments.path)
        if context.previewed.is_known(path):
            context.check_unchanged(path, await context.read(path))
        await _on_disk(lambda: _remove(context, path), f"{arguments.path} can't be deleted")
        context.seen.forget(path)
        return ToolResult(f"Deleted {arguments.path}.")


class MoveArguments(Struct):
    source: Annotated[str, Meta(description="The file or directory to move.")]
    destination: Annotated[str, Meta(description="Its new path; nothing may be there yet.")]


class MoveFile(Tool[MoveArguments]):
    name = "move"
    description = "Move or rename a file or a directory."
    kind = "move"
    needs = "edit"
    arguments = MoveArguments

    def title(self, context: ToolContext, arguments: MoveArguments) -> str:
        return f"Move {arguments.source} to {arguments.destination}"

    def locations(self, context: ToolContext, arguments: MoveArguments) -> Iterable[Location]:
        return [Location(path=str(context.path_to_change(path))) for path in (arguments.source, arguments.destination)]

    def danger(self, context: ToolContext, arguments: MoveArguments) -> str | None:
        source, destination = context.path_to_change(arguments.source), context.path_to_change(arguments.destination)
        made = context.repository_made(destination) or context.repository_moved(source)
        return made or context.installation_changed(destination) or context.installation_changed(source)

    async def preview(self, context: ToolContext, arguments: MoveArguments) -> list[ToolCallContent]:
        source, destination = context.path_to_change(arguments.source), context.path_to_change(arguments.destination)
        if not await in_thread(lambda: os.path.lexists(source)):
            raise ToolFailed(f"there is no {arguments.source}")
        if await in_thread(source.resolve) in context.session.roots.directories:
            raise ToolFailed(f"{arguments.source} is one of the session's directories: it can't be moved")
        if await in_thread(lambda: os.path.lexists(destination)):
            raise ToolFailed(f"{arguments.destination} is there already: delete it first, or choose another name")
        return [f"{printable(arguments.source)} → {printable(arguments.destination)}"]

    async def run(self, context: ToolContext, arguments: MoveArguments, call: AgentToolCall) -> ToolResult:
        source, destination = context.path_to_change(arguments.source), context.path_to_change(arguments.destination)
        await _on_disk(lambda: _move(context, source, destination), f"{arguments.source} can't be moved")
        context.seen.forget(source)
        return ToolResult(f"Moved {arguments.source} to {arguments.destination}.")


@contextmanager
def _held(context: ToolContext, path: Path, *, creating: bool = False) -> Generator[Directory]:
    """The directory that the last name of a path is in, reached without following a link that came meanwhile."""
    if path.name in ("", ".."):
        raise ToolFailed(f"{context.display_path(path)} does not end with a name")
    parent = context.session.roots.resolve(os.path.realpath(path.parent), "fs.change")
    with ResolvedPath(str(path), parent.root, (*parent.names, path.name)).parent(creating=creating) as directory:
        yield directory


def _remove(context: ToolContext, path: Path) -> None:
    with _held(context, path) as directory:
        directory.remove(path.name)  # a link itself, not what it leads to


def _move(context: ToolContext, source: Path, destination: Path) -> None:
    with _held(context, source) as here, _held(context, destination, creating=True) as there:
        if there.status(destination.name) is not None:
            raise FileExistsError(errno.EEXIST, "there is something already", str(destination))
        here.move(source.name, there, destination.name)


async def _on_disk(call: Callable[[], None], what: str) -> None:
    try:
        await in_thread(call)
    except OSError as error:
        raise ToolFailed(f"{what}: {error.strerror}") from None
    except RequestFailed as error:
        raise ToolFailed(f"{what}: {error.message}") from None


def _lines_of(text: str, piece: str) -> list[int]:
    lines: list[int] = []
    position = text.find(piece)
    while position >= 0 and len(lines) < 10:
        lines.append(text.count("\n", 0, position) + 1)
        position = text.find(piece, position + len(piece))
    return lines


def _nearest(text: str, wanted: str) -> str:
    """A hint at what was probably meant, empty when there is none."""
    lines, pattern = text.splitlines(), wanted.strip("\n").splitlines()
    if not lines or not pattern:
        return ": the file is empty" if not lines else ""
    stripped = [line.strip() for line in pattern]
    for number in range(len(lines) - len(pattern) + 1):
        if [line.strip() for line in lines[number : number + len(pattern)]] == stripped:
            exact = "\n".join(lines[number : number + len(pattern)])
            return f"; at line {number + 1} it is the same but for blanks at the ends of lines:\n{exact}"
    first = max(pattern, key=len).strip()
    close = difflib.get_close_matches(first, [line.strip() for line in lines[:5000]], n=1, cutoff=0.4)
    if not close:
        return ""
    number = next(number for number, line in enumerate(lines, 1) if line.strip() == close[0])
    return f"; the nearest is line {number}: {lines[number - 1]}"
