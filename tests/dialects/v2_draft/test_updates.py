"""Updates of the draft: told as patches by id, read in every form there is."""

from __future__ import annotations

from typing import Any

import pytest

from accord.dialects.v2_draft import V2Draft
from accord.errors import Malformed
from accord.session.content import Text
from accord.session.entities import (
    AGENT,
    THOUGHT,
    USER,
    ContentItem,
    Diff,
    Exit,
    FileChange,
    Location,
    Option,
    OptionChoice,
    Plan,
    PlanEntry,
    SlashCommand,
    State,
    TerminalItem,
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
    TerminalAppend,
    TerminalPatch,
    ToolCallAppend,
    ToolCallPatch,
    UnknownPatch,
    UsagePatch,
)
from accord.session.value import Unknown
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import SESSION, reports_of, rows_lost, updates_of
from tests.dialects.v2_draft.speaking import speaker

ROLES = [(USER, "user_message"), (AGENT, "agent_message"), (THOUGHT, "agent_thought")]


def text(of: str) -> dict[str, Any]:
    return {"type": "text", "text": of}


def item(of: str) -> dict[str, Any]:
    return {"type": "content", "content": text(of)}


def hear(transcript: Transcript, dialect: V2Draft, *updates: dict[str, Any]) -> None:
    for update in updates:
        for report in reports_of(dialect, **update):
            transcript.apply(report)


@pytest.mark.parametrize(("role", "kind"), ROLES)
@pytest.mark.requirement("UPDATE-14", "UPDATE-15", "UPDATE-20", "UPDATE-24", "UPDATE-29")
def test_messages_are_patches_and_pieces_are_chunks(role: str, kind: str):
    dialect = speaker()
    whole = MessagePatch(role=role, id="m", content=[Text("a")], meta_replaces=True)
    piece = MessageAppend(role=role, id="m", content=Text("b"))
    updates = updates_of(dialect, whole, piece)
    assert updates == [
        {"sessionUpdate": kind, "messageId": "m", "content": [text("a")]},
        {"sessionUpdate": f"{kind}_chunk", "messageId": "m", "content": text("b")},
    ]
    assert [report for update in updates for report in reports_of(dialect, **update)] == [whole, piece]


@pytest.mark.parametrize("kind", [kind for _, kind in ROLES])
@pytest.mark.requirement("UPDATE-16", "UPDATE-17", "UPDATE-19", "UPDATE-21", "UPDATE-25", "UPDATE-27", "UPDATE-28")
def test_a_whole_message_replaces_its_chunks_and_chunks_go_to_its_end(kind: str):
    dialect, transcript = speaker(), Transcript()
    hear(
        transcript,
        dialect,
        {"sessionUpdate": kind, "messageId": "m", "content": [text("A")]},
        {"sessionUpdate": f"{kind}_chunk", "messageId": "m", "content": text("B")},
    )
    [message] = transcript.messages.values()
    assert message.text == "AB"
    hear(
        transcript,
        dialect,
        {"sessionUpdate": kind, "messageId": "m", "content": [text("C")]},
        {"sessionUpdate": f"{kind}_chunk", "messageId": "m", "content": text("D")},
    )
    assert [message.text for message in transcript.messages.values()] == ["CD"]


@pytest.mark.parametrize("content", [[], None])
@pytest.mark.requirement("UPDATE-18", "UPDATE-22", "UPDATE-23")
def test_an_empty_array_and_null_clear_a_message_and_nothing_leaves_it(content: Any):
    dialect, transcript = speaker(), Transcript()
    hear(transcript, dialect, {"sessionUpdate": "agent_message", "messageId": "m", "content": [text("A")]})
    hear(transcript, dialect, {"sessionUpdate": "agent_message", "messageId": "m", "_meta": {"k": 1}})
    message = transcript.messages[AGENT, "m"]
    assert (message.text, message.meta) == ("A", {"k": 1})
    hear(transcript, dialect, {"sessionUpdate": "agent_message", "messageId": "m", "content": content})
    assert transcript.messages[AGENT, "m"].content == []


@pytest.mark.requirement("UPDATE-26", "AMB-51", "AMB-52")
def test_another_id_begins_another_message_and_no_id_goes_to_the_newest():
    dialect, transcript = speaker(), Transcript()
    chunk = {"sessionUpdate": "agent_message_chunk"}
    hear(transcript, dialect, {**chunk, "messageId": "a", "content": text("1")})
    hear(transcript, dialect, {**chunk, "messageId": "b", "content": text("2")}, {**chunk, "content": text("3")})
    assert [message.text for message in transcript.messages.values()] == ["1", "23"]


@pytest.mark.requirement("AMB-69")
def test_one_block_is_an_array_of_one_and_an_array_in_a_chunk_is_several_chunks():
    alone = reports_of(speaker(), sessionUpdate="agent_message", messageId="m", content=text("a"))
    assert alone == [MessagePatch(role=AGENT, id="m", content=[Text("a")], meta_replaces=True)]
    several = reports_of(speaker(), sessionUpdate="agent_message_chunk", messageId="m", content=[text("a"), text("b")])
    assert several == [MessageAppend(role=AGENT, id="m", content=Text(each)) for each in "ab"]
    assert updates_of(speaker(), *alone)[0]["content"] == [text("a")]


def test_meta_of_a_message_is_told_whole_because_an_object_replaces():
    patches = [
        MessagePatch(role=AGENT, id="m", content=[], meta={"a": 1}),
        MessagePatch(role=AGENT, id="m", meta={"b": 2}),
    ]
    assert [update["_meta"] for update in updates_of(speaker(), *patches)] == [{"a": 1}, {"a": 1, "b": 2}]
    cleared = updates_of(speaker(), MessagePatch(role=AGENT, id="m", meta=None))
    assert cleared == [{"sessionUpdate": "agent_message", "messageId": "m", "_meta": None}]


@pytest.mark.requirement("TOOL-03", "TOOL-06", "AMB-19", "UPDATE-36", "UPDATE-40")
def test_a_tool_call_is_created_and_changed_by_the_same_update():
    created = ToolCallPatch(id="c", title="Read", kind="_peek", status="paused", cancellable=True)
    dialect = speaker()
    updates = updates_of(dialect, created, ToolCallPatch(id="c", status="completed"))
    assert updates == [
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c",
            "title": "Read",
            "kind": "_peek",
            "status": "paused",
            "capabilities": {"cancel": {}},
        },
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"},
    ]
    assert dialect.losses == []
    assert updates_of(speaker(), ToolCallPatch(id="c", name="grep"))[0]["title"] == "grep"
    assert "title" not in updates_of(speaker(), ToolCallPatch(id="c"))[0]


@pytest.mark.requirement("UPDATE-41", "UPDATE-43", "UPDATE-44", "UPDATE-46", "TOOL-42")
def test_pieces_of_a_tool_call_are_chunks():
    dialect, transcript = speaker(), Transcript()
    piece = ToolCallAppend(id="c", item=ContentItem(content=Text("a")))
    updates = updates_of(dialect, ToolCallPatch(id="c", title="T"), piece)
    assert updates[1] == {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": item("a")}
    assert reports_of(dialect, **updates[1]) == [piece]
    replaced = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [item("b")]}
    hear(transcript, dialect, *updates, replaced, updates[1])
    assert list(transcript.tool_calls["c"].content) == [ContentItem(content=Text(each)) for each in "ba"]


def test_a_piece_that_comes_first_is_told_with_the_call_it_makes():
    [update] = updates_of(speaker(), ToolCallAppend(id="c", item=ContentItem(content=Text("a"))))
    assert (update["sessionUpdate"], update["content"]) == ("tool_call_update", [item("a")])


@pytest.mark.requirement("TOOL-35", "TOOL-36")
def test_a_diff_is_told_in_the_old_form_one_for_each_file():
    files = [FileChange("add", "/n", new_text="x"), FileChange("modify", "/m", old_text="a", new_text="b")]
    piece = ToolCallAppend(id="c", item=Diff(changes=files))
    updates = updates_of(speaker(), ToolCallPatch(id="c", title="T"), piece)
    assert [update["content"] for update in updates[1:]] == [
        {"type": "diff", "path": "/n", "oldText": None, "newText": "x"},
        {"type": "diff", "path": "/m", "oldText": "a", "newText": "b"},
    ]


def test_a_diff_is_read_in_either_form():
    old = {"type": "diff", "path": "/m", "oldText": "a", "newText": "b"}
    new = {"type": "diff", "changes": [{"operation": "move", "oldPath": "/a", "path": "/b"}]}
    [report] = reports_of(speaker(), sessionUpdate="tool_call_update", toolCallId="c", content=[old, new])
    assert isinstance(report, ToolCallPatch)
    assert report.content == [
        Diff(changes=[FileChange("modify", "/m", old_text="a", new_text="b")]),
        Diff(changes=[FileChange("move", "/b", old_path="/a")]),
    ]


@pytest.mark.requirement("COMPAT-08", "COMPAT-09", "AMB-22")
def test_unknown_content_kinds_and_statuses_are_kept():
    odd = {"type": "_chart", "points": [1, 2]}
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "kind": "_x", "status": "_y", "content": [odd]}
    [report] = reports_of(speaker(), **update)
    assert isinstance(report, ToolCallPatch)
    assert (report.kind, report.status, report.content) == ("_x", "_y", [Unknown(tag="_chart", raw=odd)])
    assert updates_of(speaker(), report) == [update]


NULLS = {
    "title": None,
    "kind": None,
    "status": None,
    "content": None,
    "locations": None,
    "rawInput": None,
    "_meta": None,
}
CHANGED = {"type": "diff", "changes": [{"operation": "modify", "path": "/a"}]}
DRAFT_ONLY = [
    {"sessionUpdate": "tool_call", "toolCallId": "x", "title": "T", "capabilities": {}},
    {"sessionUpdate": "tool_call_update", "toolCallId": "x", "content": [CHANGED]},
    {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": [text("a")]},
    {"sessionUpdate": "agent_message", "messageId": "m"},
    {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "x", "content": item("a")},
    {"sessionUpdate": "plan_update", "plan": {"type": "items", "id": "p", "entries": []}},
    {"sessionUpdate": "state_update", "state": "running"},
    {"sessionUpdate": "terminal_update", "terminalId": "t"},
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": ""},
]
ALSO_OF_V1 = [
    {"sessionUpdate": "tool_call", "toolCallId": "x", "title": "T", "capabilities": None},
    {"sessionUpdate": "tool_call", "toolCallId": "x", "content": [{"type": "diff", "path": "/a", "newText": "b"}]},
    {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text("a")},
    {"sessionUpdate": "tool_call", "toolCallId": "x", "title": "T"},
    {"sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "completed"},
    {"sessionUpdate": "plan", "entries": []},
    {"sessionUpdate": "usage_update", "used": 1, "size": 2},
    {"sessionUpdate": "_acme"},
]


@pytest.mark.parametrize("before", [None, *ALSO_OF_V1], ids=lambda update: update and update["sessionUpdate"])
@pytest.mark.requirement("AMB-49")
def test_null_changes_nothing_as_long_as_the_peer_might_speak_v1(before: Any):
    dialect = speaker()
    if before:
        reports_of(dialect, **before)
    read = reports_of(dialect, sessionUpdate="tool_call_update", toolCallId="c", **NULLS)
    assert read == [ToolCallPatch(id="c", meta_replaces=True)]


@pytest.mark.parametrize("before", DRAFT_ONLY, ids=lambda update: update["sessionUpdate"])
@pytest.mark.requirement("AMB-49", "AMB-50", "UPDATE-37", "UPDATE-39", "UPDATE-45")
def test_null_clears_once_the_peer_has_sent_a_form_that_v1_does_not_have(before: Any):
    dialect, transcript = speaker(), Transcript()
    full = {"title": "T", "kind": "read", "status": "completed", "content": [item("a")], "rawInput": {"a": 1}}
    hear(transcript, dialect, {"sessionUpdate": "tool_call", "toolCallId": "c", **full, "_meta": {"k": 1}}, before)
    hear(transcript, dialect, {"sessionUpdate": "tool_call_update", "toolCallId": "c", **NULLS})
    call = transcript.tool_calls["c"]
    assert (call.title, call.kind, call.status) == (None, "other", "pending")
    assert (list(call.content), call.locations, call.raw_input, call.meta) == ([], [], None, None)


@pytest.mark.parametrize("form", [{"capabilities": {}}, {"content": [CHANGED]}], ids=["capabilities", "diff"])
@pytest.mark.requirement("AMB-49")
def test_null_clears_already_in_the_update_that_has_such_a_form(form: dict[str, Any]):
    [report] = reports_of(speaker(), sessionUpdate="tool_call_update", toolCallId="c", **{**NULLS, **form})
    assert isinstance(report, ToolCallPatch)
    assert (report.title, report.status, report.raw_input) == (None, None, None)


@pytest.mark.requirement("UPDATE-38")
def test_what_a_new_tool_call_leaves_out_has_its_default():
    dialect, transcript = speaker(), Transcript()
    hear(transcript, dialect, {"sessionUpdate": "tool_call_update", "toolCallId": "c"})
    call = transcript.tool_calls["c"]
    assert (call.title, call.kind, call.status, list(call.content)) == (None, "other", "pending", [])


def test_what_is_cleared_is_told_so_that_peers_of_both_ages_understand():
    cleared = ToolCallPatch(id="c", title=None, kind=None, status=None, content=None, locations=None, raw_output=None)
    assert updates_of(speaker(), ToolCallPatch(id="c", title="T"), cleared)[1] == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "title": None,
        "kind": "other",
        "status": "pending",
        "content": [],
        "locations": [],
        "rawOutput": None,
    }


@pytest.mark.requirement("TOOL-39", "AMB-47")
def test_locations_go_both_ways_and_a_bad_line_leaves_them():
    [update] = updates_of(speaker(), ToolCallPatch(id="c", locations=[Location("/a", line=3), Location("/b")]))
    assert update["locations"] == [{"path": "/a", "line": 3}, {"path": "/b"}]
    [report] = reports_of(speaker(), **{**update, "locations": [{"path": "/a", "line": 0}]})
    assert isinstance(report, ToolCallPatch)
    assert report.locations == [Location("/a")]


@pytest.mark.requirement("AMB-18")
def test_a_terminal_of_the_agent_is_shown_as_text_and_one_of_the_client_by_its_id():
    holding = ToolCallPatch(id="c", title="Run", content=[TerminalItem(terminal_id="t")])
    dialect, transcript = speaker(), Transcript()
    assert updates_of(dialect, holding, transcript=transcript)[0]["content"] == [
        {"type": "terminal", "terminalId": "t"}
    ]
    shown = updates_of(dialect, TerminalPatch(id="t", output=b"ok\n"), transcript=transcript)
    assert shown == [{"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [item("ok\n")]}]
    grown = updates_of(dialect, TerminalAppend(id="t", data=b"x" * 7), transcript=transcript)
    assert grown[0]["content"] == [item("ok\nxxxxxxx")]
    assert updates_of(dialect, TerminalAppend(id="t", data=b"y"), transcript=transcript) == []
    owed = updates_of(dialect, ToolCallPatch(id="c", status="completed"), transcript=transcript)
    assert owed[0]["content"] == [item("ok\nxxxxxxxy")]
    ended = updates_of(dialect, TerminalPatch(id="t", exit=Exit(code=0)), transcript=transcript)
    assert ended[0]["content"] == [item("ok\nxxxxxxxy\n[exit code 0]")]
    assert rows_lost(dialect) == ["display-terminal"]


@pytest.mark.requirement("PLAN-11", "UPDATE-47", "AMB-20", "PLAN-09")
def test_plans_are_told_under_both_keys_and_read_by_either_and_from_v1():
    dialect, transcript = speaker(), Transcript()
    [update] = updates_of(dialect, PlanPatch(plan=Plan(id="p", entries=[PlanEntry("a", priority="_soon")])))
    entry = {"content": "a", "priority": "_soon", "status": "pending"}
    assert update == {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "id": "p", "planId": "p", "entries": [entry]},
    }
    other = {**entry, "content": "b"}
    hear(
        transcript,
        dialect,
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "id": "p", "entries": [entry]}},
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "q", "entries": [entry]}},
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "id": "p", "entries": [other]}},
        {"sessionUpdate": "plan", "entries": [entry]},
    )
    assert {plan.id: [each.content for each in plan.entries] for plan in transcript.plans.values()} == {
        "p": ["b"],
        "q": ["a"],
        "main": ["a"],
    }
    assert dialect.losses == []


def test_a_plan_of_an_unknown_type_is_kept_by_its_id_and_told_as_an_empty_one():
    odd = {"type": "_mermaid", "id": "p", "source": "graph"}
    [report] = reports_of(speaker(), sessionUpdate="plan_update", plan=odd)
    assert report == PlanPatch(plan=Plan(id="p", type="_mermaid", raw=odd))
    known = PlanPatch(plan=Plan(id="p", entries=[PlanEntry("a")]))
    assert updates_of(speaker(), known, report)[1]["plan"]["entries"] == []
    with pytest.raises(Malformed):
        reports_of(speaker(), sessionUpdate="plan_update", plan={"type": "_mermaid"})


@pytest.mark.requirement("AMB-21", "CMD-07")
def test_commands_are_told_with_types_and_read_without():
    word = CommandsPatch(commands=[SlashCommand("web", "Search", hint="query")])
    [update] = updates_of(speaker(), word)
    told = {"type": "command", "name": "web", "description": "Search", "input": {"type": "text", "hint": "query"}}
    assert update["availableCommands"] == [told]
    bare = {"name": "/web", "description": "Search", "input": {"hint": "query"}}
    assert reports_of(speaker(), sessionUpdate="available_commands_update", availableCommands=[bare]) == [word]
    menu = {"type": "menu", "name": "m", "description": "M", "items": ["a"]}
    kept = CommandsPatch(commands=[SlashCommand("m", "M", raw=menu)])
    assert reports_of(speaker(), sessionUpdate="available_commands_update", availableCommands=[menu]) == [kept]
    assert updates_of(speaker(), kept)[0]["availableCommands"] == [menu]


MODE = Option(
    id="mode", name="Mode", category="mode", value="a", choices=[OptionChoice("a", "A"), OptionChoice("b", "B")]
)


@pytest.mark.requirement("AMB-21", "MODE-13")
def test_modes_and_the_mode_option_are_kept_in_step():
    dialect = speaker()
    dialect.result_to_wire(NewSession(cwd="/w"), SessionSetup(session_id=SESSION, options=[MODE]))
    by_mode = updates_of(dialect, ModePatch(mode_id="b"))
    assert [update["sessionUpdate"] for update in by_mode] == ["current_mode_update", "config_option_update"]
    assert by_mode[1]["configOptions"][0]["currentValue"] == "b"
    by_option = updates_of(dialect, OptionsPatch(options=[MODE]))
    assert [update["sessionUpdate"] for update in by_option] == ["config_option_update", "current_mode_update"]
    assert reports_of(dialect, sessionUpdate="current_mode_update", modeId="a") == [ModePatch(mode_id="a")]


@pytest.mark.requirement("UPDATE-30", "UPDATE-31", "UPDATE-32", "UPDATE-33", "UPDATE-34", "UPDATE-35", "AMB-53")
def test_usage_is_told_with_the_cost_each_time():
    cost = {"amount": 0.045, "currency": "USD"}
    [report] = reports_of(speaker(), sessionUpdate="usage_update", used=53000, size=200000, cost=cost)
    assert updates_of(speaker(), report, UsagePatch(used=1, size=2))[1] == {
        "sessionUpdate": "usage_update",
        "used": 1,
        "size": 2,
        "cost": cost,
    }


def test_states_are_read_and_not_told():
    dialect = speaker()
    assert reports_of(dialect, sessionUpdate="state_update", state="idle", stopReason="end_turn") == [
        StatePatch(state=State("idle", stop_reason="end_turn"))
    ]
    assert updates_of(dialect, StatePatch(state=State("running")), StatePatch(state=State("idle"))) == []
    assert dialect.losses == []


def test_terminals_of_a_peer_that_is_ahead_are_read():
    dialect, transcript = speaker(), Transcript()
    hear(
        transcript,
        dialect,
        {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "ls", "output": {"data": "b2s="}},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "IQ=="},
    )
    assert transcript.terminals["t"].text == "ok!"


@pytest.mark.requirement("AMB-60")
def test_an_unknown_update_is_kept_whole_and_written_back():
    """FN-50: an update that nobody here knows reaches the user, and the connection lives."""
    update = {"sessionUpdate": "_acme_weather", "sky": "blue"}
    reports = reports_of(speaker(), **update)
    assert reports == [UnknownPatch(tag="_acme_weather", raw=update)]
    assert updates_of(speaker(), *reports) == [update]
    assert reports_of(speaker(strict=True), **update) == reports
    with pytest.raises(Malformed):
        reports_of(speaker(strict=True), sessionUpdate="acme_weather")


@pytest.mark.requirement("SESS-14")
def test_a_replayed_transcript_gives_a_listener_the_same_transcript():
    told, heard = Transcript(), Transcript()
    for report in (
        MessagePatch(role=USER, id="u", content=[Text("hi")], meta={"k": 1}),
        MessageAppend(role=AGENT, id="a", content=Text("hello")),
        ToolCallPatch(id="c", title="T", status="failed", kind="_x", cancellable=True, meta={"k": 2}),
        PlanPatch(plan=Plan(id="p", entries=[PlanEntry("a")])),
        PlanPatch(plan=Plan(id="q", entries=[PlanEntry("b")])),
        UsagePatch(used=1, size=2),
        OptionsPatch(options=[MODE]),
        CommandsPatch(commands=[SlashCommand("web", "Search")]),
    ):
        told.apply(report)
    agent, client = speaker(), speaker()
    for change in replay(told):
        for params in agent.update_to_wire(SESSION, change):
            for report in client.update_from_wire(raw(plain(params)))[1]:
                heard.apply(report)
    assert heard.timeline == told.timeline
    assert (heard.usage, heard.options, heard.commands) == (told.usage, told.options, told.commands)
    assert agent.losses == []
