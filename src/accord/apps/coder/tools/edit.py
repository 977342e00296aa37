"""The tool `edit`: replaces a piece of text in a file. The diff is shown before the user is asked."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, ToolCallContent, file_diff
from accord.apps.coder.errors import AmbiguousText, ToolFailed
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult, in_code
from accord.apps.coder.tools.write import danger_of_writing

_MAX_LINES = 10
_LONGEST_NAMED = 60
_MAX_SEARCHED_LINES = 5000


class EditArguments(Struct):
    path: Annotated[str, Meta(description="The file: absolute, or relative to the working directory.")]
    old_text: Annotated[
        str, Meta(description="The text to replace, exactly as it is in the file, with enough context to be unique.")
    ]
    new_text: Annotated[str, Meta(description="The text to put in its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class EditFile(Tool[EditArguments]):
    name = "edit"
    title_format = "Edit {0.path}"
    description = "Replace a piece of text in a file. It must occur exactly once unless replace_all is set."
    kind = "edit"
    needs = "edit"

    def paths(self, context: ToolContext, arguments: EditArguments) -> list[Path]:
        return [context.path_to_change(arguments.path)]

    def danger(self, context: ToolContext, arguments: EditArguments) -> str | None:
        return danger_of_writing(context, context.path_to_change(arguments.path))

    async def preview(self, context: ToolContext, arguments: EditArguments) -> list[ToolCallContent]:
        path = context.path_to_change(arguments.path)
        text = await context.files.read(path)
        context.files.previewed.add(path, text)
        new_text, _, _ = _edit(context, path, text, arguments)
        return [file_diff(path, text, new_text)]

    async def run(self, context: ToolContext, arguments: EditArguments, call: AgentToolCall) -> ToolResult:
        path = context.path_to_change(arguments.path)
        new_text, line, count = _edit(context, path, await context.files.read(path), arguments)
        await context.files.write(path, new_text)
        await call.locate(path, line)
        told = f"Edited {arguments.path} at line {line}."
        if count > 1:
            told = f"Replaced {count} occurrences in {arguments.path}, the first at line {line}."
        return ToolResult(told, {"line": line, "count": count})


def _edit(context: ToolContext, path: Path, text: str, arguments: EditArguments) -> tuple[str, int, int]:
    """The new text of the file, the line of the first change, and how many there are."""
    context.files.check_unchanged(path, text)
    name, old, new = context.display_path(path), arguments.old_text, arguments.new_text
    if not old:
        raise ToolFailed("the text to replace is empty", "use write for a new file, or give the text before the place")
    if old == new:
        raise ToolFailed("the text to replace and the new text are the same: there is nothing to do")
    if "\r\n" in text and old not in text:  # models write \n whatever the file has
        old, new = (re.sub(r"\r?\n", "\r\n", part) for part in (old, new))
    count, named = text.count(old), _named(arguments.old_text)
    if count == 0:
        hint = _near_match(text, old)
        raise ToolFailed(
            f"{named} is not in {name}{hint}",
            "" if hint else "read the file again and copy the text exactly",
        )
    if count > 1 and not arguments.replace_all:
        raise AmbiguousText(
            f"{named} occurs {count} times in {name}, {_places(text, old)}", "add more context, or set replace_all"
        )
    return text.replace(old, new), text.count("\n", 0, text.find(old)) + 1, count


def _named(text: str) -> str:
    """The text itself where it fits into a sentence."""
    return (
        in_code(text)
        if len(text) <= _LONGEST_NAMED and text.isprintable() and text == text.strip()
        else "the text to replace"
    )


def _places(text: str, piece: str) -> str:
    lines = list(dict.fromkeys(_lines_of(text, piece)))
    more = " and later ones" if text.count(piece) > _MAX_LINES else ""
    return f"on line{'s' if len(lines) > 1 or more else ''} {', '.join(map(str, lines))}{more}"


def _lines_of(text: str, piece: str) -> list[int]:
    lines: list[int] = []
    position = text.find(piece)
    while position >= 0 and len(lines) < _MAX_LINES:
        lines.append(text.count("\n", 0, position) + 1)
        position = text.find(piece, position + len(piece))
    return lines


def _near_match(text: str, old: str) -> str:
    """A hint at the text that was probably meant; empty if there is none."""
    lines, pattern = text.splitlines(), old.strip("\n").splitlines()
    if not lines or not pattern:
        return ": the file is empty" if not lines else ""
    stripped = [line.strip() for line in pattern]
    for number in range(len(lines) - len(pattern) + 1):
        block = lines[number : number + len(pattern)]
        if [line.strip() for line in block] == stripped:
            exact = "\n".join(block)
            return f"; line {number + 1} differs only in white space at the beginning or end of lines:\n{exact}"
    longest = max(pattern, key=len).strip()
    candidates = [line.strip() for line in lines[:_MAX_SEARCHED_LINES]]
    close = difflib.get_close_matches(longest, candidates, n=1, cutoff=0.4)
    if not close:
        return ""
    number = candidates.index(close[0])
    return f"; the closest match is line {number + 1}: {lines[number]}"
