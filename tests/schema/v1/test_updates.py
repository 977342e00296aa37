from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from accord.schema import v1
from accord.schema.wire_values import OPEN, UNSET, Alias
from tests.schema.v1.shape import assert_shape, known, marker, read, refuses, write

TEXT = {"type": "text", "text": "Hello"}


def titled(**members: Any) -> dict[str, Any]:
    return {"sessionUpdate": "session_info_update", **members}


@pytest.mark.requirement("UPDATE-01", "UPDATE-02")
def test_an_update_is_a_flat_object_with_a_tag():
    update = {"sessionUpdate": "current_mode_update", "currentModeId": "code"}
    assert_shape(v1.SessionNotification, {"sessionId": "sess_1", "update": update})
    assert refuses(v1.SessionUpdate, {"currentModeId": "code"})
    assert refuses(v1.SessionUpdate, {"plan": {"entries": []}})


@pytest.mark.parametrize("tag", ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"])
@pytest.mark.requirement("UPDATE-03", "UPDATE-04", "UPDATE-05")
def test_a_chunk_holds_one_block(tag: str):
    assert_shape(v1.SessionUpdate, {"sessionUpdate": tag, "content": TEXT}, {"messageId": "msg_1"})


def test_chunks_of_different_speakers_have_different_types():
    said = {"content": TEXT}
    user = read(v1.SessionUpdate, {"sessionUpdate": "user_message_chunk"} | said)
    agent = read(v1.SessionUpdate, {"sessionUpdate": "agent_message_chunk"} | said)
    assert type(user) is v1.UserMessageChunk
    assert type(agent) is v1.AgentMessageChunk
    assert user != agent


@pytest.mark.requirement("UPDATE-10")
def test_a_mode_is_written_with_its_own_name_and_known_by_an_older_one():
    assert_shape(v1.SessionUpdate, {"sessionUpdate": "current_mode_update", "currentModeId": "code"})
    member = next(field for field in msgspec.structs.fields(v1.CurrentModeUpdate) if field.required)
    assert (member.encode_name, marker(member.type, Alias).key) == ("currentModeId", "modeId")


def test_the_options_are_reported_all_together():
    assert_shape(v1.SessionUpdate, {"sessionUpdate": "config_option_update", "configOptions": []})


def test_a_title_is_kept_cleared_or_replaced():
    assert read(v1.SessionUpdate, titled()).title is UNSET
    assert read(v1.SessionUpdate, titled(title=None)).title is None
    assert read(v1.SessionUpdate, titled(title="Sweeping")).title == "Sweeping"


@pytest.mark.parametrize("members", [{}, {"title": None}, {"title": "", "updatedAt": None}])
def test_the_three_states_of_a_title_survive_writing(members: dict[str, Any]):
    assert write(read(v1.SessionUpdate, titled(**members))) == titled(**members)


def test_usage_counts_tokens_and_maybe_money():
    usage = {"sessionUpdate": "usage_update", "used": 53000, "size": 2**64 - 1}
    assert_shape(v1.SessionUpdate, usage, {"cost": {"amount": 0.045, "currency": "USD"}})
    assert_shape(v1.Cost, {"amount": 0.045, "currency": "credits"})
    assert refuses(v1.SessionUpdate, usage | {"used": -1})


def test_a_notice_has_words():
    notice = {"sessionUpdate": "notice", "severity": "info", "title": "Saved"}
    assert_shape(v1.SessionUpdate, notice, {"description": "All of it"})
    assert refuses(v1.SessionUpdate, notice | {"title": ""})


def test_a_compaction_is_told_by_its_id():
    compaction = {"sessionUpdate": "compaction_update", "compactionId": "comp_1", "status": "completed"}
    assert_shape(v1.SessionUpdate, compaction, {"summary": [TEXT], "error": "out of memory"})
    chunk = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "comp_1", "content": TEXT}
    assert_shape(v1.SessionUpdate, chunk)


@pytest.mark.parametrize("enum", [v1.NoticeSeverity, v1.CompactionStatus])
def test_the_newer_enums_are_open(enum: Any):
    assert not known(enum).closed


@pytest.mark.parametrize(
    "union",
    [
        v1.SessionUpdate,
        v1.ContentBlock,
        v1.ToolCallContent,
        v1.SessionConfigOption,
        v1.RequestPermissionOutcome,
        v1.CreateElicitationRequest,
        v1.CreateElicitationResponse,
        v1.ElicitationPropertySchema,
    ],
)
def test_every_union_admits_variants_that_are_not_known_yet(union: Any):
    assert OPEN in get_args(union)


ENTRY = {"content": "Look", "priority": "high", "status": "pending"}


@pytest.mark.requirement("PLAN-03", "PLAN-04", "PLAN-05", "PLAN-06", "UPDATE-08")
def test_a_plan_is_a_list_of_steps():
    assert_shape(v1.PlanEntry, ENTRY)
    assert_shape(v1.SessionUpdate, {"sessionUpdate": "plan", "entries": [ENTRY]})


@pytest.mark.requirement("PLAN-05", "PLAN-06")
def test_priorities_and_statuses_are_closed_lists():
    assert known(v1.PlanEntryPriority).values == ("high", "medium", "low")
    assert known(v1.PlanEntryStatus).values == ("pending", "in_progress", "completed")
    assert known(v1.PlanEntryPriority).closed
    assert known(v1.PlanEntryStatus).closed
