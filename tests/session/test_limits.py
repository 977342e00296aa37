"""The transcript's byte limit: what goes, in which order, and what is left of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accord.session import Compaction, Image, Location, Plan, PlanEntry, Text, Transcript
from accord.session.entities import ContentItem, Exit, State, Terminal, TerminalItem, TerminalSize, ToolCall
from accord.session.memory_estimate import LINE, PIECE, content_weight, details_weight, weigh, weigh_detail, weigh_text
from accord.session.snapshots import SnapshotBytes, SnapshotList
from accord.session.updates import (
    CompactionPatch,
    InfoPatch,
    MessageAppend,
    PlanPatch,
    PromptPatch,
    StatePatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallPatch,
    UnknownPatch,
)
from tests.session.memory import retained
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
        transcript, TerminalPatch(id="t", command="make"), TerminalAppend(id="t", data=b"x" * 900), piece("y" * 500)
    )
    terminal = transcript.terminals["t"]
    assert (terminal.command, len(terminal.output), terminal.dropped) == ("make", 0, True)
    transcript.apply(TerminalPatch(id="t", output=b"again"))
    assert (terminal.dropped, transcript.terminals["t"].dropped) == (True, False)


def test_plans_compactions_and_unknown_updates_are_dropped_too():
    transcript = Transcript(byte_limit=1000)
    apply_all(
        transcript,
        PlanPatch(plan=Plan(id="p", entries=[PlanEntry(content="x" * 400)])),
        CompactionPatch(id="k", status="completed", summary=[Text("x" * 300)]),
        UnknownPatch(tag="_x", raw={"text": "x" * 100}),
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
    apply_all(transcript, piece("a"), tool_piece("b"), TerminalAppend(id="t", data=b"c"))
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
        transcript.apply(MessageAppend(role="agent", id=f"m{number}", content=Text("x")))
        transcript.apply(ToolCallPatch(id=f"c{number}", title="t", content=[]))
        transcript.apply(TerminalAppend(id=f"t{number}", data=b"x"))
        transcript.apply(UnknownPatch(tag="odd", raw={"n": number}))
    assert [key[1] for key in transcript.messages] == ["m997", "m998", "m999"]
    assert list(transcript.tool_calls) == ["c997", "c998", "c999"]
    assert list(transcript.terminals) == ["t997", "t998", "t999"]
    assert transcript.forgotten == 4 * 997
    assert len(transcript.timeline) == 9
    assert len(transcript._order) < 100


def test_what_is_forgotten_no_longer_weighs():
    transcript = Transcript(entity_limit=1, byte_limit=1000)
    for number in range(100):
        transcript.apply(MessageAppend(role="agent", id=f"m{number}", content=Text("x" * 100)))
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
    PlanPatch(plan=Plan(id="p", meta=LONG_META)),
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


ONCE = ("commands", "options", "modes", "info", "usage", "state")
"""What a session has once."""


def details(transcript: Transcript) -> int:
    """What is told beside the content of everything, weighed anew."""
    content = {"content", "raw_input", "raw_output", "output", "entries", "raw", "summary"}
    total = sum(weigh_detail(getattr(transcript, name)) for name in ONCE)
    for entity in [*entities(transcript), *transcript._unknown.values()]:
        names = {*getattr(entity, "__struct_fields__", ()), "id", "role", "meta"} - content
        total += sum(weigh_detail(getattr(entity, name, None)) for name in names)
    return total


@pytest.mark.parametrize("report", DETAILED, ids=lambda report: type(report).__name__)
def test_what_is_told_beside_the_content_is_limited_too(report: Any):
    transcript = Transcript(byte_limit=1000)
    change = transcript.apply(report)
    (entity,) = entities(transcript)
    assert entity.dropped
    assert len(repr(entity)) < 700
    assert change.patch == report
    assert (transcript._weight, transcript._room) == (0, 1000)


def numbered(number: int) -> str:
    return f"{number}-{LONG}"


FLOODS: dict[str, Callable[[int], Any]] = {
    "id of a call": lambda n: ToolCallPatch(id=numbered(n), title="t"),
    "id of a call, in a piece": lambda n: tool_piece("x", id=numbered(n)),
    "title": lambda n: ToolCallPatch(id=f"c{n}", title=numbered(n)),
    "name": lambda n: ToolCallPatch(id=f"c{n}", name=numbered(n)),
    "kind": lambda n: ToolCallPatch(id=f"c{n}", kind=numbered(n)),
    "status": lambda n: ToolCallPatch(id=f"c{n}", status=numbered(n)),
    "locations": lambda n: ToolCallPatch(id=f"c{n}", locations=[Location(numbered(n))]),
    "raw input": lambda n: ToolCallPatch(id=f"c{n}", raw_input=numbered(n)),
    "id of a shown terminal": lambda n: ToolCallPatch(id=f"c{n}", content=[TerminalItem(terminal_id=numbered(n))]),
    "meta of a call": lambda n: ToolCallPatch(id="c", meta={f"k{n}": numbered(n)}, meta_replaces=False),
    "id of a message": lambda n: piece("x", id=numbered(n)),
    "id of a whole message": lambda n: whole("x", id=numbered(n)),
    "meta of a message": lambda n: patch(id=f"m{n}", meta={"k": numbered(n)}),
    "id of a terminal": lambda n: TerminalAppend(id=numbered(n), data=b"x"),
    "id of a terminal, in a patch": lambda n: TerminalPatch(id=numbered(n)),
    "command": lambda n: TerminalPatch(id=f"t{n}", command=numbered(n)),
    "signal": lambda n: TerminalPatch(id=f"t{n}", exit=Exit(signal=numbered(n))),
    "id of a plan": lambda n: PlanPatch(plan=Plan(id=numbered(n))),
    "type of a plan": lambda n: PlanPatch(plan=Plan(id=f"p{n}", type=numbered(n))),
    "id of a compaction": lambda n: CompactionPatch(id=numbered(n), status="completed"),
    "status of a compaction": lambda n: CompactionPatch(id=f"k{n}", status=numbered(n)),
    "error of a compaction": lambda n: CompactionPatch(id=f"k{n}", status="failed", error=numbered(n)),
    "tag": lambda n: UnknownPatch(tag=numbered(n), raw={}),
    "meta of an unknown update": lambda n: UnknownPatch(tag="x", raw={}, meta={"k": numbered(n)}),
    "prompt": lambda n: PromptPatch(id=numbered(n), not_accepted=True),
    "prompt that is renamed": lambda n: PromptPatch(id=f"m{n}", new_id=numbered(n)),
    "meta of the session": lambda n: InfoPatch(meta={f"k{n}": numbered(n)}, meta_replaces=False),
    "title of the session": lambda n: InfoPatch(title=numbered(n)),
    "state": lambda n: StatePatch(state=State(state=numbered(n))),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_whatever_is_told_again_and_again_in_whatever_field_what_is_kept_has_a_bound(flood: Callable[[int], Any]):
    transcript = Transcript(byte_limit=100_000)
    for number in range(300):
        change = transcript.apply(flood(number))
        assert numbered(number) in repr((change.patch, change))
        assert transcript._room == 100_000 - details(transcript)
    assert retained(transcript) < 300_000


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_a_limit_of_nothing_keeps_of_a_flood_only_what_is_changing(flood: Callable[[int], Any]):
    transcript = Transcript(byte_limit=0)
    for number in range(20):
        transcript.apply(flood(number))
    assert retained(transcript) < 30_000


@pytest.mark.parametrize("kind", [ToolCall, Terminal, Plan, Compaction])
def test_every_field_of_an_entity_weighs(kind: type[Any]):
    """So that a field that is added one day is not forgotten."""
    table = {ToolCall: "tool_calls", Terminal: "terminals", Plan: "plans", Compaction: "compactions"}[kind]
    required: dict[str, Any] = {"id": "x", **({"status": "x"} if kind is Compaction else {})}
    plain = kind(**required)
    for name in kind.__struct_fields__:
        value = SnapshotList([ContentItem(content=Text(LONG))]) if name in ("content", "summary") else LONG
        value = SnapshotBytes(LONG.encode()) if name == "output" else value
        heavy = kind(**{**required, name: value})
        grown = content_weight(table, heavy) + details_weight(table, heavy)
        assert grown - content_weight(table, plain) - details_weight(table, plain) >= len(LONG), name


def test_an_entity_with_a_long_id_goes_altogether_and_one_that_comes_again_is_new():
    transcript = Transcript(byte_limit=12_000)
    for number in (0, 1, 2):
        transcript.apply(ToolCallPatch(id=numbered(number), title="t"))
    assert [call.id for call in transcript.tool_calls.values()] == [numbered(1), numbered(2)]
    assert transcript.forgotten == 1
    change = transcript.apply(ToolCallPatch(id=numbered(0), status="completed"))
    assert change.created
    assert [call.id for call in transcript.tool_calls.values()] == [numbered(2), numbered(0)]
    assert transcript.timeline == list(transcript.tool_calls.values())


def test_text_without_an_id_goes_on_after_its_message_was_forgotten():
    transcript = Transcript(byte_limit=12_000)
    transcript.apply(piece("a", id=numbered(0)))
    transcript.apply(ToolCallPatch(id="c"))
    transcript.apply(piece("b", id=numbered(1)))
    for number in range(3):
        transcript.apply(TerminalPatch(id=numbered(number)))
    for _ in range(3):
        transcript.apply(piece("c", id=None))
    assert [message.text for message in transcript.messages.values()] == ["ccc"]


def test_how_a_command_ended_stays_when_its_output_goes():
    transcript = Transcript(byte_limit=1000)
    shown = TerminalPatch(id="t", exit=Exit(code=2, signal="SIGHUP"), size=TerminalSize(columns=80, rows=24))
    apply_all(transcript, shown, TerminalAppend(id="t", data=b"x" * 900), piece("y" * 500))
    terminal = transcript.terminals["t"]
    assert (terminal.exit, terminal.size, terminal.dropped) == (shown.exit, shown.size, True)


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
        PlanPatch(plan=Plan(id="p", meta={"k": 2})),
        PlanPatch(plan=Plan(id="q", meta=LONG_META)),
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
