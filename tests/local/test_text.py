from __future__ import annotations

import pytest

from accord.errors import RequestFailed
from accord.local.text import count, part_of


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("a\rb\u2028c", 1)])
def test_a_line_ends_with_a_newline_and_with_nothing_else(text, lines):
    assert count(text) == lines


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [(None, None, "é\nb\r\nc"), (2, None, "b\r\nc"), (2, 1, "b\r\n"), (None, 0, ""), (9, 1, "")],
)
def test_a_part_of_a_text_has_whole_lines(line, limit, expected):
    assert part_of("é\nb\r\nc", line, limit) == expected


def test_a_part_that_is_too_much_is_refused():
    with pytest.raises(RequestFailed, match="more than 3 bytes"):
        part_of("four", None, None, "/f", 3)
