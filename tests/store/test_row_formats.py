"""What was written once can be read for ever."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from accord.errors import Malformed
from accord.session.updates import Patch, TerminalPatch, ToolCallPatch
from accord.store.row_formats import JSON, MESSAGE_PACK, packed, read_back, together
from tests.session.words import piece
from tests.store.every_report import EVERY_REPORT

WRITTEN = Path(__file__).parent / "written"


@pytest.mark.parametrize(("form", "file"), [(MESSAGE_PACK, "format_1.msgpack"), (JSON, "format_2.json")])
def test_what_an_earlier_accord_wrote_is_still_read(form: int, file: str):
    assert read_back(form, (WRITTEN / file).read_bytes()) == EVERY_REPORT


def test_every_kind_of_report_is_among_what_was_written():
    assert {type(report) for report in EVERY_REPORT} == set(Patch.__args__)


@pytest.mark.parametrize("report", EVERY_REPORT, ids=lambda report: type(report).__name__)
def test_each_report_is_read_as_it_was_written(report: Patch):
    form, encoded = packed(report)
    assert form == MESSAGE_PACK
    assert read_back(form, together(form, [encoded] * 2)) == [report] * 2


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_have_is_read_as_none(number: float):
    """Earlier versions wrote them down, and no client could be told such a session again."""
    bad = ToolCallPatch(id="c", raw_output={"mean": [1.5, number], "text": "\x7f"})
    good = TerminalPatch(id="t", output=b"\xcb\x7f\xf8\x00")
    entry = together(MESSAGE_PACK, [msgspec.msgpack.encode(bad), msgspec.msgpack.encode(good)])
    healed = ToolCallPatch(id="c", raw_output={"mean": [1.5, None], "text": "\x7f"})
    assert read_back(MESSAGE_PACK, entry) == [healed, good]


def test_a_number_beyond_64_bits_is_written_in_json():
    report = ToolCallPatch(id="c", raw_input=2**64)
    form, encoded = packed(report)
    assert form == JSON
    assert read_back(form, together(form, [encoded, encoded])) == [report, report]


@pytest.mark.parametrize("form", [0, 3, 99, -1])
def test_an_unknown_format_is_not_guessed_at(form: int):
    with pytest.raises(Malformed, match=rf"format {form} .* newer"):
        read_back(form, together(MESSAGE_PACK, []))


GOOD = together(MESSAGE_PACK, [msgspec.msgpack.encode(piece("a secret", id="m"))])


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        GOOD[:-1],
        GOOD + b"\x00",
        GOOD.replace(b"MessagePiece", b"MessageThing"),
        GOOD.replace(b"a secret", b"\xff secret"),
        b"\x91" * 100_000,
        msgspec.msgpack.encode([1, "a secret"]),
        msgspec.msgpack.encode({"report": "MessagePiece"}),
    ],
    ids=lambda entry: entry[:12].hex(),
)
def test_a_damaged_entry_is_an_error_that_quotes_nothing(entry: bytes):
    with pytest.raises(Malformed) as refused:
        read_back(MESSAGE_PACK, entry)
    assert not re.search("secret", str(refused.value))


def test_a_text_where_bytes_belong_is_an_error():
    text: object = "text"
    with pytest.raises(Malformed):
        read_back(MESSAGE_PACK, text)  # pyright: ignore[reportArgumentType]
