from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.schema import v1, v2_draft
from tests.schema.v1.shape import known, read, refuses, write


@pytest.mark.requirement("TOOL-35", "TOOL-36")
@pytest.mark.parametrize(
    "diff",
    [
        {"path": "/a", "newText": "new"},
        {"path": "/a", "newText": "new", "oldText": None},
        {"path": "/a", "newText": "new", "oldText": "old"},
        {"changes": [{"operation": "delete", "path": "/a"}]},
        {"changes": [], "patch": {"format": "git_patch", "text": ""}},
    ],
)
def test_a_diff_tells_two_texts_or_changes(diff: dict[str, Any]) -> None:
    assert write(read(v2_draft.ToolCallContent, {"type": "diff", **diff})) == {"type": "diff", **diff}


@pytest.mark.parametrize("diff", [{}, {"path": "/a"}, {"newText": "new"}, {"path": "/a", "oldText": "old"}])
def test_a_diff_of_neither_kind_is_refused(diff: dict[str, Any]) -> None:
    assert refuses(v2_draft.ToolCallContent, {"type": "diff", **diff})


@pytest.mark.parametrize("variant", ["tool_call", "tool_call_update"])
@pytest.mark.requirement("TOOL-06", "UPDATE-40", "AMB-19")
def test_a_tool_call_needs_nothing_but_its_id_in_either_form(variant: str) -> None:
    call = read(v2_draft.SessionUpdate, {"sessionUpdate": variant, "toolCallId": "c", "title": None})
    assert isinstance(call, v2_draft.ToolCallUpdate)
    assert (call.title, call.status) == (None, UNSET)


@pytest.mark.requirement("TOOL-42", "UPDATE-41", "AMB-18")
@pytest.mark.parametrize(
    "item",
    [
        {"type": "content", "content": {"type": "text", "text": "hi"}},
        {"type": "diff", "path": "/a", "newText": "new"},
        {"type": "terminal", "terminalId": "t"},
    ],
)
def test_a_chunk_is_one_item_of_content(item: dict[str, Any]) -> None:
    chunk = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": item}
    assert write(read(v2_draft.SessionUpdate, chunk)) == chunk
    assert refuses(v2_draft.SessionUpdate, {**chunk, "content": [item]})
    for key in chunk:
        assert refuses(v2_draft.SessionUpdate, {name: value for name, value in chunk.items() if name != key})


@pytest.mark.requirement("COMPAT-03", "COMPAT-07", "AMB-22")
@pytest.mark.parametrize("kind", [*known(v1.ToolKind).values, "_dig", "future"])
def test_the_kinds_are_those_of_v1_and_any_other(kind: str) -> None:
    call = {"toolCallId": "c", "kind": kind, "status": "_stuck"}
    assert write(read(v2_draft.ToolCallUpdate, call)) == call
