"""Terminals that an agent shows: the command, the end of its output, and how it ended."""

from __future__ import annotations

from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitising import one_line
from accord.apps.console.screen.drawing.ink import Ink, Palette
from accord.apps.console.screen.drawing.output import output_lines
from accord.apps.console.screen.drawing.places import short_path
from accord.session.entities import Exit, Terminal

__all__ = ["draw_output", "draw_terminal", "exit_text"]

_MOST_BYTES = 128 * 1024


def exit_text(how: Exit, palette: Palette) -> Text:
    """How a process ended."""
    if how.signal is not None:
        return Text(f"ended by {one_line(how.signal)}", palette.bad)
    if how.code is None:
        return Text("ended", palette.muted)
    return Text(f"exit {how.code}", palette.good if how.code == 0 else palette.bad)


def draw_terminal(terminal: Terminal, ink: Ink, last: int, cwd: str = "") -> list[Strip]:
    """The command and so many of the last lines of its output."""
    palette = ink.palette
    strips: list[Strip] = []
    if terminal.command:
        head = Text.assemble(("$ ", palette.accent), (one_line(terminal.command, 500), palette.text))
        if terminal.cwd and terminal.cwd != cwd:
            head.append(f"  in {one_line(short_path(terminal.cwd, cwd))}", palette.muted)
        strips.append(ink.clipped(head))
    strips += draw_output(bytes(terminal.output[-_MOST_BYTES:]), ink, last)
    if terminal.dropped:
        strips.append(ink.strip(Text("earlier output was dropped to keep within the memory limit", palette.muted)))
    if terminal.exit is not None:
        strips.append(ink.strip(exit_text(terminal.exit, palette)))
    return strips


def draw_output(output: bytes, ink: Ink, last: int) -> list[Strip]:
    """What a program wrote, its last lines."""
    inner = ink.narrower(2)
    lines, left_out = output_lines(output.decode("utf-8", "replace"), last)
    edge = Segment("│ ", ink.palette.faint)
    strips = [ink.strip(Text(f"│ … {left_out} earlier lines", ink.palette.faint))] if left_out else []
    return strips + [
        Strip([edge, *part.apply_style(ink.palette.muted)]) for line in lines for part in inner.folded(line)
    ]
