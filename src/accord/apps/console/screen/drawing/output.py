"""What a program wrote, as lines: its colours are kept, everything else that it does to a terminal is not."""

from __future__ import annotations

import re

from rich.ansi import AnsiDecoder
from rich.text import Text

from accord.apps.console.sanitising import without_sequences

__all__ = ["output_lines"]

_COLOUR = re.compile(r"(\x1b\[[0-9;:]{0,60}m)")
LONGEST_LINE = 4000


def output_lines(text: str, last: int | None = None) -> tuple[list[Text], int]:
    """The lines, or only so many of the last ones; and how many were left out."""
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    if lines == [""]:
        return [], 0
    left_out = 0 if last is None else max(0, len(lines) - last)
    decoder = AnsiDecoder()
    if left_out:  # a colour that was set above goes on
        decoder.decode_line("".join(_COLOUR.findall("\n".join(lines[max(0, left_out - 50) : left_out]))[-8:]))
    return [_line(line, decoder) for line in lines[left_out:]], left_out


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
