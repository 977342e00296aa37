"""The raw input of a tool call: commands, named texts and open values. Law: nothing is cut."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitizer import exact, exact_line
from accord.apps.console.screen.drawing.hunks import FileDiff, Sign
from accord.apps.console.screen.drawing.incremental_text import IncrementalLines
from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.drawing.parts import Margin, Part, no_margin
from accord.apps.console.tool_input import DiffTexts, value_text

__all__ = ["command_parts", "named_parts", "open_value", "shown_files", "text_parts"]


def shown_files(diffs: Sequence[FileDiff]) -> list[DiffTexts]:
    """The text that the diffs show."""
    return [DiffTexts(diff.path, _sides(diff, "-"), _sides(diff, "+"), diff.old_text, diff.new_text) for diff in diffs]


def open_value(name: str, value: Any, margin: Margin = no_margin) -> list[Part]:
    """A value of any type, below its name."""
    if value is None:
        return []
    return [Part(margin(partial(_name, name))), *IncrementalLines(_lines, margin, value_text(value)).parts]


def named_parts(name: str, text: str) -> list[Part]:
    """A text after its name, without any formatting."""
    return list(IncrementalLines(_lines, text=_hanging(f"{name}: ", text)).parts)


def text_parts(text: str) -> list[Part]:
    """A text as the agent wrote it: rendered Markdown would hide some of it."""
    return list(IncrementalLines(_words, text=exact(text, tab="    ")).parts)


def command_parts(command: str, margin: Margin = no_margin) -> list[Part]:
    """The command line as it would run."""
    return list(IncrementalLines(_command_lines, margin, _hanging("$ ", command)).parts)


def _hanging(sign: str, text: str) -> str:
    return sign + exact(text).replace("\n", "\n" + " " * len(sign))


def _sides(diff: FileDiff, sign: Sign) -> list[str]:
    return ["\n".join(line.text for line in hunk.lines if line.sign in (" ", sign)) for hunk in diff.hunks]


def _name(name: str, canvas: Canvas) -> list[Strip]:
    return canvas.fold(Text(f"{exact_line(name)}:", canvas.palette.muted))


def _lines(text: str, canvas: Canvas) -> list[Strip]:
    return [strip for line in text.split("\n") for strip in canvas.fold(Text(line, canvas.palette.muted))]


def _words(text: str, canvas: Canvas) -> list[Strip]:
    lines = [Text(line, canvas.palette.text) for line in text.split("\n")]
    return [canvas.strip(part) for line in lines for part in canvas.exact_lines(line)]


def _command_lines(text: str, canvas: Canvas) -> list[Strip]:
    lines = [Text.assemble((line[:2], canvas.palette.accent), line[2:]) for line in text.split("\n")]
    return [strip for line in lines for strip in canvas.fold(line)]
