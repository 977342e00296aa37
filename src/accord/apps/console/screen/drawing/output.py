"""What a program wrote, as lines: its colours are kept, everything else that it does to a terminal is not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.ansi import AnsiDecoder
from rich.text import Text

from accord.apps.console.sanitising import without_sequences

__all__ = ["output_lines", "split_output"]

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
