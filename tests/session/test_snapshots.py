"""Values that share their storage: each stays as it was."""

from __future__ import annotations

import pytest

from accord.session.snapshots import SnapshotBytes, SnapshotList


def test_items_read_like_a_list():
    items = SnapshotList("abc")
    assert items == ["a", "b", "c"] == items
    assert items == ["a", "b", "c"]
    assert items != ["a", "b"]
    assert items == ("a", "b", "c")
    assert items != "abc"
    assert (len(items), items[0], items[-1], items[1:], items[::-1]) == (3, "a", "c", ["b", "c"], ["c", "b", "a"])
    assert list(reversed(items)) == ["c", "b", "a"]
    assert "b" in items
    assert repr(items) == "['a', 'b', 'c']"
    assert not SnapshotList()


def test_items_that_are_not_there_any_more_or_not_yet_cannot_be_reached():
    older = SnapshotList("ab")
    older.plus("c")
    for index in (2, -3):
        with pytest.raises(IndexError):
            older[index]
    assert (list(older), older[-1], older[:9]) == (["a", "b"], "b", ["a", "b"])


def test_adding_to_an_older_value_leaves_the_newer_one_alone():
    older = SnapshotList("a")
    newer = older.plus("b")
    branch = older.plus("x").plus("y")
    assert (older, newer, branch) == (["a"], ["a", "b"], ["a", "x", "y"])


def test_items_do_not_change_with_the_list_they_were_made_of():
    source = ["a"]
    items = SnapshotList(source)
    source.append("b")
    assert items == ["a"]


def test_output_reads_like_bytes():
    output = SnapshotBytes(b"ab").plus(b"").plus(b"cd")
    assert output == b"abcd"
    assert output == SnapshotBytes(b"abcd")
    assert output != b"abc"
    assert output != "abcd"
    assert (len(output), output[-2:], output[1:3], output[::-1], bytes(output)) == (4, b"cd", b"bc", b"dcba", b"abcd")
    assert repr(output) == "b'abcd'"
    assert not SnapshotBytes()


def test_output_stays_as_it_was():
    older = SnapshotBytes(b"a")
    newer = older.plus(b"b")
    branch = older.plus(b"x")
    assert (bytes(older), bytes(newer), bytes(branch)) == (b"a", b"ab", b"ax")
    assert (older[-1:], older[:5]) == (b"a", b"a")


@pytest.mark.parametrize("value", [SnapshotList(), SnapshotBytes()])
def test_what_can_be_added_to_is_no_key(value: object):
    with pytest.raises(TypeError):
        hash(value)


def test_an_empty_value_holds_nothing_of_what_was_added_to_it():
    nothing, no_items = SnapshotBytes(), SnapshotList[int]()
    assert (bytes(nothing.plus(b"x")), list(no_items.plus(1))) == (b"x", [1])
    assert (len(nothing._storage), len(no_items._storage)) == (0, 0)
