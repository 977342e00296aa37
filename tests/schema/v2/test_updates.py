from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, known, read, refuses, write

TEXT = {"type": "text", "text": "hi"}


@pytest.mark.requirement("UPDATE-01", "UPDATE-02")
def test_an_update_belongs_to_a_session_and_is_told_by_its_tag() -> None:
    update = {"sessionUpdate": "session_info_update"}
    assert_shape(v2.UpdateSessionNotification, {"sessionId": "s", "update": update})
    assert_shape(v2.SessionUpdate, update, {"title": "t", "updatedAt": "2026-11-03T10:15:00Z"})


@pytest.mark.requirement("UPDATE-14", "UPDATE-15", "UPDATE-20")
@pytest.mark.parametrize("variant", ["user_message", "agent_message", "agent_thought"])
def test_a_message_is_a_list_of_blocks(variant: str) -> None:
    assert_shape(v2.SessionUpdate, {"sessionUpdate": variant, "messageId": "m"}, {"content": [TEXT]})


@pytest.mark.requirement("UPDATE-14", "UPDATE-24")
@pytest.mark.parametrize("variant", ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"])
def test_a_chunk_is_one_block(variant: str) -> None:
    chunk = {"sessionUpdate": variant, "messageId": "m", "content": TEXT}
    assert_shape(v2.SessionUpdate, chunk)
    assert refuses(v2.SessionUpdate, {**chunk, "content": [TEXT]})


@pytest.mark.requirement("UPDATE-20")
@pytest.mark.parametrize("kind", [v2.UserMessage, v2.AgentMessage, v2.AgentThought])
def test_content_left_out_null_and_empty_are_three_things(kind: Any) -> None:
    said = [{}, {"content": None}, {"content": []}]
    messages = [read(kind, {"messageId": "m", **each}) for each in said]
    assert [message.content for message in messages] == [UNSET, None, []]
    assert [write(message).get("content", UNSET) for message in messages] == [UNSET, None, []]


@pytest.mark.requirement("UPDATE-31", "UPDATE-32", "UPDATE-33")
def test_usage_has_two_counts_and_perhaps_a_cost() -> None:
    usage = {"sessionUpdate": "usage_update", "used": 2**53 + 1, "size": 2**64 - 1}
    assert_shape(v2.SessionUpdate, usage, {"cost": {"amount": 0.5, "currency": "credits"}})
    assert refuses(v2.SessionUpdate, {**usage, "used": -1})


@pytest.mark.requirement("UPDATE-34", "UPDATE-35")
def test_a_cost_has_an_amount_and_a_currency() -> None:
    assert_shape(v2.Cost, {"amount": 0.5, "currency": "EUR"})


def test_a_cost_left_out_is_not_a_cost_of_null() -> None:
    assert read(v2.UsageUpdate, {"used": 1, "size": 2}).cost is UNSET
    assert read(v2.UsageUpdate, {"used": 1, "size": 2, "cost": None}).cost is None


def test_a_notice_has_words_in_its_title() -> None:
    notice = {"sessionUpdate": "notice", "severity": "warning", "title": "It rains"}
    assert_shape(v2.SessionUpdate, notice, {"description": "Until noon"})
    assert refuses(v2.SessionUpdate, {**notice, "title": ""})
    assert set(known(v2.NoticeSeverity).values) == {"info", "warning", "error"}


def test_a_compaction_is_told_by_status_and_chunks() -> None:
    update = {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}
    assert_shape(v2.SessionUpdate, update, {"summary": [TEXT], "error": "e"})
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": TEXT})
    assert set(known(v2.CompactionStatus).values) == {"in_progress", "completed", "failed", "cancelled"}


@pytest.mark.parametrize("variant", ["tool_call", "plan", "current_mode_update"])
def test_what_only_v1_has_is_unknown(variant: str) -> None:
    assert refuses(v2.SessionUpdate, {"sessionUpdate": variant, "toolCallId": "c", "title": "t", "entries": []})


ENTRY = {"content": "Dig", "priority": "high", "status": "pending"}
ITEMS = {"type": "items", "planId": "p", "entries": [ENTRY]}


def test_a_plan_has_a_type_an_id_and_entries() -> None:
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "plan_update", "plan": ITEMS})
    assert_shape(v2.PlanUpdateContent, ITEMS)
    assert_shape(v2.PlanEntry, ENTRY)


def test_the_known_priorities_and_statuses() -> None:
    assert set(known(v2.PlanEntryPriority).values) == {"high", "medium", "low"}
    assert set(known(v2.PlanEntryStatus).values) == {"pending", "in_progress", "completed", "cancelled"}
