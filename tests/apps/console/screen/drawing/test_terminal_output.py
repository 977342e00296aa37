"""What programs write: colours stay, all else that they do to a terminal does not."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from accord.apps.console.screen.drawing.parts import PART_LINES
from accord.apps.console.screen.drawing.terminal_output import (
    draw_output,
    draw_terminal,
    output_lines,
    output_parts,
    split_output,
)
from accord.session.entities import Exit, Terminal
from accord.session.snapshots import SnapshotBytes
from tests.apps.console.screen.drawing.palettes import canvas, texts


def shown(text: str, start: int = 0) -> list[Any]:
    lines = split_output(text)
    return output_lines(lines, start, len(lines))


def plain(text: str) -> list[str]:
    return [line.plain for line in shown(text)]


def test_colours_become_styles():
    lines = shown("\x1b[31mred\x1b[0m and \x1b[1;38;5;12mblue\x1b[m\n")
    assert lines[0].plain == "red and blue"
    style: Any = lines[0].spans[0].style
    assert style.color.number == 1


def test_titles_cursor_movements_and_links_are_gone():
    text = "\x1b]0;owned\x07a\x1b[2Jb\x1b[10;10Hc\x1b]8;;http://evil\x1b\\d\x1b]8;;\x1b\\\x1b(0e\n"
    assert plain(text) == ["abcde"]


def test_a_sequence_that_never_ends_is_shown_harmless():
    assert plain("\x1b]0;unfinished") == ["0;unfinished"]


def test_a_progress_bar_shows_its_last_state():
    assert plain("10 %\r50 %\r100 %\r\nnext\r\n") == ["100 %", "next"]


def test_only_the_last_lines_are_shown_with_how_many_were_left_out():
    assert texts(draw_output(b"1\n2\n3\n", canvas(), 2)) == ["│ … 1 earlier lines", "│ 2", "│ 3"]


def test_a_colour_goes_on_below_where_it_was_set():
    (line,) = shown("\x1b[31mred\nstill red\n", start=1)
    assert (line.plain, line.spans[0].style.color.number) == ("still red", 1)


def test_a_long_output_is_drawn_in_parts_and_none_of_its_lines_is_lost():
    parts = list(output_parts("".join(f"line {number}\n" for number in range(1000)).encode(), 900))
    assert [len(part.lines(canvas())) for part in parts] == [1] + [PART_LINES] * (900 // PART_LINES)
    lines = [strip.text for part in parts for strip in part.lines(canvas())]
    assert lines == ["│ … 100 earlier lines", *(f"│ line {number}" for number in range(100, 1000))]


def test_a_terminal_tells_its_command_directory_and_end():
    terminal = Terminal(
        id="t", command="make\x1b[2J", cwd="/b", output=SnapshotBytes(b"caf\xc3\xa9\n"), exit=Exit(signal="SIGKILL")
    )
    assert texts(draw_terminal(terminal, canvas(), 5, "/a")) == ["$ make␛[2J  in /b", "│ café", "ended by SIGKILL"]


@given(some.text(), some.integers(20, 60))
def test_nothing_a_program_writes_reaches_the_terminal_as_it_is(text, width):
    for strip in draw_output(text.encode("utf-8", "surrogatepass"), canvas(width), 50):
        assert strip.cell_length <= width
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in strip.text)
