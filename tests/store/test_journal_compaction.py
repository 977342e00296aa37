"""Reports that later ones have made needless are not read again."""

from __future__ import annotations

from typing import Any

import pytest

from accord.session.content import Text
from accord.session.entities import Cost, Plan, PlanEntry
from accord.session.transcript import Transcript
from accord.session.updates import Patch, PlanPatch, ToolCallPatch, UsagePatch
from accord.session.value import UNSET
from accord.store.journal_compaction import folded
from tests.session.words import item, piece, tool_piece


def call(id: str = "c", **rest: Any) -> ToolCallPatch:
    return ToolCallPatch(id=id, **rest)


def plan(*steps: str, id: str = "p") -> PlanPatch:
    return PlanPatch(plan=Plan(id=id, entries=[PlanEntry(step) for step in steps]))


def test_patches_of_a_tool_call_that_follow_each_other_are_one():
    told: list[Patch] = [
        call(title="Look", kind="read", creates=True),
        call(status="in_progress"),
        call(kind=None, content=[]),
    ]
    assert folded(told) == [call(title="Look", kind=None, status="in_progress", content=[], creates=True)]


def test_a_patch_goes_where_the_first_one_stood():
    told: list[Patch] = [call(title="Look"), piece("a", id="m"), call(status="completed"), piece("b", id="m")]
    assert folded(told) == [call(title="Look", status="completed"), piece("a", id="m"), piece("b", id="m")]


def test_a_patch_never_goes_before_a_piece_of_its_tool_call():
    told: list[Patch] = [call(content=[item("a")]), tool_piece("b"), call(content=[item("c")]), piece("x", id="m")]
    assert folded([*told]) == told


def test_tool_calls_are_told_apart():
    told: list[Patch] = [call("a"), call("b"), call("a", title="A"), call("b", title="B"), piece("x", id="m")]
    assert folded(told) == [call("a", title="A"), call("b", title="B"), piece("x", id="m")]


def test_only_the_newest_of_a_plan_is_told():
    told: list[Patch] = [plan("a"), plan("x", id="q"), piece("t", id="m"), plan("b"), piece("u", id="m")]
    assert folded(told) == [plan("b"), plan("x", id="q"), piece("t", id="m"), piece("u", id="m")]


def test_usage_left_without_a_cost_has_the_one_before():
    cost = Cost(1.0, "EUR")
    told: list[Patch] = [UsagePatch(used=1, size=9, cost=cost), piece("a"), UsagePatch(used=2, size=9)]
    assert folded(told) == [UsagePatch(used=2, size=9, cost=cost), piece("a")]
    assert folded([UsagePatch(used=1, size=9, cost=cost), UsagePatch(used=2, size=9, cost=None)]) == [
        UsagePatch(used=2, size=9, cost=None)
    ]


def test_a_tool_call_that_begins_again_stays_where_it_ends_a_message_without_an_id():
    again = call(status="pending", creates=True)
    told: list[Patch] = [call(status="completed"), piece("one"), again, piece("two"), call(title="Look")]
    assert folded([*told]) == [*told[:2], call(title="Look", status="pending", creates=True), piece("two")]
    transcript = Transcript()
    for report in folded(told):
        transcript.apply(report)
    assert [message.text for message in transcript.messages.values()] == ["one", "two"]


@pytest.mark.parametrize("refresh", [call(status="completed"), plan("b")], ids=["tool call", "plan"])
def test_a_refresh_is_laid_over_the_first_also_between_messages_without_an_id(refresh: Patch):
    told: list[Patch] = [call(title="Look"), plan("a"), piece("one"), refresh, piece("two")]
    assert len(folded(told)) == 4


METAS: list[Any] = [UNSET, None, {}, {"a": 1}, {"a": None, "b": 2}]


@pytest.mark.parametrize("stored", [None, {"a": 0, "c": 3}])
@pytest.mark.parametrize("first", METAS, ids=str)
@pytest.mark.parametrize("second", METAS, ids=str)
@pytest.mark.parametrize("replaces", [(False, False), (False, True), (True, False), (True, True)])
def test_a_meta_ends_up_as_it_would_have(stored: Any, first: Any, second: Any, replaces: tuple[bool, bool]):
    def told() -> list[Patch]:
        return [call(meta=first, meta_replaces=replaces[0]), call(meta=second, meta_replaces=replaces[1])]

    metas: list[Any] = []
    for reports in (told(), folded(told())):
        transcript = Transcript()
        for report in [call(meta=stored), *reports]:
            transcript.apply(report)
        metas.append(transcript.tool_calls["c"].meta)
    assert len(folded(told())) == 1
    assert metas[0] == metas[1]


def test_other_reports_pass_in_order():
    told: list[Patch] = [piece(Text("a", meta={})), piece("b"), tool_piece("c"), piece("d")]
    assert folded([*told]) == told
