"""Draws terminals: the command, the end of its output with colours, and its exit status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from rich.ansi import AnsiDecoder
from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import short_path
from accord.apps.console.run.output_format import words_of_exit
from accord.apps.console.sanitizer import exact_line, without_sequences
from accord.apps.console.screen.drawing.palette import Ink, Palette
from accord.apps.console.screen.drawing.parts import PART_LINES, Frame, Part, unframed
from accord.session.entities import Exit, Terminal

__all__ = [
    "draw_output",
    "draw_terminal",
    "exit_text",
    "output_lines",
    "output_parts",
    "split_output",
    "terminal_parts",
]

_MOST_BYTES = 128 * 1024


def exit_text(how: Exit, palette: Palette) -> Text:
    """How a process ended."""
    is_unknown = how.signal is None and how.code is None
    return Text(words_of_exit(how), palette.muted if is_unknown else palette.good if how.code == 0 else palette.bad)


def draw_terminal(terminal: Terminal, ink: Ink, last: int, cwd: str = "") -> list[Strip]:
    """The command and a few of the last lines of its output."""
    return [strip for part in terminal_parts(terminal, last, cwd) for strip in part.lines(ink)]


def draw_output(output: bytes, ink: Ink, last: int) -> list[Strip]:
    """What a program wrote, a few of its last lines."""
    return [strip for part in output_parts(output, last) for strip in part.lines(ink)]


def terminal_parts(terminal: Terminal, last: int, cwd: str = "", frame: Frame = unframed) -> Iterator[Part]:
    """The command and so many of the last lines of its output."""
    if terminal.command:
        yield Part(frame(partial(_command, terminal, cwd)))
    yield from output_parts(bytes(terminal.output[-_MOST_BYTES:]), last, frame)
    if terminal.dropped:
        yield Part(frame(partial(_remark, "earlier output was dropped to keep within the memory limit")))
    if terminal.exit is not None:
        how = terminal.exit
        yield Part(frame(lambda ink: [ink.strip(exit_text(how, ink.palette))]))


def output_parts(output: bytes, last: int, frame: Frame = unframed) -> Iterator[Part]:
    """What a program wrote, its last lines."""
    lines = split_output(output.decode("utf-8", "replace"))
    first = max(0, len(lines) - last)
    if first:
        yield Part(frame(partial(_left_out, first)))
    for start in range(first, len(lines), PART_LINES):
        end = min(start + PART_LINES, len(lines))
        yield Part(frame(partial(_output, lines, start, end)), end - start)


def _command(terminal: Terminal, cwd: str, ink: Ink) -> list[Strip]:
    palette = ink.palette
    head = Text.assemble(("$ ", palette.accent), (exact_line(terminal.command or "", 500), palette.text))
    if terminal.cwd and terminal.cwd != cwd:
        head.append(f"  in {exact_line(short_path(terminal.cwd, cwd))}", palette.muted)
    return [ink.clipped(head)]


def _remark(text: str, ink: Ink) -> list[Strip]:
    return [ink.strip(Text(text, ink.palette.muted))]


def _left_out(count: int, ink: Ink) -> list[Strip]:
    return [Strip([Segment("│ ", ink.palette.faint), Segment(f"… {count} earlier lines", ink.palette.muted)])]


def _output(lines: Sequence[str], start: int, end: int, ink: Ink) -> list[Strip]:
    inner, edge = ink.narrower(2), Segment("│ ", ink.palette.faint)
    return [
        Strip([edge, *part.apply_style(ink.palette.muted)])
        for line in output_lines(lines, start, end)
        for part in inner.folded(line)
    ]


_COLOUR = re.compile(r"(\x1b\[[0-9;:]{0,60}m)")
LONGEST_LINE = 4000


def split_output(text: str) -> list[str]:
    """The lines as they were written."""
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return [] if lines == [""] else lines


def output_lines(lines: Sequence[str], start: int, end: int) -> list[Text]:
    """Some of the lines as they are shown; a colour that was set above them goes on."""
    decoder = AnsiDecoder()
    decoder.decode_line("".join(_COLOUR.findall("\n".join(lines[max(0, start - 50) : start]))[-8:]))
    return [_line(line, decoder) for line in lines[start:end]]


def _line(line: str, decoder: AnsiDecoder) -> Text:
    # A progress bar writes its line again and again; the last time counts.
    kept = line.rstrip("\r").rpartition("\r")[2][:LONGEST_LINE]
    parts = [
        part if place % 2 else without_sequences(part).replace("\n", " ")
        for place, part in enumerate(_COLOUR.split(kept))
    ]
    text = decoder.decode_line("".join(parts))
    text.expand_tabs(8)
    return text
