from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.transports.output_tail import OutputTail


def tail(limit: int, *pieces: bytes) -> OutputTail:
    kept = OutputTail(limit)
    for piece in pieces:
        kept.add(piece)
    return kept


def test_what_fits_is_kept_whole():
    kept = tail(5, b"ab", b"cde")
    assert (kept.text, kept.is_truncated) == ("abcde", False)


@pytest.mark.requirement("TERM-10")
def test_past_the_limit_the_beginning_goes():
    kept = tail(5, b"abc", b"defg")
    assert (kept.text, kept.is_truncated, len(kept)) == ("cdefg", True, 5)


@pytest.mark.requirement("TERM-11", "AMB-63")
def test_a_cut_never_falls_into_a_character():
    assert tail(5, "aé€😀".encode()).text == "😀"
    assert tail(7, "aé€😀".encode()).text == "€😀"
    assert tail(3, "😀".encode()).text == ""


@pytest.mark.requirement("AMB-63")
def test_a_limit_of_nothing_keeps_nothing_and_says_so():
    assert not tail(0).is_truncated
    kept = tail(0, b"a")
    assert (kept.text, kept.is_truncated) == ("", True)


@pytest.mark.requirement("AMB-63")
def test_bytes_that_are_no_text_become_replacement_characters():
    assert tail(100, b"a\xff\xfeb\xc3").text == "a\ufffd\ufffdb"


def test_a_character_cut_in_two_pieces_appears_when_it_is_complete():
    kept = tail(100, b"caf\xc3")
    assert kept.text == "caf"
    kept.add(b"\xa9!")
    assert kept.text == "café!"


def test_a_character_that_is_never_completed_is_replaced_at_the_end():
    kept = tail(100, b"caf\xc3")
    kept.finish()
    assert kept.text == "caf\ufffd"


def test_what_is_dropped_counts_as_cut():
    kept = tail(100, b"abc")
    kept.drop()
    kept.add(b"def")
    assert (kept.text, kept.is_truncated, len(kept)) == ("", True, 0)


@pytest.mark.requirement("TERM-10", "TERM-11", "AMB-63")
@given(st.lists(st.one_of(st.binary(max_size=8), st.text(max_size=8).map(str.encode)), max_size=8), st.integers(0, 20))
def test_however_it_is_cut_into_pieces_the_longest_whole_end_is_kept(pieces: list[bytes], limit: int):
    kept = tail(limit, *pieces)
    kept.finish()
    everything = b"".join(pieces).decode(errors="replace")
    ends = [everything[start:] for start in range(len(everything) + 1)]
    assert kept.text == next(end for end in ends if len(end.encode()) <= limit)
    assert kept.is_truncated == (kept.text != everything)
