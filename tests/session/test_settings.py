"""What a transcript holds beside the conversation: plans, lists, figures, state, and what it has no word for."""

from __future__ import annotations

import pytest

from accord.session import (
    Compaction,
    CompactionChanged,
    Cost,
    Info,
    Mode,
    ModeChanged,
    Modes,
    Notice,
    NoticeShown,
    Option,
    Plan,
    PlanChanged,
    PlanEntry,
    SlashCommand,
    State,
    Text,
    Transcript,
    UnknownUpdate,
    Usage,
)
from accord.session.entities import OptionChoice, Work
from accord.session.updates import (
    CommandsPatch,
    CompactionAppend,
    CompactionPatch,
    InfoPatch,
    ModePatch,
    ModesPatch,
    NoticePatch,
    OptionsPatch,
    PlanPatch,
    StatePatch,
    UnknownPatch,
    UsagePatch,
)
from tests.session.words import apply_all


@pytest.fixture
def transcript() -> Transcript:
    return Transcript()


def plan(id: str, *steps: str) -> Plan:
    return Plan(id=id, entries=[PlanEntry(content=step) for step in steps])


@pytest.mark.requirement("PLAN-07", "PLAN-08", "PLAN-09", "PLAN-10", "UPDATE-08", "AMB-20")
def test_a_plan_replaces_the_one_with_its_id_wholly(transcript: Transcript):
    changes = apply_all(
        transcript,
        PlanPatch(plan=plan("p", "a", "b")),
        PlanPatch(plan=plan("q", "x")),
        PlanPatch(plan=plan("p", "b", "c", "d")),
    )
    assert all(isinstance(change, PlanChanged) for change in changes)
    assert [change.created for change in changes] == [True, True, False]
    assert transcript.plans == {"p": plan("p", "b", "c", "d"), "q": plan("q", "x")}
    assert transcript.timeline == [transcript.plans["p"], transcript.plans["q"]]
    assert changes[0].plan == plan("p", "a", "b")


@pytest.mark.requirement("AMB-20")
def test_a_plan_of_an_unknown_type_is_kept_whole(transcript: Transcript):
    unknown = Plan(id="p", type="_graph", raw={"type": "_graph", "planId": "p", "nodes": []})
    apply_all(transcript, PlanPatch(plan=plan("p", "a")), PlanPatch(plan=unknown))
    assert transcript.plans == {"p": unknown}


@pytest.mark.requirement("CMD-07")
def test_commands_are_replaced_by_each_list(transcript: Transcript):
    web, review = SlashCommand(name="web", description="search"), SlashCommand(name="review", description="look")
    apply_all(transcript, CommandsPatch(commands=[web]), CommandsPatch(commands=[review]))
    assert transcript.commands == [review]
    transcript.apply(CommandsPatch(commands=[]))
    assert transcript.commands == []


@pytest.mark.requirement("AMB-53")
def test_a_cost_that_is_left_out_stays_and_null_clears_it(transcript: Transcript):
    cost = Cost(amount=0.045, currency="USD")
    assert transcript.usage is None
    transcript.apply(UsagePatch(used=1, size=10))
    assert transcript.usage == Usage(used=1, size=10)
    apply_all(transcript, UsagePatch(used=53000, size=200000, cost=cost), UsagePatch(used=60000, size=200000))
    assert transcript.usage == Usage(used=60000, size=200000, cost=cost)
    transcript.apply(UsagePatch(used=1, size=2, cost=None, meta={"a": 1}))
    assert transcript.usage == Usage(used=1, size=2, meta={"a": 1})


def test_the_info_is_patched(transcript: Transcript):
    apply_all(
        transcript, InfoPatch(title="a", updated_at="t", meta={"x": 1, "y": 2}), InfoPatch(title="b", meta={"x": None})
    )
    assert transcript.info == Info(title="b", updated_at="t", meta={"y": 2})
    transcript.apply(InfoPatch(title=None, updated_at=None))
    assert transcript.info == Info(meta={"y": 2})


MODES = Modes(current="ask", available=[Mode(id="ask", name="Ask"), Mode(id="code", name="Code")])
CHOICES = [OptionChoice(value="ask", name="Ask"), OptionChoice(value="code", name="Code")]


def options(mode: str) -> list[Option]:
    return [
        Option(id="web", name="Web", kind="boolean", value=True, category="mode"),  # no mode: it is not one of several
        Option(id="m", name="Mode", value=mode, choices=CHOICES, category="mode"),
        Option(id="n", name="Other", value="x", category="mode"),
        Option(id="model", name="Model", value="fast", category="model"),
    ]


class TestModes:
    def test_the_list_is_told_when_the_session_opens(self, transcript: Transcript):
        change = transcript.apply(ModesPatch(modes=MODES))
        assert isinstance(change, ModeChanged)
        assert (change.mode_id, change.modes, transcript.modes) == ("ask", MODES, MODES)

    @pytest.mark.requirement("MODE-08", "MODE-13")
    def test_the_agent_may_switch(self, transcript: Transcript):
        before, after = apply_all(transcript, ModesPatch(modes=MODES), ModePatch(mode_id="code"))
        assert transcript.modes == Modes(current="code", available=MODES.available)
        assert (before.modes.current, after.modes.current, after.mode_id) == ("ask", "code", "code")

    def test_a_switch_without_a_list_is_told_all_the_same(self, transcript: Transcript):
        change = transcript.apply(ModePatch(mode_id="code"))
        assert isinstance(change, ModeChanged)
        assert (change.mode_id, change.modes, transcript.modes) == ("code", None, None)

    def test_the_mode_option_follows_the_mode(self, transcript: Transcript):
        told = options("ask")
        apply_all(transcript, OptionsPatch(options=told), ModePatch(mode_id="code"))
        assert transcript.options == options("code")
        assert told == options("ask")
        transcript.apply(ModesPatch(modes=MODES))
        assert transcript.options == options("ask")

    def test_the_mode_follows_the_mode_option(self, transcript: Transcript):
        before, _ = apply_all(transcript, ModesPatch(modes=MODES), OptionsPatch(options=options("code")))
        assert transcript.modes == Modes(current="code", available=MODES.available)
        assert before.modes.current == "ask"

    def test_options_without_a_mode_leave_the_modes_alone(self, transcript: Transcript):
        apply_all(transcript, ModesPatch(modes=MODES), OptionsPatch(options=[options("code")[3]]))
        assert transcript.modes == MODES


def test_the_state_is_a_snapshot_and_idle_at_first(transcript: Transcript):
    assert transcript.state == State(state="idle")
    running = State(state="running", background=[Work(type="terminal", id="t")])
    transcript.apply(StatePatch(state=running))
    assert transcript.state == running
    transcript.apply(StatePatch(state=State(state="idle", stop_reason="end_turn")))
    assert transcript.state == State(state="idle", stop_reason="end_turn")


def test_a_notice_is_shown_and_not_kept(transcript: Transcript):
    notice = Notice(severity="warning", title="Disk is full")
    change = transcript.apply(NoticePatch(notice=notice))
    assert isinstance(change, NoticeShown)
    assert change.notice == notice
    assert transcript.timeline == []


def test_a_compaction_grows_and_ends(transcript: Transcript):
    changes = apply_all(
        transcript,
        CompactionPatch(id="k", status="in_progress"),
        CompactionAppend(id="k", content=Text("a")),
        CompactionAppend(id="k", content=Text("b")),
        CompactionPatch(id="k", status="completed"),
        CompactionPatch(id="k", status="completed", summary=[Text("c")], meta={"a": 1}),
        CompactionPatch(id="k", status="failed", summary=None, error="no"),
    )
    assert all(isinstance(change, CompactionChanged) for change in changes)
    assert [change.created for change in changes] == [True] + [False] * 5
    shown = ["".join(block.text for block in change.compaction.summary) for change in changes]
    assert shown == ["", "a", "ab", "ab", "c", ""]
    assert transcript.compactions == {"k": Compaction(id="k", status="failed", error="no", meta={"a": 1})}
    assert transcript.timeline == [transcript.compactions["k"]]


def test_a_piece_of_an_unknown_compaction_creates_it(transcript: Transcript):
    transcript.apply(CompactionAppend(id="k", content=Text("a")))
    assert transcript.compactions == {"k": Compaction(id="k", status="in_progress", summary=[Text("a")])}


@pytest.mark.requirement("AMB-60")
def test_an_unknown_update_is_delivered_and_kept_in_its_place(transcript: Transcript):
    """FN-50: an unknown update is kept whole and told to whoever listens."""
    report = UnknownPatch(tag="_acme", raw={"sessionUpdate": "_acme", "n": 1})
    change = transcript.apply(report)
    assert isinstance(change, UnknownUpdate)
    assert change.patch == report
    apply_all(transcript, PlanPatch(plan=plan("p")), report)
    assert transcript.timeline == [report, plan("p"), report]
