"""Diffs: from texts and from patches, below and beside each other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as some

from accord.apps.console.screen.drawing.diffs import SIDE_BY_SIDE, diff_parts, file_heading
from accord.apps.console.screen.drawing.hunks import file_diffs, match_lines, word_changes
from accord.session.diffs import git_patch
from accord.session.entities import Diff, DiffPatch, FileChange
from tests.apps.console.screen.drawing.palettes import canvas, texts

OLD = "import os\n\n\ndef f(a):\n    return a + 1\n" + "".join(f"x{n} = {n}\n" for n in range(40)) + "end = 1\n"
NEW = OLD.replace("f(a)", "f(a, b)").replace("a + 1", "a + b").replace("end = 1", "end = 2")


def draw_diff(diff, page):
    return [strip for part in diff_parts(diff, page) for strip in part.lines(page)]


def changed(old: str | None, new: str | None, path: str = "/w/a.py") -> Diff:
    return Diff(changes=[FileChange(operation="modify", path=path, old_text=old, new_text=new)])


def test_a_diff_has_numbers_figures_and_context():
    (diff,) = file_diffs([changed(OLD, NEW)])
    assert (diff.added, diff.removed, len(diff.hunks)) == (3, 3, 2)
    lines = texts(draw_diff(diff, canvas(80)))
    assert lines[:4] == ["   1   import os", "   2", "   3", "   4 - def f(a):"]
    assert "   4 + def f(a, b):" in lines
    assert "  46 + end = 2" in lines
    assert any("⋮" in line for line in lines)


def test_a_patch_looks_like_the_texts_it_was_made_of():
    patch = DiffPatch(format="git_patch", text=git_patch("/w/a.py", OLD, NEW))
    told = Diff(changes=[FileChange(operation="modify", path="/w/a.py")], patch=patch)
    (from_patch,), (from_texts,) = file_diffs([told]), file_diffs([changed(OLD, NEW)])
    assert texts(draw_diff(from_patch, canvas(80))) == texts(draw_diff(from_texts, canvas(80)))
    assert texts(draw_diff(from_patch, canvas(150))) == texts(draw_diff(from_texts, canvas(150)))


def test_a_wide_page_has_old_and_new_beside_each_other():
    (diff,) = file_diffs([changed(OLD, NEW)])
    lines = texts(draw_diff(diff, canvas(SIDE_BY_SIDE)))
    row = next(line for line in lines if "- def f(a):" in line)
    assert "+ def f(a, b):" in row
    assert max(map(len, lines)) <= SIDE_BY_SIDE


def test_the_words_that_changed_are_marked():
    gone, come = word_changes("return a + 1", "return a + b")
    assert [("return a + 1"[start:end]) for start, end in gone] == ["1"]
    assert [("return a + b"[start:end]) for start, end in come] == ["b"]
    assert word_changes("entirely", "different words here") == ([], [])


def test_new_and_deleted_files_and_ones_without_texts_are_shown():
    (added,) = file_diffs([changed(None, "a\nb\n")])
    assert (added.added, added.removed) == (2, 0)
    (deleted,) = file_diffs([changed("a\n", None)])
    assert (deleted.added, deleted.removed) == (0, 1)
    (unknown,) = file_diffs([Diff(changes=[FileChange(operation="modify", path="/x.bin")])])
    assert "contents not shown" in texts(draw_diff(unknown, canvas()))[0]


LINES = some.lists(some.text(some.characters(codec="utf-8"), max_size=12), max_size=12).map("\n".join)


@settings(max_examples=60)
@given(LINES, LINES, some.sampled_from([20, 80, 150]))
def test_whatever_is_in_the_texts_it_is_drawn_within_the_page(old, new, width):
    for diff in file_diffs([changed(old, new)]):
        for strip in draw_diff(diff, canvas(width)):
            assert strip.cell_length <= width
            assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in strip.text)


def test_a_line_stands_beside_what_became_of_it():
    old, new = "def greet(name):\n    pass\n", "import sys\n\n\ndef greet(name: str):\n    pass\n"
    (diff,) = file_diffs([changed(old, new)])
    lines = texts(draw_diff(diff, canvas(SIDE_BY_SIDE)))
    row = next(line for line in lines if "- def greet(name):" in line)
    assert "+ def greet(name: str):" in row
    (line,) = [line for line in diff.hunks[0].lines if line.sign == "-"]
    assert line.pair == 4


FEW = some.lists(some.sampled_from(["a b", "a b c", "x", "", "x y z"]), max_size=8)


@settings(max_examples=60)
@given(FEW, FEW)
def test_lines_pair_in_their_order_and_each_once(old, new):
    pairs = match_lines(old, new)
    for side in zip(*pairs, strict=True):
        assert list(side) == sorted(set(side))
    assert all(one < len(old) and other < len(new) for one, other in pairs)


@settings(max_examples=40)
@given(FEW.map("\n".join), FEW.map("\n".join))
def test_beside_each_other_no_line_is_lost(old, new):
    for diff in file_diffs([changed(old, new)]):
        drawn = texts(draw_diff(diff, canvas(300)))
        signs = "".join(line[:150][5:6] + line[150:][5:6] for line in drawn)
        assert (signs.count("-"), signs.count("+")) == (diff.removed, diff.added)


def test_the_end_of_a_very_long_line_is_shown_or_said_to_be_missing():
    text = "".join(f"{number:04}|" for number in range(900)) + "the end"
    (diff,) = file_diffs([changed(None, f"{text}\n{'y' * 50_000}12345\n")])
    drawn = "".join(line[7:] for line in texts(draw_diff(diff, canvas(100))))
    assert text in drawn
    assert "… 5 more characters" in drawn


def test_the_operation_in_the_heading_of_a_file_does_not_look_like_its_name():
    (diff,) = file_diffs([Diff(changes=[FileChange(operation="delete", path="/w/a.py", old_text="old\n")])])
    page = canvas(80)
    styles = {text.strip(): style for text, style, _ in page.fold(file_heading(diff, "/w", page.palette))[0]}
    assert styles["a.py"] == page.palette.heading
    assert styles["delete"] == page.palette.muted
