"""The tool `write`: writes a whole file. The diff is shown before the user is asked.

Law: the user is always asked about changes to files that may make git or accord run other programs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, ToolCallContent, file_diff
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.programs import installation
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult
from accord.errors import UnusableRepository
from accord.local.git import is_bare_layout, nested_repository
from accord.local.text import printable
from accord.local.threads import in_thread


class WriteArguments(Struct):
    path: Annotated[str, Meta(description="The file: absolute, or relative to the working directory.")]
    content: Annotated[str, Meta(description="The whole new content.")]


class WriteFile(Tool[WriteArguments]):
    name = "write"
    title_format = "Write {0.path}"
    description = "Write a whole file: a new one, or one that you have read. To change a part of a file, use edit."
    kind = "edit"
    needs = "edit"

    def paths(self, context: ToolContext, arguments: WriteArguments) -> list[Path]:
        return [context.path_to_change(arguments.path)]

    def danger(self, context: ToolContext, arguments: WriteArguments) -> str | None:
        return danger_of_writing(context, context.path_to_change(arguments.path))

    async def preview(self, context: ToolContext, arguments: WriteArguments) -> list[ToolCallContent]:
        path = context.path_to_change(arguments.path)
        old_text = await self._old_text(context, path, is_preview=True)
        return [file_diff(path, old_text, arguments.content)]

    async def run(self, context: ToolContext, arguments: WriteArguments, call: AgentToolCall) -> ToolResult:
        path = context.path_to_change(arguments.path)
        old_text = await self._old_text(context, path)
        await context.files.write(path, arguments.content)
        return ToolResult(f"{'Created' if old_text is None else 'Wrote'} {arguments.path}.")

    async def _old_text(self, context: ToolContext, path: Path, *, is_preview: bool = False) -> str | None:
        """The text to replace, which the model must have read; None for a new file."""
        name, files = context.display_path(path), context.files
        if await in_thread(path.is_dir):
            raise ToolFailed(f"{name} is a directory")
        if not await in_thread(path.exists):
            return None
        old_text = await files.read(path)
        if is_preview:
            files.previewed.add(path, old_text)
        files.check_unchanged(path, old_text)
        if path not in files.seen:
            raise ToolFailed(f"{name} already exists, and was not read", "read it first, or use edit")
        return old_text


def danger_of_writing(context: ToolContext, path: Path) -> str | None:
    """Why writing this file is dangerous; None if it is not."""
    return _new_repository(context, path) or _change_of_installation(context, path)


def danger_of_moving(context: ToolContext, source: Path, destination: Path) -> str | None:
    """Why moving a file or directory is dangerous; None if it is not."""
    return (
        _new_repository(context, destination)
        or _moved_repository(context, source)
        or _change_of_installation(context, destination)
        or _change_of_installation(context, source)
    )


def _new_repository(context: ToolContext, path: Path) -> str | None:
    """A file there, wherever links lead, may make a directory a git repository, whose settings name programs."""
    resolved = context.resolve(str(path))
    for depth, name in enumerate(resolved.names):
        directory = resolved.root.joinpath(*resolved.names[:depth])
        if is_bare_layout(directory, name):
            return (
                f"This makes {printable(context.display_path(directory))} look like a git repository: git may run "
                "programs that files in it name."
            )
    return None


def _moved_repository(context: ToolContext, path: Path) -> str | None:
    """The same for a directory that is moved with everything in it."""
    danger = _new_repository(context, path / "HEAD")
    if danger is not None or path.is_symlink():
        return danger
    try:
        repository = nested_repository(path)
    except (OSError, UnusableRepository) as error:
        return (
            "This may move a git repository, in which files name programs; it can't be checked: "
            f"{printable(str(error))}."
        )
    if repository is None:
        return None
    name = printable(context.display_path(repository))
    return f"This moves {name}, a git repository: git may run programs that files in it name."


def _change_of_installation(context: ToolContext, path: Path) -> str | None:
    """Files that accord runs without asking."""
    real = context.resolve(str(path)).real
    for directory in installation():
        if real.is_relative_to(directory) or directory.is_relative_to(real):
            return (
                f"This changes the installation of accord in {printable(context.display_path(directory))}: files there "
                "may be run without asking."
            )
    return None
