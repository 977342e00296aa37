from __future__ import annotations

from typing import Any, get_args

import pytest

from accord.schema import v1
from accord.schema.wire_values import UNSET
from tests.schema.v1.shape import assert_shape, known, read, refuses, write

CHANGES: dict[str, Any] = {
    "name": "read_file",
    "kind": "read",
    "status": "in_progress",
    "content": [],
    "locations": [],
    "rawInput": {"path": "a"},
    "rawOutput": {"lines": 3},
}
OPAQUE = ("rawInput", "rawOutput")


@pytest.mark.requirement("TOOL-02", "TOOL-04", "TOOL-05", "TOOL-07", "TOOL-08", "TOOL-09", "TOOL-10", "UPDATE-06")
@pytest.mark.requirement("TOOL-11", "TOOL-12", "TOOL-29")
def test_a_tool_call_is_reported_with_an_id_and_a_title():
    call = {"sessionUpdate": "tool_call", "toolCallId": "call_001", "title": "Reading"}
    assert_shape(v1.SessionUpdate, call, CHANGES, opaque=OPAQUE)


@pytest.mark.requirement("TOOL-31", "UPDATE-07")
def test_an_update_needs_only_the_id():
    changes = CHANGES | {"title": "Reading"}
    assert_shape(v1.ToolCallUpdate, {"toolCallId": "call_001"}, changes, opaque=OPAQUE)
    tagged = {"sessionUpdate": "tool_call_update", "toolCallId": "call_001"}
    assert_shape(v1.SessionUpdate, tagged, changes, opaque=OPAQUE)


def test_an_update_carries_its_tag_only_as_a_session_update():
    assert write(v1.ToolCallUpdate("call_001")) == {"toolCallId": "call_001"}
    assert write(v1.ToolCallUpdateVariant("call_001")) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "call_001",
    }


@pytest.mark.requirement("TOOL-31")
def test_null_in_an_update_is_told_from_absence():
    update = read(v1.ToolCallUpdate, {"toolCallId": "call_001", "title": None})
    assert update.title is None
    assert update.status is UNSET
    assert write(update) == {"toolCallId": "call_001", "title": None}


@pytest.mark.parametrize("value", [{"a": [1]}, [1, "a"], "text", 0, True, None])
@pytest.mark.requirement("AMB-56")
def test_raw_input_and_output_are_any_json(value: object):
    update = {"toolCallId": "call_001", "rawInput": value, "rawOutput": value}
    assert write(read(v1.ToolCallUpdate, update)) == update


@pytest.mark.requirement("TOOL-33", "TOOL-34", "TOOL-35", "TOOL-36", "TOOL-37")
def test_content_is_a_block_a_diff_or_a_terminal():
    assert {item.__struct_config__.tag for item in get_args(get_args(v1.ToolCallContent)[0])} == {
        "content",
        "diff",
        "terminal",
    }
    assert_shape(v1.ToolCallContent, {"type": "content", "content": {"type": "text", "text": "ok"}})
    assert_shape(v1.ToolCallContent, {"type": "diff", "path": "/a", "newText": "b"}, {"oldText": "a"})
    assert_shape(v1.ToolCallContent, {"type": "terminal", "terminalId": "term_1"})


@pytest.mark.requirement("TOOL-36", "AMB-48")
def test_a_new_file_can_be_said_with_null():
    diff = {"type": "diff", "path": "/a", "oldText": None, "newText": "b"}
    assert write(read(v1.ToolCallContent, diff)) == diff


def test_a_bare_block_is_no_content_of_a_tool_call():
    assert refuses(v1.ToolCallContent, {"type": "text", "text": "ok"})


@pytest.mark.requirement("TOOL-38", "TOOL-39")
def test_a_location_is_a_path_and_maybe_a_line():
    assert_shape(v1.ToolCallLocation, {"path": "/a"}, {"line": 42})
    assert refuses(v1.ToolCallLocation, {"path": "/a", "line": 2**32})
    assert refuses(v1.ToolCallLocation, {"path": "/a", "line": -1})


@pytest.mark.requirement("TOOL-14", "TOOL-15", "TOOL-16", "TOOL-17", "TOOL-18", "TOOL-19", "TOOL-20", "TOOL-21")
@pytest.mark.requirement("TOOL-22", "TOOL-23", "CHECK-31", "COMPAT-11")
def test_the_ten_kinds_are_a_closed_list():
    kinds = known(v1.ToolKind)
    assert kinds.closed
    assert set(kinds.values) == {
        *("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
    }


@pytest.mark.requirement("TOOL-24", "TOOL-25", "TOOL-26", "TOOL-27", "COMPAT-11")
def test_the_four_statuses_are_a_closed_list():
    statuses = known(v1.ToolCallStatus)
    assert statuses.closed
    assert statuses.values == ("pending", "in_progress", "completed", "failed")


@pytest.mark.requirement("AMB-59")
def test_a_kind_that_is_not_listed_is_kept():
    """FN-50: an unknown enum value does not drop the message."""
    assert read(v1.ToolCallUpdate, {"toolCallId": "call_001", "kind": "paint"}).kind == "paint"
