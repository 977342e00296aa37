"""Pieces of one text that follow each other are told at once."""

from __future__ import annotations

from accord.session.content import Image, Text
from accord.session.updates import Patch, TerminalAppend, ToolCallPatch
from accord.store.journal_compaction import LONGEST, joined
from tests.session.words import piece, whole


def test_pieces_of_one_message_are_one():
    assert joined([piece("a", id="m"), piece("b", id="m"), piece("", id="m"), piece("c", id="m")]) == [
        piece("abc", id="m")
    ]


def test_output_of_one_terminal_is_one_piece_even_inside_a_character():
    assert joined([TerminalAppend(id="t", data=b"caf\xc3"), TerminalAppend(id="t", data=b"\xa9")]) == [
        TerminalAppend(id="t", data="café".encode())
    ]


def test_other_messages_roles_and_terminals_stay_apart():
    reports: list[Patch] = [
        piece("a", id="m"),
        piece("b", id="n"),
        piece("c", id=None),
        piece("d", id=None, role="thought"),
        TerminalAppend(id="t", data=b"e"),
        TerminalAppend(id="u", data=b"f"),
    ]
    assert joined(reports) == reports


def test_what_stands_between_two_pieces_keeps_them_apart():
    reports: list[Patch] = [piece("a"), ToolCallPatch(id="c"), piece("b"), whole("x"), piece("c")]
    assert joined(reports) == reports


def test_a_block_of_which_more_is_said_stays_as_it_is():
    reports: list[Patch] = [
        piece("a"),
        piece(Text("b", meta={})),
        piece("c", meta=None),
        piece(Image(data="", mime_type="image/png")),
        TerminalAppend(id="t", data=b"d", meta={"x": 1}),
        TerminalAppend(id="t", data=b"e"),
    ]
    assert joined(reports) == reports


def test_the_pieces_that_were_given_are_not_changed():
    first, second = piece("a"), piece("b")
    joined([first, second])
    assert (first, second) == (piece("a"), piece("b"))


def test_a_joined_piece_does_not_grow_without_bound():
    half = "x" * (LONGEST // 2 + 1)
    assert joined([piece(half)] * 3) == [piece(half)] * 3
    assert joined([piece("x")] * (LONGEST + 1)) == [piece("x" * LONGEST), piece("x")]


def test_what_is_no_report_passes():
    assert joined([b"packed", piece("a"), piece("b"), b"packed"]) == [b"packed", piece("ab"), b"packed"]
