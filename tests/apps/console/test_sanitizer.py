from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.apps.console.sanitizer import Cleaner, encodable, escape_json, one_line, strip_sequences, visible

HOSTILE = st.text(st.sampled_from("ab\n\t\r\x00\x07\x08\x0b\x1b[]0;31mH\\\x7f\x85\x9b\x9d\u202e\u2066\u2028é"))
FORBIDDEN = {
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
}


@given(HOSTILE)
def test_nothing_that_a_terminal_obeys_comes_out(text):
    assert not (set(visible(text)) & FORBIDDEN) - {"\n", "\t"}
    assert not (set(strip_sequences(text)) & FORBIDDEN) - {"\n", "\t"}
    assert not set(one_line(text)) & (FORBIDDEN | {"\u2028", "\u2029"})


@given(HOSTILE, st.lists(st.integers(0, 60)))
def test_a_text_in_pieces_becomes_what_the_whole_of_it_becomes(text, cuts):
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    cleaner = Cleaner()
    pieces = [cleaner.clean(text[begin:end]) for begin, end in pairwise(places)]
    assert "".join(pieces) + cleaner.finish() == visible(text)


@given(HOSTILE)
def test_escaped_json_says_the_same(text):
    line = escape_json(json.dumps(text, ensure_ascii=False).encode())
    assert json.loads(line) == text
    assert not set(line.decode()) & FORBIDDEN
    assert line.decode().splitlines() == [line.decode()]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;I own your title\x07", "␛]0;I own your title␇"),
        ("\x1b[2J\x1b[1;1H", "␛[2J␛[1;1H"),
        ("rm -rf /\rls", "rm -rf /␍ls"),
        ("over\x08\x08\x08\x08safe", "over␈␈␈␈safe"),
        ("\x9b31mred", "<U+009B>31mred"),
        ("abc\u202etxt.exe", "abc<U+202E>txt.exe"),
        ("one\r\ntwo\tthree\n", "one\ntwo\tthree\n"),
        ("\x7f", "␡"),
        ("naïve 日本 👍🏽", "naïve 日本 👍🏽"),
    ],
)
def test_control_characters_become_signs(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]8;;http://x\x1b\\red\x1b]8;;\x1b\\",
        "\x1b]0;title\x07red",
        "\x9b1mred",
        "\x1bPq#0\x1b\\red",
    ],
)
def test_the_output_of_a_program_loses_its_colours(text):
    assert strip_sequences(text) == "red"


def test_a_title_is_one_line_and_not_too_long():
    assert one_line("  Write\n\n a.py\u2028now ") == "Write a.py now"
    assert one_line("x" * 500, 10) == "xxxxxxxxx…"


def test_half_a_character_from_the_system_becomes_a_sign():
    assert encodable("a\ud800b\udcffc\udfffd") == "a\ufffdb\ufffdc\ufffdd"
    assert encodable("gr\udcc3\udcb6\udcc3\udc9fe") == "größe"
