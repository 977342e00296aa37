from __future__ import annotations

from pathlib import Path

import pytest

from accord.local.atomic_files import locked, write_whole


def test_a_file_is_replaced_whole_and_is_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    write_whole(path, b"old")
    write_whole(path, b"new", is_durable=False)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_can_not_be_put_in_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(OSError, match="kept"):
        write_whole(tmp_path / "kept", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_lock_is_held_by_one_at_a_time_and_waited_for_only_so_long(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path), pytest.raises(TimeoutError), locked(path, 0.0):
        raise AssertionError("held twice")
    with locked(path, 0.0):
        pass
