"""Diffs, terminals in tool calls, and cancelling, between v2 and words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.dialects.v2 import V2
from accord.errors import Malformed
from accord.session.diffs import texts_of_patch
from accord.session.entities import Diff, DiffPatch, FileChange, TerminalItem
from accord.session.updates import ToolCallAppend, ToolCallPatch
from tests.dialects.v2.speaking import reports_of, rows_lost, speaker, updates_of


def written(*changes: FileChange, patch: DiffPatch | None = None) -> dict[str, Any]:
    dialect = speaker()
    [update] = updates_of(dialect, ToolCallAppend(id="c1", item=Diff(changes=list(changes), patch=patch)))
    return update["content"]


def test_a_diff_known_by_its_texts_is_told_with_a_patch_made_of_them() -> None:
    content = written(
        FileChange(operation="modify", path="/a.txt", old_text="dry\n", new_text="wet\n"),
        FileChange(operation="add", path="/b.txt", new_text="new\n"),
        FileChange(operation="delete", path="/c.txt", old_text="old\n"),
    )
    assert content["changes"] == [
        {"operation": "modify", "path": "/a.txt"},
        {"operation": "add", "path": "/b.txt"},
        {"operation": "delete", "path": "/c.txt"},
    ]
    assert content["patch"]["format"] == "git_patch"
    assert texts_of_patch(DiffPatch(**content["patch"])) == {
        "/a.txt": ("dry\n", "wet\n"),
        "/b.txt": (None, "new\n"),
        "/c.txt": ("old\n", None),
    }


@pytest.mark.parametrize(
    "change",
    [
        FileChange(operation="modify", path="/a.txt", new_text="wet\n"),
        FileChange(operation="delete", path="/a.txt"),
        FileChange(operation="move", path="/a.txt", old_path="/b.txt", old_text="a", new_text="b"),
        FileChange(operation="modify", path="/a.txt", old_text="same", new_text="same"),
    ],
    ids=lambda change: change.operation,
)
def test_no_patch_is_made_up_where_the_texts_do_not_tell_one(change: FileChange) -> None:
    assert "patch" not in written(change)


def test_a_patch_that_is_there_is_told_as_it_is() -> None:
    change = FileChange(operation="modify", path="/a.txt", old_text="dry\n", new_text="wet\n")
    assert written(change, patch=DiffPatch(format="_mine", text="..."))["patch"] == {"format": "_mine", "text": "..."}


def test_an_operation_that_is_not_known_is_kept_whole() -> None:
    split = {"operation": "_split", "path": "/a.txt", "into": ["/b.txt", "/c.txt"]}
    item = {"type": "diff", "changes": [split]}
    [report] = reports_of(V2(), sessionUpdate="tool_call_content_chunk", toolCallId="c1", content=item)
    assert report == ToolCallAppend(
        id="c1", item=Diff(changes=[FileChange(operation="_split", path="/a.txt", raw=split)])
    )
    assert written(FileChange(operation="_split", path="/a.txt", raw=split))["changes"] == [split]
    assert written(FileChange(operation="_split", path="/a.txt"))["changes"] == [
        {"operation": "_split", "path": "/a.txt"}
    ]


def test_a_terminal_item_is_told_as_it_is_whoever_owns_the_terminal() -> None:
    dialect = speaker()
    [update] = updates_of(dialect, ToolCallPatch(id="c1", content=[TerminalItem(terminal_id="t1")]))
    assert update["content"] == [{"type": "terminal", "terminalId": "t1"}]
    assert rows_lost(dialect) == []


@pytest.mark.parametrize(
    ("cancellable", "capabilities"), [(True, {"cancel": {}}), (False, {}), (None, None), (UNSET, UNSET)]
)
def test_that_a_tool_call_can_be_cancelled_is_a_capability_of_it(cancellable: Any, capabilities: Any) -> None:
    [update] = updates_of(speaker(), ToolCallPatch(id="c1", cancellable=cancellable))
    assert update.get("capabilities", UNSET) == capabilities
    assert reports_of(V2(), **update) == [ToolCallPatch(id="c1", cancellable=cancellable)]


def test_a_null_marker_does_not_let_a_tool_call_be_cancelled() -> None:
    [report] = reports_of(V2(), sessionUpdate="tool_call_update", toolCallId="c1", capabilities={"cancel": None})
    assert report == ToolCallPatch(id="c1", cancellable=False)


@pytest.mark.parametrize(
    "members",
    [
        {"locations": [{"path": "a.txt"}]},
        {"content": [{"type": "diff", "changes": [{"operation": "add", "path": "a.txt"}]}]},
    ],
    ids=["location", "diff"],
)
def test_a_path_that_is_not_absolute_is_noted_and_an_error_when_strict(members: dict[str, Any]) -> None:
    dialect = V2()
    assert len(reports_of(dialect, sessionUpdate="tool_call_update", toolCallId="c1", **members)) == 1
    assert len(dialect.notes) == 1
    with pytest.raises(Malformed, match="absolute"):
        reports_of(V2(strict=True), sessionUpdate="tool_call_update", toolCallId="c1", **members)


def test_a_line_that_does_not_count_from_1_is_left_out_and_its_path_kept() -> None:
    locations = [{"path": "/a.txt", "line": 0}]
    [report] = reports_of(V2(), sessionUpdate="tool_call_update", toolCallId="c1", locations=locations)
    assert isinstance(report, ToolCallPatch)
    assert [(each.path, each.line) for each in report.locations or []] == [("/a.txt", None)]
