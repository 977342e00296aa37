"""A transcript told again."""

from __future__ import annotations

import pytest

from accord.session import (
    Cost,
    Location,
    Mode,
    Modes,
    Notice,
    Option,
    Plan,
    PlanEntry,
    SlashCommand,
    State,
    TerminalItem,
    Text,
    ToolCallChanged,
    Transcript,
    Update,
)
from accord.session.entities import Exit, TerminalSize
from accord.session.replay import replay
from accord.session.updates import (
    CommandsPatch,
    CompactionAppend,
    CompactionPatch,
    InfoPatch,
    MessageChanged,
    MessagePatch,
    ModesPatch,
    NoticePatch,
    OptionsPatch,
    PlanPatch,
    StatePatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallPatch,
    UnknownPatch,
    UsagePatch,
)
from tests.session.words import apply_all, item, patch, piece, tool_piece, whole


def eventful() -> Transcript:
    transcript = Transcript()
    apply_all(
        transcript,
        whole("Fix it", role="user", id="u1"),
        piece("Let me ", role="thought", id="t1"),
        piece("see", role="thought", id="t1"),
        PlanPatch(plan=Plan(id="p", entries=[PlanEntry(content="look")])),
        TerminalPatch(id="unshown", command="top"),
        TerminalPatch(id="term", command="make", cwd="/ws", size=TerminalSize(columns=80, rows=24), cancellable=True),
        ToolCallPatch(id="c", title="Build", kind="execute", raw_input={}, locations=[Location(path="/a", line=3)]),
        ToolCallPatch(id="c", content=[TerminalItem(terminal_id="term")], name="bash", cancellable=True),
        TerminalAppend(id="term", data=b"o\xff"),
        TerminalAppend(id="term", data=b"k\n"),
        TerminalPatch(id="term", exit=Exit(code=0), meta={"pid": 1}),
        tool_piece("done"),
        ToolCallPatch(id="c", status="completed", raw_output=[1], meta={"a": None}, meta_replaces=True),
        UnknownPatch(tag="_acme", raw={"sessionUpdate": "_acme"}),
        CompactionPatch(id="k", status="in_progress"),
        CompactionAppend(id="k", content=Text("sum")),
        CompactionPatch(id="k", status="failed", error="no"),
        NoticePatch(notice=Notice(severity="info", title="not again")),
        piece("Fixed."),
        patch(id="bare", meta={"x": {"y": 1}}),
        CommandsPatch(commands=[SlashCommand(name="web", description="search")]),
        OptionsPatch(options=[Option(id="m", name="Mode", value="ask", category="mode")]),
        ModesPatch(modes=Modes(current="code", available=[Mode(id="code", name="Code")])),
        InfoPatch(title="Fixing", meta={"z": 1}),
        UsagePatch(used=1, size=2, cost=Cost(amount=1.5, currency="EUR"), meta={"u": 1}),
        StatePatch(state=State(state="running")),
    )
    return transcript


def named(change: Update) -> str:
    for attribute in ("message", "call", "terminal", "plan", "compaction"):
        if hasattr(change, attribute):
            return getattr(change, attribute).id
    return type(change).__name__


@pytest.mark.requirement("SESS-14", "AMB-72")
def test_it_tells_everything_once_in_the_order_of_the_timeline_and_the_state_last():
    changes = list(replay(eventful()))
    assert [named(change) for change in changes] == [
        "u1",
        "t1",
        "p",
        "term",
        "c",
        "UnknownUpdate",
        "k",
        "accord-1",
        "bare",
        "unshown",
        "CommandsChanged",
        "OptionsChanged",
        "ModeChanged",
        "InfoChanged",
        "UsageChanged",
        "StateChanged",
    ]
    assert all(change.created for change in changes)


def test_whoever_applies_it_has_the_same_transcript():
    original, copy = eventful(), Transcript()
    for change in replay(original):
        copy.apply(change.patch)
    for name in ("timeline", "messages", "tool_calls", "terminals", "plans", "compactions"):
        assert getattr(copy, name) == getattr(original, name)
    for name in ("commands", "options", "modes", "info", "usage", "state"):
        assert getattr(copy, name) == getattr(original, name)


def test_an_empty_session_has_only_its_state_to_tell():
    assert [type(change).__name__ for change in replay(Transcript())] == ["StateChanged"]


def test_messages_are_told_whole_with_the_ids_they_had():
    transcript = Transcript()
    apply_all(transcript, piece("Hel"), piece("lo"))
    change = next(iter(replay(transcript)))
    assert isinstance(change, MessageChanged)
    assert (change.patch.role, change.patch.id, change.patch.content) == ("agent", "accord-1", [Text("Hello")])
    assert change.added == [Text("Hello")]


def test_a_terminal_that_two_calls_show_is_told_once():
    transcript = Transcript()
    shown = [TerminalItem(terminal_id="t"), TerminalItem(terminal_id="nobody knows")]
    apply_all(
        transcript,
        TerminalPatch(id="t"),
        ToolCallPatch(id="a", content=list(shown)),
        ToolCallPatch(id="b", content=list(shown)),
    )
    assert [named(change) for change in replay(transcript)] == ["t", "a", "b", "StateChanged"]


def test_it_tells_what_was_there_when_it_was_asked_for():
    transcript = Transcript()
    apply_all(
        transcript, piece("a", id="m"), ToolCallPatch(id="c", content=[item("x")]), TerminalAppend(id="t", data=b"1")
    )
    changes = replay(transcript)
    apply_all(
        transcript,
        piece("b", id="m"),
        tool_piece("y"),
        TerminalAppend(id="t", data=b"2"),
        CommandsPatch(commands=[SlashCommand(name="late", description="")]),
        piece("new", id="n"),
    )
    copy = Transcript()
    for change in changes:
        copy.apply(change.patch)
    assert {key: message.text for key, message in copy.messages.items()} == {("agent", "m"): "a"}
    assert copy.tool_calls["c"].content == [item("x")]
    assert (copy.terminals["t"].output, copy.commands) == (b"1", [])


def test_what_is_said_of_a_call_is_complete_and_what_is_not_set_is_left_out():
    transcript = Transcript()
    transcript.apply(ToolCallPatch(id="c", title="Read"))
    change = next(iter(replay(transcript)))
    assert isinstance(change, ToolCallChanged)
    expected = ToolCallPatch(
        id="c",
        title="Read",
        kind="other",
        status="pending",
        content=[],
        locations=[],
        creates=True,
        meta_replaces=True,
    )
    assert change.patch == expected


def test_what_was_dropped_is_told_as_far_as_it_is_left():
    transcript = Transcript(byte_limit=300)
    apply_all(transcript, piece("a" * 200, id="a"), piece("b" * 200, id="b"))
    told = [change for change in replay(transcript) if isinstance(change, MessageChanged)]
    assert [(change.message.dropped, change.patch.content) for change in told] == [
        (True, []),
        (False, [Text("b" * 200)]),
    ]


def test_only_the_end_is_told_where_that_is_enough():
    transcript = Transcript()
    for number in range(5):
        transcript.apply(MessagePatch(role="agent", id=str(number), content=[Text(text=str(number))]))
    told = [change for change in replay(transcript, 2) if isinstance(change, MessageChanged)]
    assert [change.message.id for change in told] == ["3", "4"]
    assert len([change for change in replay(transcript, 99) if isinstance(change, MessageChanged)]) == 5


def test_with_the_end_come_the_terminals_that_it_shows_and_all_of_the_settings():
    transcript = Transcript()
    apply_all(
        transcript,
        TerminalPatch(id="unshown"),
        TerminalPatch(id="early"),
        ToolCallPatch(id="a", content=[TerminalItem(terminal_id="early")]),
        TerminalPatch(id="late"),
        ToolCallPatch(id="b", content=[TerminalItem(terminal_id="late")]),
        InfoPatch(title="Work"),
    )
    assert [named(change) for change in replay(transcript, 1)] == ["late", "b", "InfoChanged", "StateChanged"]
    assert [named(change) for change in replay(transcript, 0)] == ["InfoChanged", "StateChanged"]
    whole = ["early", "a", "late", "b", "unshown", "InfoChanged", "StateChanged"]
    assert [named(change) for change in replay(transcript)] == whole
