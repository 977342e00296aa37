from __future__ import annotations

from pathlib import Path

import pytest

from accord.errors import RequestFailed
from accord.local.files import count_lines, file_lock, select_lines, write_private_file


def test_a_file_is_replaced_whole_and_is_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    write_private_file(path, b"old")
    write_private_file(path, b"new", is_durable=False)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_can_not_be_put_in_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(OSError, match="kept"):
        write_private_file(tmp_path / "kept", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_lock_is_held_by_one_at_a_time_and_waited_for_only_so_long(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock(path), pytest.raises(TimeoutError), file_lock(path, 0.0):
        raise AssertionError("held twice")
    with file_lock(path, 0.0):
        pass


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("a\rb\u2028c", 1)])
def test_a_line_ends_with_a_newline_and_with_nothing_else(text, lines):
    assert count_lines(text) == lines


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [(None, None, "é\nb\r\nc"), (2, None, "b\r\nc"), (2, 1, "b\r\n"), (None, 0, ""), (9, 1, "")],
)
def test_a_part_of_a_text_has_whole_lines(line, limit, expected):
    assert select_lines("é\nb\r\nc", line, limit) == expected


def test_a_part_that_is_too_much_is_refused():
    with pytest.raises(RequestFailed, match="more than 3 bytes"):
        select_lines("four", None, None, "/f", 3)
