"""Draws terminals: the command, the end of its output in colour, and its exit status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from rich.ansi import AnsiDecoder
from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import short_path
from accord.apps.console.run.output_format import describe_exit
from accord.apps.console.sanitizer import exact_line, strip_sequences
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import PART_LINES, Margin, Part, no_margin
from accord.session.entities import Exit, Terminal

_MOST_BYTES = 128 * 1024


def exit_text(status: Exit, palette: Palette) -> Text:
    """The exit status of a process."""
    is_unknown = status.signal is None and status.code is None
    style = palette.muted if is_unknown else palette.good if status.code == 0 else palette.bad
    return Text(describe_exit(status), style)


def draw_terminal(terminal: Terminal, canvas: Canvas, last: int, cwd: str = "") -> list[Strip]:
    """Draw the command and the last lines of its output."""
    return [strip for part in terminal_parts(terminal, last, cwd) for strip in part.lines(canvas)]


def draw_output(output: bytes, canvas: Canvas, last: int) -> list[Strip]:
    """Draw the last lines of a program's output."""
    return [strip for part in output_parts(output, last) for strip in part.lines(canvas)]


def terminal_parts(terminal: Terminal, last: int, cwd: str = "", margin: Margin = no_margin) -> Iterator[Part]:
    """The command, the last lines of its output, and its exit status."""
    if terminal.command:
        yield Part(margin(partial(_command, terminal, cwd)))
    yield from output_parts(bytes(terminal.output[-_MOST_BYTES:]), last, margin)
    if terminal.dropped:
        yield Part(margin(partial(_note, "earlier output was dropped to stay within the memory limit")))
    if terminal.exit is not None:
        status = terminal.exit
        yield Part(margin(lambda canvas: [canvas.strip(exit_text(status, canvas.palette))]))


def output_parts(output: bytes, last: int, margin: Margin = no_margin) -> Iterator[Part]:
    """The last lines of a program's output."""
    lines = split_output(output.decode("utf-8", "replace"))
    first = max(0, len(lines) - last)
    if first:
        yield Part(margin(partial(_omitted, first)))
    for start in range(first, len(lines), PART_LINES):
        end = min(start + PART_LINES, len(lines))
        yield Part(margin(partial(_output, lines, start, end)), end - start)


def _command(terminal: Terminal, cwd: str, canvas: Canvas) -> list[Strip]:
    palette = canvas.palette
    head = Text.assemble(("$ ", palette.accent), (exact_line(terminal.command or "", 500), palette.text))
    if terminal.cwd and terminal.cwd != cwd:
        head.append(f"  in {exact_line(short_path(terminal.cwd, cwd))}", palette.muted)
    return [canvas.clip(head)]


def _note(text: str, canvas: Canvas) -> list[Strip]:
    return [canvas.strip(Text(text, canvas.palette.muted))]


def _omitted(count: int, canvas: Canvas) -> list[Strip]:
    return [Strip([Segment("│ ", canvas.palette.faint), Segment(f"… {count} earlier lines", canvas.palette.muted)])]


def _output(lines: Sequence[str], start: int, end: int, canvas: Canvas) -> list[Strip]:
    inner, edge = canvas.narrower(2), Segment("│ ", canvas.palette.faint)
    return [
        Strip([edge, *part.apply_style(canvas.palette.muted)])
        for line in output_lines(lines, start, end)
        for part in inner.fold(line)
    ]


_COLOUR = re.compile(r"(\x1b\[[0-9;:]{0,60}m)")
LONGEST_LINE = 4000


def split_output(text: str) -> list[str]:
    """The raw lines."""
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return [] if lines == [""] else lines


def output_lines(lines: Sequence[str], start: int, end: int) -> list[Text]:
    """Some of the lines, in the colours that earlier lines have set."""
    decoder = AnsiDecoder()
    decoder.decode_line("".join(_COLOUR.findall("\n".join(lines[max(0, start - 50) : start]))[-8:]))
    return [_line(line, decoder) for line in lines[start:end]]


def _line(line: str, decoder: AnsiDecoder) -> Text:
    # A progress bar rewrites its line; the last version counts.
    last = line.rstrip("\r").rpartition("\r")[2][:LONGEST_LINE]
    parts = [
        part if index % 2 else strip_sequences(part).replace("\n", " ")
        for index, part in enumerate(_COLOUR.split(last))
    ]
    text = decoder.decode_line("".join(parts))
    text.expand_tabs(8)
    return text
