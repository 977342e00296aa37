from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec import UNSET

from accord.schema import v1, v2, v2_draft
from tests.schema.v1.shape import read, refuses, write

TEXT = {"type": "text", "text": "hi"}


def tags(union: Any) -> set[str]:
    return {variant.__struct_config__.tag for variant in get_args(get_args(union)[0])}


@pytest.mark.requirement("UPDATE-13")
def test_the_updates_are_those_of_v1_and_of_v2_together() -> None:
    assert tags(v2_draft.SessionUpdate) == tags(v1.SessionUpdate) | tags(v2.SessionUpdate)


@pytest.mark.requirement("UPDATE-20", "AMB-69")
@pytest.mark.parametrize("variant", ["user_message", "agent_message", "agent_thought"])
def test_one_block_by_itself_is_an_array_of_one(variant: str) -> None:
    message = read(v2_draft.SessionUpdate, {"sessionUpdate": variant, "messageId": "m", "content": TEXT})
    assert message.content == [v2.TextContent("hi")]
    assert write(message)["content"] == [TEXT]


@pytest.mark.requirement("UPDATE-14", "AMB-51")
@pytest.mark.parametrize("variant", ["user_message", "agent_message", "agent_thought"])
def test_a_whole_message_needs_its_id(variant: str) -> None:
    assert refuses(v2_draft.SessionUpdate, {"sessionUpdate": variant, "content": [TEXT]})


@pytest.mark.requirement("UPDATE-30", "UPDATE-31", "UPDATE-32", "UPDATE-33")
def test_usage_is_that_of_v2() -> None:
    usage = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "USD"}}
    assert read(v2_draft.SessionUpdate, usage) == v2.UsageUpdate(1, 2, v2.Cost(0.5, "USD"))


@pytest.mark.requirement("AMB-21")
def test_modes_and_commands_are_told_as_in_v1() -> None:
    mode = {"sessionUpdate": "current_mode_update", "currentModeId": "ask"}
    command = {"name": "dig", "description": "Dig a bed", "input": {"hint": "which bed"}}
    commands = {"sessionUpdate": "available_commands_update", "availableCommands": [command]}
    assert [write(read(v2_draft.SessionUpdate, each)) for each in (mode, commands)] == [mode, commands]


@pytest.mark.parametrize(("said", "read_as"), [({}, UNSET), ({"content": None}, None), ({"content": []}, [])])
def test_content_left_out_null_and_empty_are_three_things(said: dict[str, Any], read_as: Any) -> None:
    message = read(v2_draft.UserMessage, {"messageId": "m", **said})
    assert message.content == read_as or message.content is read_as


@pytest.mark.requirement("AMB-51", "AMB-69")
def test_a_chunk_may_have_no_id_and_hold_several_blocks() -> None:
    chunk = read(v2_draft.SessionUpdate, {"sessionUpdate": "agent_message_chunk", "content": [TEXT, TEXT]})
    assert chunk.message_id is UNSET
    assert len(chunk.content) == 2


@pytest.mark.requirement("UPDATE-47", "PLAN-11", "AMB-20")
@pytest.mark.parametrize(
    "spelling", [{"id": "x"}, {"planId": "x"}, {"id": "x", "planId": "x"}, {"id": "y", "planId": "x"}]
)
def test_a_plan_is_found_by_either_key_and_written_with_both(spelling: dict[str, str]) -> None:
    plan = read(v2_draft.PlanItems, {"entries": [], **spelling})
    assert plan.plan_id == plan.id == "x"
    assert write(plan) == {"type": "items", "entries": [], "planId": "x", "id": "x"}
