"""What v2's updates do to a transcript, and how its changes are told."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.dialects.v2 import V2
from accord.errors import Malformed
from accord.session.content import Text
from accord.session.entities import (
    AGENT,
    THOUGHT,
    USER,
    ContentItem,
    Cost,
    Message,
    Plan,
    PlanEntry,
    State,
    Usage,
    Work,
)
from accord.session.transcript import Transcript
from accord.session.updates import (
    CompactionPatch,
    InfoPatch,
    MessageAppend,
    MessagePatch,
    PlanPatch,
    StatePatch,
    TerminalPatch,
    ToolCallAppend,
    ToolCallPatch,
    UnknownPatch,
    UnknownUpdate,
    UsagePatch,
)
from accord.session.value import Unknown
from tests.dialects.json_values import raw
from tests.dialects.v2.speaking import SESSION, reports_of, speaker, transcript_of, updates_of

KINDS = {"user_message": USER, "agent_message": AGENT, "agent_thought": THOUGHT}


def block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def chunk(text: str, message_id: str = "m1", kind: str = "agent_message") -> dict[str, Any]:
    return {"sessionUpdate": f"{kind}_chunk", "messageId": message_id, "content": block(text)}


def message(message_id: str = "m1", kind: str = "agent_message", **members: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": message_id, **members}


def call(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "c1", **members}


def item(text: str) -> dict[str, Any]:
    return {"type": "content", "content": block(text)}


def piece(text: str) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c1", "content": item(text)}


def told(transcript: Transcript, role: str = AGENT, message_id: str = "m1") -> Message:
    return transcript.messages[role, message_id]


def texts(transcript: Transcript) -> list[Any]:
    content: Any = transcript.tool_calls["c1"].content
    return [each.content.text for each in content]


@pytest.mark.parametrize(("kind", "role"), KINDS.items())
@pytest.mark.requirement("UPDATE-15", "UPDATE-16", "UPDATE-29")
def test_each_role_has_whole_messages_and_pieces(kind: str, role: str) -> None:
    transcript = transcript_of(message(kind=kind, content=[block("A")]), chunk("B", kind=kind))
    assert told(transcript, role).text == "AB"
    assert [place.role for place in transcript.timeline if isinstance(place, Message)] == [role]


@pytest.mark.requirement("UPDATE-17", "UPDATE-23", "EXT-13")
def test_a_message_update_without_content_leaves_the_content_as_it_is() -> None:
    transcript = transcript_of(chunk("A"), message(_meta={"note": 1}))
    assert told(transcript).text == "A"
    assert told(transcript).meta == {"note": 1}


@pytest.mark.parametrize("nothing", [None, []])
@pytest.mark.requirement("UPDATE-18", "UPDATE-20", "UPDATE-22")
def test_null_and_an_empty_array_clear_a_message(nothing: Any) -> None:
    assert told(transcript_of(chunk("A"), message(content=nothing))).content == []


@pytest.mark.requirement("UPDATE-19", "UPDATE-21", "UPDATE-25", "UPDATE-27", "UPDATE-28")
def test_an_array_replaces_all_that_was_there_and_pieces_go_to_its_end() -> None:
    updates = (message(content=[block("A")]), chunk("B"), message(content=[block("C")]), chunk("D"))
    assert [told(transcript_of(*updates[:end])).text for end in range(1, 5)] == ["A", "AB", "C", "CD"]


@pytest.mark.requirement("UPDATE-26", "UPDATE-27")
def test_pieces_of_two_messages_may_interleave() -> None:
    transcript = transcript_of(chunk("a"), chunk("x", "m2"), chunk("b"), chunk("y", "m2"))
    assert told(transcript).text == "ab"
    assert told(transcript, message_id="m2").text == "xy"


def test_one_id_may_be_of_a_message_of_each_role() -> None:
    transcript = transcript_of(chunk("a"), chunk("u", kind="user_message"), chunk("t", kind="agent_thought"))
    assert {key: each.text for key, each in transcript.messages.items()} == {
        (AGENT, "m1"): "a",
        (USER, "m1"): "u",
        (THOUGHT, "m1"): "t",
    }


@pytest.mark.requirement("UPDATE-14", "UPDATE-24")
def test_every_message_is_told_with_an_id_also_when_it_came_without_one() -> None:
    pieces = updates_of(
        speaker(),
        MessageAppend(role=AGENT, id=None, content=Text("a")),
        MessageAppend(role=AGENT, id=None, content=Text("b")),
        MessagePatch(role=USER, id=None, content=[Text("c")]),
        MessageAppend(role=AGENT, id=None, content=Text("d")),
        MessageAppend(role=AGENT, id="mine", content=Text("e")),
    )
    first, second, whole, other, mine = (update["messageId"] for update in pieces)
    assert first == second
    assert len({first, whole, other, "mine"}) == 4
    assert mine == "mine"
    assert pieces[0]["content"] == block("a")
    assert whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("UPDATE-14", "UPDATE-24")
def test_a_piece_needs_an_id_and_exactly_one_block(kind: str) -> None:
    without_id = {"sessionUpdate": f"{kind}_chunk", "content": block("a")}
    several = {**without_id, "messageId": "m1", "content": [block("a")]}
    for update in (without_id, several):
        with pytest.raises(Malformed):
            V2().update_from_wire(raw({"sessionId": SESSION, "update": update}))


def test_a_patch_is_told_with_just_what_it_changes() -> None:
    assert updates_of(
        speaker(),
        ToolCallPatch(id="c1", title="Dig"),
        ToolCallPatch(id="c1", status="completed"),
        ToolCallPatch(id="c1", title=None, content=[], locations=None, raw_output=None),
        MessagePatch(role=AGENT, id="m1", content=None),
    ) == [
        call(title="Dig"),
        call(status="completed"),
        call(title=None, content=[], locations=None, rawOutput=None),
        message(content=None),
    ]


@pytest.mark.requirement("UPDATE-36", "UPDATE-38", "TOOL-03", "TOOL-06")
def test_an_unknown_id_creates_a_tool_call_with_the_defaults() -> None:
    made = transcript_of(call()).tool_calls["c1"]
    assert (made.title, made.kind, made.status, list(made.content), made.locations) == (
        None,
        "other",
        "pending",
        [],
        [],
    )
    assert transcript_of(call(title="Dig")).tool_calls["c1"].title == "Dig"


@pytest.mark.requirement("UPDATE-37", "UPDATE-38", "UPDATE-40")
def test_of_a_tool_call_only_what_is_said_changes_and_null_puts_the_default_back() -> None:
    full = call(title="Dig", name="shell", kind="execute", status="failed", rawInput={"deep": 1}, rawOutput=[1])
    transcript = transcript_of(full, call(kind=None, status=None, rawOutput=None))
    changed = transcript.tool_calls["c1"]
    assert (changed.title, changed.name, changed.raw_input) == ("Dig", "shell", {"deep": 1})
    assert (changed.kind, changed.status, changed.raw_output) == ("other", "pending", None)


@pytest.mark.parametrize("nothing", [None, []])
@pytest.mark.requirement("UPDATE-39", "UPDATE-45")
def test_null_and_an_empty_array_empty_a_tool_calls_lists(nothing: Any) -> None:
    full = call(content=[item("A")], locations=[{"path": "/a", "line": 1}])
    emptied = transcript_of(full, piece("B"), call(content=nothing, locations=nothing)).tool_calls["c1"]
    assert (list(emptied.content), emptied.locations) == ([], [])


@pytest.mark.requirement("UPDATE-39", "UPDATE-43", "UPDATE-44", "UPDATE-46")
def test_pieces_of_a_tool_call_are_appended_and_an_array_replaces_them() -> None:
    updates = (call(content=[item("A")]), piece("B"), call(content=[item("C")]), piece("D"))
    assert [texts(transcript_of(*updates[:end])) for end in range(1, 5)] == [["A"], ["A", "B"], ["C"], ["C", "D"]]


@pytest.mark.requirement("UPDATE-41", "TOOL-42")
def test_a_piece_of_a_tool_call_is_told_as_one_item() -> None:
    assert updates_of(speaker(), ToolCallAppend(id="c1", item=ContentItem(content=Text("B")))) == [piece("B")]


@pytest.mark.requirement("UPDATE-30", "UPDATE-33")
def test_a_cost_that_is_left_out_stays_and_null_clears_it() -> None:
    usage = {"sessionUpdate": "usage_update", "used": 5, "size": 9}
    costly = {**usage, "cost": {"amount": 0.5, "currency": "EUR"}}
    cost = Cost(amount=0.5, currency="EUR")
    assert transcript_of(costly, usage).usage == Usage(used=5, size=9, cost=cost)
    assert transcript_of(costly, {**usage, "cost": None}).usage == Usage(used=5, size=9)


def test_the_cost_is_told_each_time_and_null_once_it_is_cleared() -> None:
    cost = Cost(amount=0.5, currency="EUR")
    first, second, third = updates_of(
        speaker(),
        UsagePatch(used=1, size=9, cost=cost),
        UsagePatch(used=2, size=9),
        UsagePatch(used=3, size=9, cost=None),
    )
    assert first["cost"] == second["cost"] == {"amount": 0.5, "currency": "EUR"}
    assert third["cost"] is None


@pytest.mark.parametrize("missing", ["used", "size"])
@pytest.mark.requirement("UPDATE-31", "UPDATE-32")
def test_a_usage_update_needs_both_figures(missing: str) -> None:
    update = {"sessionUpdate": "usage_update", "used": 5, "size": 9, missing: None}
    with pytest.raises(Malformed, match=missing):
        reports_of(V2(), **update)


@pytest.mark.parametrize("cost", [{"amount": 1}, {"currency": "EUR"}, {"amount": "1", "currency": "EUR"}])
@pytest.mark.requirement("UPDATE-34", "UPDATE-35")
def test_a_cost_without_amount_or_currency_counts_as_absent(cost: dict[str, Any]) -> None:
    dialect = V2()
    update: dict[str, Any] = {"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": cost}
    assert reports_of(dialect, **update) == [UsagePatch(used=5, size=9)]
    assert dialect.notes


@pytest.mark.requirement("PLAN-11", "UPDATE-47")
def test_plans_live_side_by_side_and_each_is_replaced_whole() -> None:
    def plan(plan_id: str, *steps: str) -> dict[str, Any]:
        entries = [{"content": step, "priority": "low", "status": "pending"} for step in steps]
        return {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": plan_id, "entries": entries}}

    plans = transcript_of(plan("p1", "dig", "sow"), plan("p2", "rest"), plan("p1", "reap")).plans
    assert {key: [entry.content for entry in each.entries] for key, each in plans.items()} == {
        "p1": ["reap"],
        "p2": ["rest"],
    }


def test_a_plan_keeps_its_own_meta_apart_from_the_updates() -> None:
    report = PlanPatch(plan=Plan(id="p1", entries=[PlanEntry(content="dig")], meta={"a": 1}), meta={"b": 2})
    [update] = updates_of(speaker(), report)
    assert (update["plan"]["_meta"], update["_meta"]) == ({"a": 1}, {"b": 2})


def test_a_plan_of_an_unknown_type_takes_the_place_of_what_its_id_had() -> None:
    items = {"type": "items", "planId": "p1", "entries": []}
    sketch = {"type": "_sketch", "planId": "p1", "svg": "<svg/>"}
    dialect, transcript = V2(), Transcript()
    for plan in (items, sketch):
        [report] = reports_of(dialect, sessionUpdate="plan_update", plan=plan)
        transcript.apply(report)
    assert transcript.plans["p1"] == Plan(id="p1", type="_sketch", raw=sketch)
    assert updates_of(dialect, report) == [{"sessionUpdate": "plan_update", "plan": sketch}]
    with pytest.raises(Malformed, match="planId"):
        reports_of(dialect, sessionUpdate="plan_update", plan={"type": "_sketch"})


def test_a_state_tells_what_the_foreground_does_and_what_runs_beside_it() -> None:
    state = State(
        state="idle",
        stop_reason="error",
        error={"code": -32000, "message": "no water", "data": {"tank": 0}},
        background=[Work(type="terminal", id="t1"), Work(type="_pump", id="", raw={"type": "_pump", "rpm": 9})],
    )
    [update] = updates_of(speaker(), StatePatch(state=state))
    assert update == {
        "sessionUpdate": "state_update",
        "state": "idle",
        "stopReason": "error",
        "error": {"code": -32000, "message": "no water", "data": {"tank": 0}},
        "background": [{"type": "terminal", "terminalId": "t1"}, {"type": "_pump", "rpm": 9}],
    }
    assert reports_of(V2(), **update) == [StatePatch(state=state)]


@pytest.mark.requirement("COMPAT-01", "COMPAT-02")
def test_an_unknown_state_or_stop_reason_is_kept_as_it_is() -> None:
    [report] = reports_of(V2(), sessionUpdate="state_update", state="_dreaming", stopReason="_bored")
    assert report == StatePatch(state=State(state="_dreaming", stop_reason="_bored"))
    [update] = updates_of(speaker(), report)
    assert (update["state"], update["stopReason"]) == ("_dreaming", "_bored")


def test_a_stop_reason_that_is_no_string_counts_as_not_reported() -> None:
    assert reports_of(V2(), sessionUpdate="state_update", state="idle", stopReason=7) == [
        StatePatch(state=State(state="idle"))
    ]


def test_an_error_without_a_code_is_told_as_an_internal_error() -> None:
    state = State(stop_reason="error", error={"message": "no water"})
    [update] = updates_of(speaker(), StatePatch(state=state))
    assert update["error"] == {"code": -32603, "message": "no water"}


@pytest.mark.requirement("COMPAT-03", "COMPAT-04", "COMPAT-07")
def test_an_unknown_kind_or_status_of_a_tool_call_is_kept_as_it_is() -> None:
    kept = transcript_of(call(kind="_prune", status="_wilting")).tool_calls["c1"]
    assert (kept.kind, kept.status, kept.finished) == ("_prune", "_wilting", False)
    assert updates_of(speaker(), ToolCallPatch(id="c1", kind="_prune", status="_wilting")) == [
        call(kind="_prune", status="_wilting")
    ]


@pytest.mark.requirement("COMPAT-08", "COMPAT-09")
def test_an_item_of_an_unknown_type_is_kept_whole_and_told_again() -> None:
    chart = {"type": "_chart", "points": [1, {"x": None}]}
    [report] = reports_of(V2(), **call(content=[item("A"), chart]))
    assert isinstance(report, ToolCallPatch)
    assert report.content == [ContentItem(content=Text("A")), Unknown(tag="_chart", raw=chart)]
    [update] = updates_of(speaker(), report)
    assert update["content"] == [item("A"), chart]


@pytest.mark.parametrize("tag", ["tool_call", "plan", "current_mode_update", "_garden/rain"])
@pytest.mark.requirement("COMPAT-09")
def test_an_update_that_v2_does_not_have_is_kept_whole_and_told_again(tag: str) -> None:
    """FN-50: an unknown update is delivered, and the connection lives."""
    update = {"sessionUpdate": tag, "toolCallId": "c1", "entries": [], "currentModeId": "ask", "mm": None}
    [report] = reports_of(V2(), **update)
    assert report == UnknownPatch(tag=tag, raw=update)
    change = Transcript().apply(report)
    assert isinstance(change, UnknownUpdate)
    assert updates_of(speaker(), report) == [update]


@pytest.mark.parametrize(
    ("creating", "replacing", "key"),
    [
        (MessagePatch(role=AGENT, id="m1"), {"meta": {"b": 2}}, message()),
        (ToolCallPatch(id="c1"), {"status": "completed", "meta": {"b": 2}}, call()),
        (
            TerminalPatch(id="t1"),
            {"command": "pump", "meta": {"b": 2}},
            {"sessionUpdate": "terminal_update", "terminalId": "t1"},
        ),
        (InfoPatch(), {"title": "Beds", "meta": {"b": 2}}, {"sessionUpdate": "session_info_update"}),
        (
            CompactionPatch(id="x1", status="in_progress"),
            {"meta": {"b": 2}},
            {"sessionUpdate": "compaction_update", "compactionId": "x1", "status": "in_progress"},
        ),
    ],
    ids=lambda it: type(it).__name__,
)
def test_meta_that_replaces_is_told_by_clearing_it_first(creating: Any, replacing: Any, key: Any) -> None:
    dialect, teller, listener = speaker(), Transcript(), Transcript()
    fields = {name: getattr(creating, name) for name in creating.__struct_fields__}
    first = type(creating)(**{**fields, "meta": {"a": 1}})
    second = type(creating)(**{**fields, **replacing, "meta_replaces": True})
    updates = updates_of(dialect, first, second, transcript=teller)
    assert updates[-2] == {**key, "_meta": None}
    assert updates[-1]["_meta"] == {"b": 2}
    for update in updates:
        for report in reports_of(dialect, **update):
            listener.apply(report)
    assert listener.timeline == teller.timeline
    assert (listener.info, listener.terminals) == (teller.info, teller.terminals)


def test_the_meta_of_an_update_is_laid_over_the_stored_one_by_key() -> None:
    transcript = transcript_of(call(_meta={"a": 1, "b": {"c": 2}}), call(_meta={"a": None, "b": {"d": 3}, "e": 4}))
    assert transcript.tool_calls["c1"].meta == {"b": {"d": 3}, "e": 4}
    assert transcript_of(call(_meta={"a": 1}), call(_meta=None)).tool_calls["c1"].meta is None


def test_a_known_update_with_a_bad_payload_is_an_error_and_not_an_unknown_one() -> None:
    with pytest.raises(Malformed, match="toolCallId"):
        reports_of(V2(), sessionUpdate="tool_call_update", title="Dig")


def test_what_does_not_parse_leaves_its_array_and_the_rest_stays() -> None:
    dialect = V2()
    [report] = reports_of(dialect, **call(content=[item("A"), {"type": "content"}, 7], title=5))
    assert report == ToolCallPatch(id="c1", title=UNSET, content=[ContentItem(content=Text("A"))])
    assert len(dialect.notes) == 3
