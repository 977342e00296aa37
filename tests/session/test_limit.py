"""The transcript's byte limit: what goes, in which order, and what is left of it."""

from __future__ import annotations

from typing import Any

import pytest

from accord.session import Compaction, Image, Location, Plan, PlanEntry, Text, Transcript
from accord.session.updates import (
    CompactionPatch,
    MessagePiece,
    PlanReport,
    TerminalPatch,
    TerminalPiece,
    ToolCallPatch,
    UnknownReport,
)
from accord.session.weight import LINE, PIECE, weigh, weigh_detail, weigh_text
from tests.session.words import apply_all, item, patch, piece, tool_piece, whole


def test_the_message_left_alone_for_longest_goes_first():
    transcript = Transcript(byte_limit=1000)
    apply_all(
        transcript, piece("a" * 300, id="a"), piece("b" * 300, id="b"), piece("a", id="a"), piece("c" * 300, id="c")
    )
    kept = {id: (len(message.text), message.dropped) for (_, id), message in transcript.messages.items()}
    assert kept == {"a": (301, False), "b": (0, True), "c": (300, False)}
    assert len(transcript.timeline) == 3


def test_what_is_changing_goes_only_when_nothing_else_is_left():
    transcript = Transcript(byte_limit=1000)
    apply_all(transcript, piece("a" * 100, id="a"), *(piece("b" * 100, id="b") for _ in range(9)))
    assert [len(message.text) for message in transcript.messages.values()] == [0, 900]
    (change,) = apply_all(transcript, piece("c" * 100, id="b"))
    message = transcript.messages["agent", "b"]
    assert change.text == "c" * 100
    assert (message.text, message.dropped) == ("", True)
    transcript.apply(piece("d", id="b"))
    assert (message.text, message.dropped) == ("d", True)


def test_a_dropped_message_that_is_told_whole_again_is_whole():
    transcript = Transcript(byte_limit=500)
    apply_all(transcript, piece("a" * 400, id="a"), piece("b" * 400, id="b"))
    assert transcript.messages["agent", "a"].dropped
    transcript.apply(whole("short", id="a"))
    assert not transcript.messages["agent", "a"].dropped


def test_a_tool_call_loses_its_content_and_raw_fields_and_keeps_the_rest():
    transcript = Transcript(byte_limit=1000)
    call = ToolCallPatch(id="c", title="Read", status="completed", raw_input={"a": 1}, raw_output="x" * 500)
    change = apply_all(transcript, call, tool_piece("y" * 300), piece("z" * 500))[1]
    left = transcript.tool_calls["c"]
    assert (left.title, left.status, left.dropped) == ("Read", "completed", True)
    assert (len(left.content), left.raw_input, left.raw_output) == (0, None, None)
    assert not change.call.dropped
    assert len(change.call.content) == 1


def test_a_terminal_loses_its_output():
    transcript = Transcript(byte_limit=1000)
    apply_all(
        transcript, TerminalPatch(id="t", command="make"), TerminalPiece(id="t", data=b"x" * 900), piece("y" * 500)
    )
    terminal = transcript.terminals["t"]
    assert (terminal.command, len(terminal.output), terminal.dropped) == ("make", 0, True)
    transcript.apply(TerminalPatch(id="t", output=b"again"))
    assert (terminal.dropped, transcript.terminals["t"].dropped) == (True, False)


def test_plans_compactions_and_unknown_updates_are_dropped_too():
    transcript = Transcript(byte_limit=1000)
    apply_all(
        transcript,
        PlanReport(plan=Plan(id="p", entries=[PlanEntry(content="x" * 400)])),
        CompactionPatch(id="k", status="completed", summary=[Text("x" * 300)]),
        UnknownReport(tag="_x", raw={"text": "x" * 100}),
        piece("y" * 900),
    )
    assert transcript.plans == {"p": Plan(id="p", dropped=True)}
    assert transcript.compactions == {"k": Compaction(id="k", status="completed", dropped=True)}
    assert [type(place).__name__ for place in transcript.timeline] == ["Plan", "Compaction", "Message"]


def test_replacing_content_gives_back_what_it_weighed():
    transcript = Transcript(byte_limit=2000)
    for _ in range(50):
        apply_all(transcript, whole("a" * 500), ToolCallPatch(id="c", content=[item("b" * 500)], raw_output="c" * 200))
        transcript.apply(TerminalPatch(id="t", output=b"d" * 300))
    assert not transcript.messages["agent", "m"].dropped
    assert not transcript.tool_calls["c"].dropped
    assert not transcript.terminals["t"].dropped


def test_a_limit_of_nothing_keeps_nothing():
    transcript = Transcript(byte_limit=0)
    apply_all(transcript, piece("a"), tool_piece("b"), TerminalPiece(id="t", data=b"c"))
    assert [message.text for message in transcript.messages.values()] == [""]
    assert (len(transcript.tool_calls["c"].content), len(transcript.terminals["t"].output)) == (0, 0)


def test_a_value_that_was_changed_behind_its_back_does_not_hold_the_limit_up():
    transcript = Transcript(byte_limit=1000)
    raw: dict[str, Any] = {"text": "x" * 900}
    transcript.apply(ToolCallPatch(id="c", raw_input=raw))
    raw.clear()
    apply_all(transcript, piece("y" * 500, id="a"), piece("z" * 500, id="b"))
    assert transcript.messages["agent", "b"].dropped


@pytest.mark.parametrize(
    ("value", "weight"),
    [(None, 0), ([], 0), ("", 1), ([1, 2], 3), ({"a": "b"}, 5), (True, 1)],
)
def test_json_weighs_about_what_it_is_on_the_wire(value: object, weight: int):
    assert weigh(value) == weight


def nested(depth: int) -> list[object]:
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize(
    "odd", ["\ud83d", {"n": 2**70}, 10**5000, [object()], nested(900)], ids=lambda odd: type(odd).__name__
)
def test_what_cannot_be_encoded_has_a_weight_too(odd: object):
    assert weigh(odd) > 0


def test_text_weighs_its_utf_8_bytes():
    assert [weigh_text(text) for text in ("abc", "é", "€", "😀", "\ud83d")] == [3, 2, 3, 4, 3]
    assert weigh_text("aé€😀" * 50_000) == 10 * 50_000


def test_each_block_weighs_something_even_when_it_is_empty():
    transcript = Transcript(byte_limit=PIECE * 4)
    image = Image(data="", mime_type="")
    apply_all(transcript, *(piece(image, id="m") for _ in range(5)))
    assert transcript.messages["agent", "m"].dropped


def test_past_the_entity_limit_the_first_one_of_its_kind_goes_altogether():
    transcript = Transcript(entity_limit=3)
    for number in range(1000):
        transcript.apply(MessagePiece(role="agent", id=f"m{number}", content=Text("x")))
        transcript.apply(ToolCallPatch(id=f"c{number}", title="t", content=[]))
        transcript.apply(TerminalPiece(id=f"t{number}", data=b"x"))
        transcript.apply(UnknownReport(tag="odd", raw={"n": number}))
    assert [key[1] for key in transcript.messages] == ["m997", "m998", "m999"]
    assert list(transcript.tool_calls) == ["c997", "c998", "c999"]
    assert list(transcript.terminals) == ["t997", "t998", "t999"]
    assert transcript.forgotten == 4 * 997
    assert len(transcript.timeline) == 9
    assert len(transcript._order) < 100


def test_what_is_forgotten_no_longer_weighs():
    transcript = Transcript(entity_limit=1, byte_limit=1000)
    for number in range(100):
        transcript.apply(MessagePiece(role="agent", id=f"m{number}", content=Text("x" * 100)))
    assert not transcript.messages[("agent", "m99")].dropped
    assert transcript._weight < 300


LONG = "x" * 5000
LONG_META: dict[str, Any] = {"k": LONG}
DETAILED: list[Any] = [
    ToolCallPatch(id="c", title=LONG),
    ToolCallPatch(id="c", name=LONG),
    ToolCallPatch(id="c", locations=[Location(LONG)]),
    ToolCallPatch(id="c", meta=LONG_META),
    TerminalPatch(id="t", command=LONG),
    TerminalPatch(id="t", cwd=LONG),
    TerminalPatch(id="t", meta=LONG_META),
    CompactionPatch(id="k", status="failed", error=LONG),
    CompactionPatch(id="k", status="failed", meta=LONG_META),
    PlanReport(plan=Plan(id="p", meta=LONG_META)),
    patch(meta=LONG_META),
]


def entities(transcript: Transcript) -> list[Any]:
    tables = (
        transcript.messages,
        transcript.tool_calls,
        transcript.terminals,
        transcript.plans,
        transcript.compactions,
    )
    return [entity for table in tables for entity in table.values()]


def details(transcript: Transcript) -> int:
    """What is told beside the content of everything, weighed anew."""
    names = ("title", "name", "locations", "command", "cwd", "error", "meta")
    return sum(weigh_detail(getattr(entity, name, None)) for entity in entities(transcript) for name in names)


@pytest.mark.parametrize("report", DETAILED, ids=lambda report: type(report).__name__)
def test_what_is_told_beside_the_content_is_limited_too(report: Any):
    transcript = Transcript(byte_limit=1000)
    change = transcript.apply(report)
    (entity,) = entities(transcript)
    assert entity.dropped
    assert len(repr(entity)) < 700
    assert change.patch == report
    assert (transcript._weight, transcript._room) == (0, 1000)


def test_many_tool_calls_with_huge_titles_keep_the_beginning_of_them():
    transcript = Transcript(byte_limit=20_000)
    apply_all(transcript, *(ToolCallPatch(id=str(number), title=LONG) for number in range(200)))
    titles = [call.title or "" for call in transcript.tool_calls.values()]
    assert titles == ["x" * LINE] * 196 + [LONG] * 4


def test_a_short_title_weighs_nothing_and_stays_whole():
    transcript = Transcript(byte_limit=0)
    transcript.apply(ToolCallPatch(id="c", title="é" * LINE, name="read"))
    call = transcript.tool_calls["c"]
    assert (call.title, call.name, call.dropped) == ("é" * LINE, "read", False)


def test_a_dropped_tool_call_loses_its_locations_and_meta_and_older_changes_keep_them():
    transcript = Transcript(byte_limit=1000)
    (change, _) = apply_all(
        transcript, ToolCallPatch(id="c", title="Read", locations=[Location("/a")], meta={"k": 1}), piece("y" * 930)
    )
    left = transcript.tool_calls["c"]
    assert (left.title, left.locations, left.meta, left.dropped) == ("Read", [], None, True)
    assert (change.call.locations, change.call.meta) == ([Location("/a")], {"k": 1})


@pytest.mark.parametrize(("byte_limit", "entity_limit"), [(0, 9), (7000, 9), (12_000, 9), (2**30, 9), (2**30, 1)])
def test_what_is_told_beside_the_content_is_accounted_for_exactly(byte_limit: int, entity_limit: int):
    transcript = Transcript(byte_limit, entity_limit)
    again: list[Any] = [
        patch(meta={"k": None, "other": "é" * 300}),
        ToolCallPatch(id="c", title=None, name="n" * 300, locations=None, meta={"more": 1}),
        ToolCallPatch(id="d", title="é" * 300, meta={"more": 1}),
        TerminalPatch(id="t", command="short", cwd=None, meta=None),
        TerminalPatch(id="u", cwd="/" * 201),
        CompactionPatch(id="k", status="failed", error=None, meta={"k": 2}),
        PlanReport(plan=Plan(id="p", meta={"k": 2})),
        PlanReport(plan=Plan(id="q", meta=LONG_META)),
    ]
    for report in [*DETAILED, piece("text", id="m"), *again, *DETAILED, tool_piece("item")]:
        transcript.apply(report)
        assert transcript._room == byte_limit - details(transcript)
        assert transcript._weight <= transcript._room


def test_a_limit_that_is_lowered_is_kept_from_the_next_report_on():
    transcript = Transcript()
    apply_all(transcript, ToolCallPatch(id="c", title=LONG), piece("a" * 500, id="a"))
    transcript.byte_limit = 1000
    transcript.apply(piece("b", id="b"))
    assert (transcript.tool_calls["c"].title, transcript.byte_limit) == ("x" * LINE, 1000)
    assert transcript.messages["agent", "a"].text == "a" * 500
