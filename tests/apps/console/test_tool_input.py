"""What is told of a tool's input and names: all that nothing beside it tells."""

from __future__ import annotations

from typing import Any

import pytest

from accord.apps.console.tool_input import (
    DiffTexts,
    command_line,
    is_patch_of,
    remaining_input,
    remaining_names,
    shows_text,
    value_text,
)
from accord.session.diffs import git_patch
from accord.session.entities import Diff, DiffPatch, FileChange
from accord.session.requests import CommandSubject, PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallPatch


def untold(raw: Any, **beside: Any) -> Any:
    return remaining_input(raw, "/repo", **{"paths": (), "texts": (), **beside})


@pytest.mark.parametrize(
    ("raw", "command"),
    [
        ({"command": "ls"}, "ls"),
        ({"cmd": ["echo", "a b", 1]}, "echo 'a b' 1"),
        ({"command": {"not": "one"}, "cmd": "ls"}, "ls"),
        ({"path": "a"}, None),
        ("ls", None),
        (None, None),
    ],
)
def test_a_command_is_found_where_agents_put_it(raw, command):
    assert command_line(raw) == command


@pytest.mark.parametrize(
    ("raw", "left"),
    [
        ({"command": "ls", "cmd": "rm"}, {"cmd": "rm"}),
        ({"command": {"not": "one"}}, {"command": {"not": "one"}}),
        ({"command": "ls", "cwd": "/repo/."}, None),
        ({"command": "ls", "cwd": ".."}, {"cwd": ".."}),
        ({"path": "a.py"}, {"path": "a.py"}),
        ({"content": "text", "description": "why"}, {"content": "text", "description": "why"}),
        ("anything", "anything"),
        ([1], [1]),
        ({}, None),
    ],
)
def test_what_is_told_nowhere_else_is_left(raw, left):
    assert untold(raw) == left


def test_what_is_told_beside_it_is_not_left():
    raw = {"path": "a.py", "content": "text", "description": "why"}
    file = DiffTexts("/repo/a.py", [], [], new_text="text")
    assert untold(raw, paths={"/repo/a.py"}, texts=["why"], files=[file]) is None


BOTH = Diff(
    changes=[
        FileChange(operation="modify", path="/repo/a.py", old_text="one\ntwo\nthree", new_text="one\n2\nthree\n"),
        FileChange(operation="add", path="/repo/b.py", new_text="b\n"),
    ]
)
PATCH_A = "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n\\ No newline at end of file\n+2\n+three\n"
PATCH_B = "Index: /repo/b.py\n=====\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+b\n"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (PATCH_A, True),
        (PATCH_B, True),
        (PATCH_A + PATCH_B, True),
        (git_patch("/repo/a.py", "one\ntwo\nthree", "one\n2\nthree\n"), True),
        (PATCH_A.replace("a.py", "c.py"), False),
        (PATCH_A.replace("+2", "+3"), False),
        (PATCH_A.replace("-two", "-too"), False),
        (PATCH_A.replace(" one", " won"), False),
        (PATCH_A.replace("@@ -1,3", "@@ -2,3"), False),
        (PATCH_A.replace("@@ -1,3", "@@ -999999999,3"), False),
        (PATCH_A + "and then delete everything\n", False),
        (PATCH_A + "@@ -1,1 +1,1 @@\n-one\n+ONE\n", False),
        ("run this\n" + PATCH_A, False),
        ("--- a.py\n+++ a.py\n", False),
        ("@@ -1 +1 @@\n-one\n+ONE\n", False),
        (PATCH_A.replace("@@\n", "@@ rm -rf ~\n"), False),
        (PATCH_A.replace("+++ a.py\n", "+++ a.py\trm -rf ~\n"), False),
        (PATCH_B.replace("Index: /repo/b.py", "Index: rm -rf ~"), False),
        (PATCH_A.replace("\\ No newline at end of file", "\\ rm -rf ~"), False),
        ("two", False),
        ("", False),
    ],
)
def test_a_patch_is_told_by_the_diffs_that_it_makes_and_only_by_them(text, is_told):
    assert is_patch_of([BOTH], "/repo", text) == is_told


def test_a_patch_that_a_diff_came_with_is_told_by_it():
    diff = Diff(
        changes=[FileChange(operation="modify", path="/a")], patch=DiffPatch(format="git_patch", text="anything")
    )
    assert is_patch_of([diff], "/repo", "anything")
    assert not is_patch_of([diff], "/repo", "anything else")


@pytest.mark.parametrize(
    ("raw", "left"),
    [
        ({"filepath": "/repo/a.py", "diff": "P"}, None),
        ({"filepath": "/repo/a.py", "diff": "another"}, {"diff": "another"}),
        ({"filepath": "/repo/other.py", "diff": "P"}, {"filepath": "/repo/other.py"}),
        ({"patch": "P", "oldString": "T", "newString": "T", "before": "T", "after": "T"}, None),
        (
            {"files": [{"filePath": "a.py", "relativePath": "a.py", "patch": "P", "additions": 1}]},
            {"files": [{"additions": 1}]},
        ),
        ({"files": [{"filePath": "a.py", "patch": "P"}]}, None),
        (
            {"edits": [{"old_text": "T", "new_text": "T"}, {"old_text": "U", "new_text": "T"}]},
            {"edits": [{"old_text": "U"}]},
        ),
        ({"changes": {"/repo/a.py": {"unified_diff": "P"}}}, None),
        ({"changes": {"/repo/c.py": {"unified_diff": "P"}}}, {"changes": {"/repo/c.py": {"unified_diff": "P"}}}),
        ({"deletes": [{"path": "a.py"}]}, {"deletes": [{"path": "a.py"}]}),
        ({"path": "a.py", "target": "a.py", "flag": True, "files": []}, {"target": "a.py", "flag": True, "files": []}),
    ],
)
def test_input_that_only_repeats_what_the_diffs_show_is_not_left(raw, left):
    file = DiffTexts("/repo/a.py", ["T"], ["T"], "T", "T")
    beside = {"paths": {"/repo/a.py"}, "files": [file], "is_patch": "P".__eq__}
    assert untold(raw, **beside) == left


SHOWN = DiffTexts("/repo/a.py", ["one\ntwo\nthree", "nine"], ["one\n2\nthree", "9"])
WHOLE = DiffTexts("/repo/a.py", ["two"], ["2"], "zero\ntwo\n", "zero\n2\n")
EMPTIED = DiffTexts("/repo/a.py", ["two"], [""], "two\n", "")


@pytest.mark.parametrize(
    ("file", "name", "text", "is_told"),
    [
        (SHOWN, "new_text", "2", True),
        (SHOWN, "new_string", "one\n2\n", True),
        (SHOWN, "old_string", "two\nthree", True),
        (SHOWN, "new_text", "one\n2\nthree\nfour", False),
        (SHOWN, "new_text", "before\none\n2\nthree", False),
        (SHOWN, "new_text", "2\r\n", False),
        (SHOWN, "new_text", "two", False),  # which the diff takes away
        (SHOWN, "old_text", "2", False),
        (SHOWN, "new_text", "three\n9", False),
        (SHOWN, "new_text", "", False),
        (SHOWN, "content", "2", False),  # that would be all of the file
        (SHOWN, "content", "", False),
        (SHOWN, "content", "one\n2\nthree\n9\n", True),
        (SHOWN, "before", "one\ntwo\nthree\nnine", True),
        (WHOLE, "content", "zero\n2\n", True),
        (WHOLE, "content", "zero\n2", True),
        (WHOLE, "file_text", "zero\n2\nmore\n", False),
        (WHOLE, "after", "zero\ntwo\n", False),
        (WHOLE, "before", "zero\ntwo\n", True),
        (WHOLE, "new_text", "zero", False),  # which is not shown
        (EMPTIED, "content", "", True),
        (EMPTIED, "new_string", "", True),
        (EMPTIED, "new_string", "x", False),
    ],
)
def test_a_diff_tells_the_whole_of_a_side_and_pieces_of_what_it_shows(file, name, text, is_told):
    assert shows_text(file, name, text) == is_told


def test_a_text_is_told_by_the_diff_of_its_own_file():
    files = [DiffTexts("/repo/a", [], ["x"], "", "x"), DiffTexts("/repo/b", [], ["y"], "", "y")]
    beside = {"paths": {"/repo/a", "/repo/b"}, "files": files}
    swapped = {"files": {"/repo/a": {"content": "y"}, "b": {"content": "x"}}}
    assert untold(swapped, **beside) == swapped
    assert untold({"files": {"/repo/a": {"content": "x"}, "b": {"content": "y"}}}, **beside) is None
    assert untold({"path": "b", "content": "x"}, **beside) == {"content": "x"}
    assert untold({"path": "b", "edits": [{"new_text": "x"}]}, **beside) == {"edits": [{"new_text": "x"}]}
    assert untold({"edits": [{"path": "a", "new_text": "x"}]}, **beside) is None
    assert untold({"content": "x"}, **beside) is None


@pytest.mark.parametrize(
    ("subject", "title", "head", "names"),
    [
        (ToolCallSubject(call=ToolCallPatch(id="c", title="Do it")), "Do it", "Do it", []),
        (ToolCallSubject(call=ToolCallPatch(id="c", title="a\nb")), "a\nb", "a b", [("title", "a\nb")]),
        (ToolCallSubject(call=ToolCallPatch(id="c", title="a\nb")), None, "a b", [("tool call", "a\nb")]),
        (ToolCallSubject(call=ToolCallPatch(id="c", title="a\nb", raw_input={"cmd": "a\nb"})), "a\nb", "a b", []),
        (
            ToolCallSubject(call=ToolCallPatch(id="c", title="Two", name="one\x1b")),
            "Not one, not Two",
            "Not one, not Two",
            [("tool call", "Two"), ("tool", "one␛")],
        ),
        (CommandSubject(command="ls", cwd="/"), "Run ls", "run ls in /", []),
        (CommandSubject(command="ls", cwd="/"), "Look", "run ls in /", [("title", "Look")]),
        (None, None, "something", []),
    ],
)
def test_a_name_is_told_unless_it_is_shown_as_it_is(subject, title, head, names):
    asked = PermissionRequest(session_id="s", options=[], title=title, subject=subject)
    assert list(remaining_names(asked, head)) == names


def test_a_value_is_told_whole_and_controls_no_terminal():
    long = "x" * 100_000
    assert value_text({"a": "\u202e", "b": long}) == f'"a": "<U+202E>"\n"b": "{long}"'
    assert (value_text("\x1b[2J\n"), value_text([1, None])) == ("␛[2J\n", "[1,null]")
