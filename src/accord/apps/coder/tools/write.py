"""The tool `write`: writes a whole file. The diff is shown before the user is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, ToolCallContent, file_diff
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.file_dangers import danger_of_writing
from accord.apps.coder.tools.tool import Tool, ToolResult
from accord.apps.coder.tools.tool_context import ToolContext
from accord.local.threads import in_thread

__all__ = ["WriteFile"]


class WriteArguments(Struct):
    path: Annotated[str, Meta(description="The file: absolute, or relative to the working directory.")]
    content: Annotated[str, Meta(description="The whole new content.")]


class WriteFile(Tool[WriteArguments]):
    name = "write"
    description = "Write a whole file: a new one, or one that you have read. To change a part of a file, use edit."
    kind = "edit"
    needs = "edit"
    arguments = WriteArguments

    def title(self, context: ToolContext, arguments: WriteArguments) -> str:
        return f"Write {arguments.path}"

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
