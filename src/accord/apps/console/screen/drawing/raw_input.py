"""How what a tool is given looks. Law: nothing of it is cut."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitizer import exact, exact_line
from accord.apps.console.screen.drawing.diffs import FileDiff, Sign
from accord.apps.console.screen.drawing.incremental_text import GrowingLines
from accord.apps.console.screen.drawing.palette import Ink
from accord.apps.console.screen.drawing.parts import Frame, Part, unframed
from accord.apps.console.tool_input import ShownFile, value_text

__all__ = ["command_parts", "named_parts", "open_value", "shown_files", "text_parts"]


def shown_files(diffs: Sequence[FileDiff]) -> list[ShownFile]:
    """What the diffs show as they are drawn."""
    return [ShownFile(diff.path, _sides(diff, "-"), _sides(diff, "+"), diff.old_text, diff.new_text) for diff in diffs]


def open_value(name: str, value: Any, frame: Frame = unframed) -> list[Part]:
    """A value that the protocol leaves open, below its name."""
    if value is None:
        return []
    return [Part(frame(partial(_name, name))), *GrowingLines(_lines, frame, value_text(value)).parts]


def named_parts(name: str, text: str) -> list[Part]:
    """A text as it is, beside its name."""
    return list(GrowingLines(_lines, text=_hanging(f"{name}: ", text)).parts)


def text_parts(text: str) -> list[Part]:
    """What the agent says about it, as it wrote it: of Markdown that is drawn, not everything is seen."""
    return list(GrowingLines(_words, text=exact(text, tab="    ")).parts)


def command_parts(command: str, frame: Frame = unframed) -> list[Part]:
    """The line as it would run."""
    return list(GrowingLines(_command_lines, frame, _hanging("$ ", command)).parts)


def _hanging(sign: str, text: str) -> str:
    return sign + exact(text).replace("\n", "\n" + " " * len(sign))


def _sides(diff: FileDiff, sign: Sign) -> list[str]:
    return ["\n".join(line.text for line in hunk.lines if line.sign in (" ", sign)) for hunk in diff.hunks]


def _name(name: str, ink: Ink) -> list[Strip]:
    return ink.folded(Text(f"{exact_line(name)}:", ink.palette.muted))


def _lines(text: str, ink: Ink) -> list[Strip]:
    return [strip for line in text.split("\n") for strip in ink.folded(Text(line, ink.palette.muted))]


def _words(text: str, ink: Ink) -> list[Strip]:
    lines = [Text(line, ink.palette.text) for line in text.split("\n")]
    return [ink.strip(part) for line in lines for part in ink.exact_lines(line)]


def _command_lines(text: str, ink: Ink) -> list[Strip]:
    lines = [Text.assemble((line[:2], ink.palette.accent), line[2:]) for line in text.split("\n")]
    return [strip for line in lines for strip in ink.folded(line)]
