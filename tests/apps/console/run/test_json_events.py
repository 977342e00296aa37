"""What the events of `accord run --json` say of the changes of a session, and how few they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from accord.apps.console.run.json_events import EventBuilder
from accord.session.content import Text
from accord.session.entities import ContentItem, Exit, Location, Plan, PlanEntry, State
from accord.session.transcript import Transcript
from accord.session.updates import (
    InfoPatch,
    MessageAppend,
    PlanPatch,
    StatePatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallAppend,
    ToolCallPatch,
    UsagePatch,
)


class Told:
    """The events of one session."""

    def __init__(self) -> None:
        self.builder = EventBuilder()
        self._transcript = Transcript()

    def of(self, *reports: Any) -> list[dict[str, Any]]:
        """What is told as soon as these were reported."""
        changes = [self._transcript.apply(report) for report in reports]
        return [msgspec.to_builtins(event, enc_hook=list) for each in changes for event in self.builder.events_of(each)]

    def rest(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(event, enc_hook=list) for event in self.builder.rest()]

    def before_other(self, call_id: str | None) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(event, enc_hook=list) for event in self.builder.before_other(call_id)]


def events_of(*reports: Any) -> list[dict[str, Any]]:
    told = Told()
    return told.of(*reports) + told.rest()


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def said(text: str, role: str = "agent", id: str = "m") -> MessageAppend:
    return MessageAppend(role=role, id=id, content=Text(text))


class TestATerminal:
    def test_whose_output_is_told_whole_has_it_told(self):
        """Claude's adapter tells the output of a command with the terminal, not in pieces."""
        events = events_of(TerminalPatch(id="t", command="echo hi"), TerminalPatch(id="t", output=b"hi\n"))
        assert types(events) == ["terminal", "terminal_output"]
        assert (events[-1]["text"], events[-1]["replaces"]) == ("hi\n", False)

    def test_has_its_output_told_once_before_its_end(self):
        pieces = [TerminalAppend(id="t", data=letter.to_bytes()) for letter in "grün".encode()]
        begun, output, ended = events_of(
            TerminalPatch(id="t", command="echo"), *pieces, TerminalPatch(id="t", exit=Exit(code=0))
        )
        assert (begun["command"], begun["exit"]) == ("echo", None)
        assert (output["text"], output["replaces"]) == ("grün", False)
        assert ended["exit"]["code"] == 0

    def test_whose_output_is_told_anew_says_so_only_of_what_was_told(self):
        told = Told()
        assert (
            told.of(TerminalAppend(id="t", data=b"no"), TerminalPatch(id="t", output=b"o\xc3\xb6"))[0]["exit"] is None
        )
        (first,) = told.rest()
        assert (first["text"], first["replaces"]) == ("oö", False)
        told.of(TerminalPatch(id="t", output=b"other"))
        (second,) = told.rest()
        assert (second["text"], second["replaces"]) == ("other", True)

    def test_that_writes_very_much_is_told_in_large_pieces(self):
        told = Told()
        pieces = [TerminalAppend(id="t", data=b"x" * 1000) for _ in range(200)]
        told.of(TerminalPatch(id="t", command="yes"))
        events = told.of(*pieces) + told.rest()
        assert types(events) == ["terminal_output"] * 4
        assert sum(len(event["text"]) for event in events) == 200_000


class TestAText:
    def test_is_one_event_however_many_pieces_it_came_in(self):
        events = events_of(*(said(letter) for letter in "Hello"), said("Well", id="n"), said("Hm", role="thought"))
        assert [(event["type"], event["text"]) for event in events] == [
            ("text", "Hello"),
            ("text", "Well"),
            ("thought", "Hm"),
        ]

    def test_is_told_before_what_comes_after_it(self):
        told = Told()
        assert told.of(said("a"), said("b")) == []
        events = told.of(ToolCallPatch(id="c", creates=True), said("c"))
        assert types(events) == ["text", "tool_call"]
        assert events[0]["text"] == "ab"

    def test_that_is_very_long_is_told_in_large_pieces(self):
        events = events_of(*(said("x" * 1000) for _ in range(200)))
        assert types(events) == ["text"] * 4
        assert sum(len(event["text"]) for event in events) == 200_000


class TestAToolCall:
    def test_is_told_when_it_begins_and_when_it_ends(self):
        places = [Location(path=f"/{number}.py", line=1) for number in range(20)]
        told = Told()
        assert told.of(ToolCallPatch(id="c", title="Search", kind="search", creates=True)) == []
        (begun,) = told.of(ToolCallPatch(id="c", status="in_progress"))
        assert (begun["title"], begun["status"], begun["created"], begun["changed"]) == (
            "Search",
            "in_progress",
            True,
            [],
        )
        assert told.of(*(ToolCallPatch(id="c", locations=places[:number]) for number in range(1, 21))) == []
        assert told.of(ToolCallAppend(id="c", item=ContentItem(content=Text("hit")))) == []
        (ended,) = told.of(ToolCallPatch(id="c", status="completed"))
        assert ended["changed"] == ["locations", "content", "status"]
        assert (len(ended["locations"]), len(ended["content"]), ended["title"]) == (20, 1, "Search")

    def test_that_waits_is_told_before_anything_else(self):
        told = Told()
        told.of(ToolCallPatch(id="c", creates=True))
        call, *_ = told.of(UsagePatch(used=1, size=2))
        assert (call["type"], call["status"]) == ("tool_call", "pending")

    def test_is_told_as_it_is_when_somebody_is_asked_about_it(self):
        told = Told()
        told.of(ToolCallPatch(id="c", creates=True, status="in_progress"), ToolCallPatch(id="c", raw_input={"a": 1}))
        assert told.before_other("another") == []
        (asked,) = told.before_other("c")
        assert (asked["raw_input"], asked["changed"]) == ({"a": 1}, ["raw_input"])
        assert told.before_other("c") == []

    def test_that_gets_something_after_its_end_is_told_when_the_turn_ends(self):
        told = Told()
        told.of(ToolCallPatch(id="c", creates=True, status="completed"), StatePatch(state=State(state="running")))
        assert told.of(ToolCallPatch(id="c", raw_output=0)) == []
        late, state = told.of(StatePatch(state=State(state="idle", stop_reason="end_turn")))
        assert (late["raw_output"], late["changed"], state["state"]) == (0, ["raw_output"], "idle")

    def test_that_nobody_finishes_is_told_to_have_no_result(self):
        told = Told()
        told.of(ToolCallPatch(id="c", creates=True, status="in_progress"))
        (ended,) = told.of(ToolCallPatch(id="c", ended_without_result=True))
        assert (ended["ended_without_result"], ended["changed"]) == (True, ["ended_without_result"])

    def test_that_holds_very_much_is_told_before_its_end(self):
        told = Told()
        told.of(ToolCallPatch(id="c", creates=True, status="in_progress"))
        pieces = [ToolCallAppend(id="c", item=ContentItem(content=Text("x" * 1_000_000))) for _ in range(5)]
        assert types(told.of(*pieces)) == ["tool_call"]


class TestAState:
    def test_is_told_when_it_is_another_one(self):
        plan = PlanPatch(plan=Plan(id="p", entries=[PlanEntry("Look")]))
        usage = UsagePatch(used=1, size=2)
        assert types(events_of(plan, plan, usage, usage, plan)) == ["plan", "usage"]

    def test_a_title_that_was_never_there_is_none(self):
        assert events_of(InfoPatch(updated_at="2026-01-01T00:00:00Z")) == []
        assert [event["title"] for event in events_of(InfoPatch(title="A"), InfoPatch(title=None))] == ["A", None]


async def test_a_search_of_the_offline_agent_makes_two_events_of_its_call(typed, project: Path):
    (project / "a.txt").write_text("milk\n" * 9)
    finished = await typed("run", "--json", "find milk")
    kinds = types(finished.events)
    assert sorted(kinds[:4]) == [
        "commands",
        "notice",
        "options",
        "start",
    ]  # an agent tells its commands when it has them
    assert kinds[4:] == ["state", "info", "tool_call", "tool_call", "text", "state", "end"]
    begun, ended = [event for event in finished.events if event["type"] == "tool_call"]
    assert (begun["status"], ended["status"]) == ("in_progress", "completed")
    assert len(ended["locations"]) == 11  # the directory, nine lines of a.txt and one of notes.md
