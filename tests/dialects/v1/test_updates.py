"""Updates of v1, told and read: what a client of v1 sees of each change."""

from __future__ import annotations

from typing import Any

import pytest

from accord.errors import Malformed
from accord.session.content import Text
from accord.session.entities import (
    AGENT,
    THOUGHT,
    USER,
    ContentItem,
    Diff,
    FileChange,
    Location,
    Mode,
    Modes,
    Option,
    OptionChoice,
    Plan,
    PlanEntry,
    SlashCommand,
    State,
)
from accord.session.replay import replay
from accord.session.requests import NewSession, SessionSetup
from accord.session.transcript import Transcript
from accord.session.updates import (
    CommandsPatch,
    MessageAppend,
    MessagePatch,
    ModePatch,
    OptionsPatch,
    PlanPatch,
    StatePatch,
    ToolCallAppend,
    ToolCallPatch,
    UnknownPatch,
    UsagePatch,
)
from accord.session.value import UNSET
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import SESSION, reports_of, rows_lost, updates_of
from tests.dialects.v1.speaking import speaker


def chunk(kind: str, text: str, message_id: str) -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": message_id, "content": {"type": "text", "text": text}}


def text_item(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


@pytest.mark.parametrize(
    ("role", "kind"),
    [(USER, "user_message_chunk"), (AGENT, "agent_message_chunk"), (THOUGHT, "agent_thought_chunk")],
)
@pytest.mark.requirement("UPDATE-03", "UPDATE-04", "UPDATE-05")
def test_pieces_of_messages_are_chunks(role: str, kind: str):
    dialect = speaker()
    assert updates_of(dialect, MessageAppend(role=role, id="m", content=Text("a"))) == [chunk(kind, "a", "m")]
    assert reports_of(dialect, **chunk(kind, "a", "m")) == [MessageAppend(role=role, id="m", content=Text("a"))]
    nameless = reports_of(dialect, sessionUpdate=kind, content={"type": "text", "text": "a"})
    assert nameless == [MessageAppend(role=role, id=None, content=Text("a"))]


@pytest.mark.requirement("AMB-72")
def test_a_whole_message_is_told_in_chunks_and_a_longer_one_by_what_it_adds():
    dialect = speaker()
    whole = MessagePatch(role=AGENT, id="m", content=[Text("a"), Text("b")])
    longer = MessagePatch(role=AGENT, id="m", content=[Text("a"), Text("bcd")])
    same = MessagePatch(role=AGENT, id="m", content=[Text("abcd")])
    assert updates_of(dialect, whole, longer, same) == [
        chunk("agent_message_chunk", "a", "m"),
        chunk("agent_message_chunk", "b", "m"),
        chunk("agent_message_chunk", "cd", "m"),
    ]
    assert dialect.losses == []


@pytest.mark.requirement("TOOL-02", "TOOL-05", "TOOL-31", "UPDATE-06", "UPDATE-07")
def test_a_tool_call_is_created_once_and_then_updated():
    created, status = ToolCallPatch(id="c", title="Read", kind="read"), ToolCallPatch(id="c", status="completed")
    assert updates_of(speaker(), created, status) == [
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read", "kind": "read", "status": "pending"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"},
    ]


@pytest.mark.parametrize(
    ("patch", "title"),
    [
        (ToolCallPatch(id="c", title="T", name="n", kind="read"), "T"),
        (ToolCallPatch(id="c", name="n", kind="read"), "n"),
        (ToolCallPatch(id="c", kind="read"), "read"),
        (ToolCallPatch(id="c"), "c"),
    ],
)
@pytest.mark.requirement("TOOL-05")
def test_a_new_tool_call_always_has_a_title(patch: ToolCallPatch, title: str):
    assert updates_of(speaker(), patch)[0]["title"] == title


def test_what_is_cleared_is_set_to_what_says_nothing():
    cleared = ToolCallPatch(id="c", title=None, kind=None, status=None, content=None, locations=None)
    assert updates_of(speaker(), ToolCallPatch(id="c", title="T"), cleared)[1] == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "title": "",
        "kind": "other",
        "status": "pending",
        "content": [],
        "locations": [],
    }


@pytest.mark.requirement("AMB-49", "TOOL-31")
def test_null_in_an_update_changes_nothing():
    names = ("title", "name", "kind", "status", "content", "locations", "rawInput", "rawOutput", "_meta")
    dialect = speaker()
    read = reports_of(dialect, sessionUpdate="tool_call_update", toolCallId="c", **dict.fromkeys(names))
    assert read == [ToolCallPatch(id="c", meta_replaces=True)]


@pytest.mark.requirement("TOOL-32", "TOOL-30")
def test_arrays_replace_also_after_the_end():
    dialect, transcript = speaker(), Transcript()
    for update in (
        {"status": "completed", "content": [text_item("a"), text_item("b")]},
        {"content": [text_item("c")]},
    ):
        for report in reports_of(dialect, sessionUpdate="tool_call_update", toolCallId="c", **update):
            transcript.apply(report)
    call = transcript.tool_calls["c"]
    assert (call.status, list(call.content)) == ("completed", [ContentItem(content=Text("c"))])


@pytest.mark.requirement("AMB-47", "RPC-19", "TOOL-39")
def test_a_bad_line_leaves_a_location_and_its_path_stays():
    places = [{"path": "/a", "line": 0}, {"path": "/b", "line": -3}, {"path": "/c", "line": 3}, {"line": 1}]
    [report] = reports_of(speaker(), sessionUpdate="tool_call_update", toolCallId="c", locations=places)
    assert isinstance(report, ToolCallPatch)
    assert report.locations == [Location("/a"), Location("/b"), Location("/c", line=3)]


@pytest.mark.requirement("RPC-18", "AMB-46", "TOOL-38")
def test_a_path_that_is_only_shown_may_be_relative_but_not_in_strict_mode():
    for members in (
        {"locations": [{"path": "src/a.py"}]},
        {"content": [{"type": "diff", "path": "src/a.py", "newText": "x"}]},
    ):
        dialect = speaker()
        assert reports_of(dialect, sessionUpdate="tool_call_update", toolCallId="c", **members)
        assert dialect.notes == [f"$.{next(iter(members))}: a path that is not absolute"]
        with pytest.raises(Malformed):
            reports_of(speaker(strict=True), sessionUpdate="tool_call_update", toolCallId="c", **members)


@pytest.mark.requirement("TOOL-35", "TOOL-36", "AMB-48")
def test_a_diff_of_several_files_becomes_one_for_each():
    files = [
        FileChange("add", "/new", new_text="n"),
        FileChange("modify", "/old", old_text="a", new_text="b"),
        FileChange("modify", "/emptied", old_text="a", new_text=""),
    ]
    dialect = speaker()
    [update] = updates_of(dialect, ToolCallPatch(id="c", content=[Diff(changes=files)]))
    assert update["content"] == [
        {"type": "diff", "path": "/new", "oldText": None, "newText": "n"},
        {"type": "diff", "path": "/old", "oldText": "a", "newText": "b"},
        {"type": "diff", "path": "/emptied", "oldText": "a", "newText": ""},
    ]
    assert dialect.losses == []
    [report] = reports_of(dialect, **update)
    assert isinstance(report, ToolCallPatch)
    assert report.content == [Diff(changes=[each]) for each in files]


def test_pieces_are_told_as_the_whole_content():
    pieces = [ToolCallAppend(id="c", item=ContentItem(content=Text(text))) for text in "ab"]
    updates = updates_of(speaker(), ToolCallPatch(id="c", title="T"), *pieces)
    assert [update.get("content") for update in updates] == [None, [text_item("a")], [text_item("a"), text_item("b")]]


def test_many_pieces_cost_in_the_order_of_their_number_and_none_is_missing_at_the_end():
    pieces = [ToolCallAppend(id="c", item=ContentItem(content=Text(str(number)))) for number in range(1000)]
    ending = ToolCallPatch(id="c", status="completed")
    updates = updates_of(speaker(), ToolCallPatch(id="c", title="T"), *pieces, ending)
    assert sum(len(update.get("content", ())) for update in updates) < 10 * 1000
    assert updates[-1]["content"] == [text_item(str(number)) for number in range(1000)]
    assert updates[-1]["status"] == "completed"


def test_a_patch_tells_the_content_only_when_it_is_owed():
    pieces = [ToolCallAppend(id="c", item=ContentItem(content=Text(str(number)))) for number in range(9)]
    going = ToolCallPatch(id="c", status="in_progress")
    updates = updates_of(speaker(), ToolCallPatch(id="c", title="T"), *pieces, going, going)
    assert len(updates[-2]["content"]) == 9
    assert "content" not in updates[-1]


def test_meta_of_a_tool_call_is_told_whole_because_an_object_replaces():
    patches = [ToolCallPatch(id="c", title="T", meta={"a": 1}), ToolCallPatch(id="c", meta={"b": 2, "a": None})]
    assert [update["_meta"] for update in updates_of(speaker(), *patches)] == [{"a": 1}, {"b": 2}]
    patches = [ToolCallPatch(id="c", title="T", meta={"a": 1}), ToolCallPatch(id="c", meta={"b": 2})]
    assert updates_of(speaker(), *patches)[1]["_meta"] == {"a": 1, "b": 2}
    read = reports_of(speaker(), sessionUpdate="tool_call_update", toolCallId="c", _meta={"b": 2})
    assert read[0].meta_replaces  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.requirement("PLAN-09", "PLAN-10", "UPDATE-08")
def test_each_plan_replaces_the_one_before():
    dialect, transcript = speaker(), Transcript()
    for texts in ("ab", "c"):
        entries = [{"content": text, "priority": "low", "status": "pending"} for text in texts]
        [report] = reports_of(dialect, sessionUpdate="plan", entries=entries)
        transcript.apply(report)
    assert [plan.entries for plan in transcript.plans.values()] == [[PlanEntry("c", priority="low")]]


def test_a_plan_that_turns_into_one_of_an_unknown_type_leaves_the_joined_plan():
    dialect = speaker()
    plans = [Plan(id="a", entries=[PlanEntry("x")]), Plan(id="b", entries=[PlanEntry("y")])]
    gone = Plan(id="a", type="file", raw={"type": "file"})
    updates = updates_of(dialect, *(PlanPatch(plan=plan) for plan in (*plans, gone)))
    assert [[entry["content"] for entry in update["entries"]] for update in updates] == [["x"], ["x", "y"], ["y"]]


@pytest.mark.requirement("CMD-02", "CMD-05", "CMD-06", "CMD-07", "AMB-68")
def test_commands_go_both_ways_without_their_slash():
    said = [{"name": "web", "description": "Search", "input": {"hint": "query"}}, {"name": "t", "description": "T"}]
    words = [SlashCommand("web", "Search", hint="query"), SlashCommand("t", "T")]
    [update] = updates_of(speaker(), CommandsPatch(commands=words))
    assert update == {"sessionUpdate": "available_commands_update", "availableCommands": said}
    assert reports_of(speaker(), **update) == [CommandsPatch(commands=words)]
    slashed = [{"name": "/web", "description": "Search", "input": {"hint": "query"}}]
    [report] = reports_of(speaker(), sessionUpdate="available_commands_update", availableCommands=slashed)
    assert report == CommandsPatch(commands=words[:1])


MODE = Option(
    id="mode",
    name="Mode",
    category="mode",
    value="ask",
    choices=[OptionChoice("ask", "Ask"), OptionChoice("code", "Code")],
)
MODES = Modes(current="ask", available=[Mode("ask", "Ask"), Mode("code", "Code")])


def open_session(dialect: Any, **fields: Any) -> Any:
    return plain(dialect.result_to_wire(NewSession(cwd="/w"), SessionSetup(session_id=SESSION, **fields)))


@pytest.mark.requirement("MODE-02", "MODE-03", "MODE-04")
def test_a_mode_option_is_shown_as_modes_too():
    opened = open_session(speaker(), options=[MODE])
    assert opened["modes"] == {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    }
    assert opened["configOptions"][0]["currentValue"] == "ask"
    assert "modes" not in open_session(speaker(), options=[])


@pytest.mark.requirement("MODE-13", "UPDATE-10")
def test_modes_and_the_mode_option_are_kept_in_step():
    dialect = speaker()
    open_session(dialect, options=[MODE])
    changed = updates_of(dialect, OptionsPatch(options=[Option(**{**_fields(MODE), "value": "code"})]))
    assert [update["sessionUpdate"] for update in changed] == ["config_option_update", "current_mode_update"]
    assert changed[1]["currentModeId"] == "code"
    back = updates_of(dialect, ModePatch(mode_id="ask"))
    assert [update["sessionUpdate"] for update in back] == ["current_mode_update", "config_option_update"]
    assert back[1]["configOptions"][0]["currentValue"] == "ask"
    assert updates_of(dialect, ModePatch(mode_id="ask")) == []


def test_modes_without_a_mode_option_are_told_alone():
    dialect = speaker()
    open_session(dialect, modes=MODES)
    assert updates_of(dialect, ModePatch(mode_id="code")) == [
        {"sessionUpdate": "current_mode_update", "currentModeId": "code"}
    ]


def test_a_mode_option_of_a_session_without_modes_needs_no_mode_update():
    updates = updates_of(speaker(), OptionsPatch(options=[MODE]))
    assert [update["sessionUpdate"] for update in updates] == ["config_option_update"]


@pytest.mark.requirement("UPDATE-10")
def test_the_mode_is_read_by_either_name():
    assert reports_of(speaker(), sessionUpdate="current_mode_update", currentModeId="a") == [ModePatch(mode_id="a")]
    assert reports_of(speaker(), sessionUpdate="current_mode_update", modeId="a") == [ModePatch(mode_id="a")]


@pytest.mark.requirement("UPDATE-30", "UPDATE-33", "AMB-53")
def test_the_cost_is_told_each_time():
    cost = {"amount": 0.5, "currency": "EUR"}
    [first] = reports_of(speaker(), sessionUpdate="usage_update", used=1, size=2, cost=cost)
    assert updates_of(speaker(), first, UsagePatch(used=3, size=4))[1] == {
        "sessionUpdate": "usage_update",
        "used": 3,
        "size": 4,
        "cost": cost,
    }


def test_running_and_idle_are_not_told_because_the_open_prompt_says_so():
    dialect = speaker()
    assert updates_of(dialect, StatePatch(state=State("running")), StatePatch(state=State("idle"))) == []
    assert dialect.losses == []


@pytest.mark.requirement("AMB-60", "COMPAT-12")
def test_an_unknown_update_is_kept_whole_and_written_back():
    """FN-50: an update that nobody here knows reaches the user, and the connection lives."""
    update = {"sessionUpdate": "_acme_weather", "sky": ["blue"], "_meta": {"a": 1}}
    reports = reports_of(speaker(), **update)
    assert reports == [UnknownPatch(tag="_acme_weather", raw=update, version="v1")]
    assert updates_of(speaker(), *reports) == [update]
    with pytest.raises(Malformed):
        reports_of(speaker(strict=True), **update)


@pytest.mark.requirement("AMB-59")
def test_unknown_values_of_enums_are_kept_when_read():
    [report] = reports_of(
        speaker(), sessionUpdate="tool_call", toolCallId="c", title="T", kind="brew", status="steeping"
    )
    assert isinstance(report, ToolCallPatch)
    assert (report.kind, report.status, report.creates) == ("brew", "steeping", True)


def test_a_malformed_update_is_an_error_with_its_place():
    with pytest.raises(Malformed, match=r"\$\.update\.content"):
        reports_of(speaker(), sessionUpdate="agent_message_chunk", messageId="m")


@pytest.mark.requirement("SESS-14")
def test_a_replayed_transcript_gives_a_listener_the_same_transcript():
    told, heard = Transcript(), Transcript()
    for report in (
        MessageAppend(role=USER, id="u", content=Text("hi")),
        MessageAppend(role=AGENT, id="a", content=Text("hello")),
        ToolCallPatch(id="c", title="T", kind="edit", status="completed", content=[ContentItem(content=Text("x"))]),
        PlanPatch(plan=Plan(id="main", entries=[PlanEntry("p")])),
        UsagePatch(used=1, size=2),
    ):
        told.apply(report)
    agent, client = speaker(), speaker()
    for change in replay(told):
        for params in agent.update_to_wire(SESSION, change):
            for report in client.update_from_wire(raw(plain(params)))[1]:
                heard.apply(report)
    assert heard.timeline == told.timeline
    assert heard.usage == told.usage
    assert rows_lost(agent) == []


def _fields(option: Option) -> dict[str, Any]:
    return {name: getattr(option, name) for name in option.__struct_fields__ if getattr(option, name) is not UNSET}
