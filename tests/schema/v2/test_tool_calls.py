from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, known, read, refuses, write

TEXT = {"type": "text", "text": "hi"}
OPTIONAL = {
    "name": "shell",
    "title": "Water",
    "kind": "execute",
    "status": "paused",
    "content": [{"type": "content", "content": TEXT}],
    "locations": [{"path": "/a", "line": 1}],
    "rawInput": {"litres": 10},
    "rawOutput": [1, None],
    "capabilities": {"cancel": {}},
}
OPAQUE = ("rawInput", "rawOutput")


@pytest.mark.requirement("TOOL-04", "UPDATE-40")
def test_a_tool_call_needs_nothing_but_its_id() -> None:
    assert_shape(v2.ToolCallUpdate, {"toolCallId": "c"}, OPTIONAL, OPAQUE)
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "tool_call_update", "toolCallId": "c"}, OPTIONAL, OPAQUE)


@pytest.mark.requirement("UPDATE-37")
@pytest.mark.parametrize(("key", "field"), [("rawInput", "raw_input"), ("rawOutput", "raw_output"), ("_meta", "meta")])
@pytest.mark.parametrize("other", ["name", "title", "kind", "status", "content", "locations", "capabilities"])
def test_every_member_can_be_left_out_or_cleared(key: str, field: str, other: str) -> None:
    left_out = read(v2.ToolCallUpdate, {"toolCallId": "c"})
    cleared = read(v2.ToolCallUpdate, {"toolCallId": "c", key: None, other: None})
    assert (getattr(left_out, field), getattr(left_out, other)) == (UNSET, UNSET)
    assert (getattr(cleared, field), getattr(cleared, other)) == (None, None)
    assert write(cleared) == {"toolCallId": "c", key: None, other: None}


def test_an_empty_list_is_not_a_cleared_one() -> None:
    call = read(v2.ToolCallUpdate, {"toolCallId": "c", "content": [], "locations": []})
    assert (call.content, call.locations) == ([], [])


def test_a_tool_call_in_a_permission_request_has_no_tag() -> None:
    assert write(v2.ToolCallUpdate("c")) == {"toolCallId": "c"}
    assert write(v2.ToolCallUpdateVariant("c")) == {"sessionUpdate": "tool_call_update", "toolCallId": "c"}


@pytest.mark.requirement("UPDATE-41", "TOOL-34")
def test_a_chunk_is_one_item_of_content() -> None:
    item = {"type": "content", "content": TEXT}
    chunk = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": item}
    assert_shape(v2.SessionUpdate, chunk)
    assert_shape(v2.ToolCallContent, item)
    assert_shape(v2.ToolCallContent, {"type": "terminal", "terminalId": "t"})
    assert refuses(v2.SessionUpdate, {**chunk, "content": [item]})


@pytest.mark.parametrize("operation", ["add", "delete", "modify", "move", "copy"])
def test_only_moves_and_copies_have_an_old_path(operation: str) -> None:
    change = {"operation": operation, "path": "/new"}
    if operation in {"move", "copy"}:
        assert refuses(v2.DiffChange, change)
        change["oldPath"] = "/old"
    assert_shape(v2.DiffChange, change, {"fileType": "text", "mimeType": "text/plain"})


def test_a_diff_needs_its_changes_and_a_patch_is_extra() -> None:
    patch = {"format": "git_patch", "text": ""}
    assert_shape(v2.ToolCallContent, {"type": "diff", "changes": []}, {"patch": patch})
    assert_shape(v2.DiffPatch, patch)


@pytest.mark.requirement("TOOL-38", "TOOL-39")
@pytest.mark.parametrize("line", [0, -1, 2**32, 1.5])
def test_lines_are_counted_from_1(line: Any) -> None:
    assert_shape(v2.ToolCallLocation, {"path": "/a"}, {"line": 1})
    assert refuses(v2.ToolCallLocation, {"path": "/a", "line": line})


@pytest.mark.requirement("TOOL-24", "TOOL-25", "TOOL-26", "TOOL-27")
def test_the_known_kinds_and_statuses() -> None:
    kinds = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
    statuses = {"pending", "in_progress", "paused", "completed", "failed", "cancelled"}
    assert set(known(v2.ToolKind).values) == kinds
    assert set(known(v2.ToolCallStatus).values) == statuses
    assert set(known(v2.DiffFileType).values) == {"text", "binary", "directory", "symlink"}


def test_a_tool_call_is_cancelled_by_its_id() -> None:
    assert_shape(v2.CancelToolCallRequest, {"sessionId": "s", "toolCallId": "c"})
