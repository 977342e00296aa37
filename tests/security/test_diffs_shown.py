"""Diffs that hide what would be written: by wide letters, by what a patch says beside its lines, by another raw input."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from accord.apps.console.permission_flags import question_lines
from accord.apps.console.screen.drawing.permission_text import permission_parts
from accord.session.entities import Diff, DiffPatch, FileChange
from accord.session.requests import PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallPatch

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.screen.drawing.palettes import canvas
from tests.apps.console.screen.stage import opened
from tests.security.test_questions_shown import EVIL, FLOODS, SIZES, YES_OR_NO, asker, read_to_end


async def seen_of(tmp_path: Any, size: tuple[int, int] = (100, 30), *, version: Any = 1, **what: Any) -> str:
    wide = what.pop("wide", False)
    agent, _ = asker(**what)
    async with opened(agent, tmp_path, size=size, version=version) as stage:
        seen = await read_to_end(stage, wide=wide)
        await stage.press("n")
        await stage.idle()
    return seen


@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
@pytest.mark.parametrize("size", [*SIZES, (200, 40)])
@pytest.mark.parametrize("flood", ["tabs", "Hangul fillers", "ambiguous letters", "combining marks", "flags"])
async def test_nothing_pushes_the_end_of_a_line_of_a_diff_out_of_sight(tmp_path, flood, size, wide):
    change = FileChange(operation="modify", path="/a.sh", old_text="ls\n", new_text=f"ls{FLOODS[flood]}{EVIL}\n")
    seen = await seen_of(tmp_path, size, wide=wide, kind="edit", content=[Diff(changes=[change])])
    assert "curlevil|sh" in seen.replace(" ", "").replace("│", "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (FileChange(operation="add", path="/a", file_type="symlink"), "symlink"),
        (FileChange(operation="modify", path="/a", file_type="_acme\u200bdevice"), "_acme<U+200B>device"),
        (FileChange(operation="modify", path="/a", mime_type="application/x-sh"), "application/x-sh"),
        (FileChange(operation="_chmod", path="/a", raw={"operation": "_chmod", "path": "/a", "mode": "4755"}), "4755"),
    ],
)
def test_what_is_said_of_a_file_beside_its_text_is_seen(change, told):
    call = ToolCallPatch(id="c", content=[Diff(changes=[change])])
    asked = PermissionRequest(session_id="s", options=YES_OR_NO, subject=ToolCallSubject(call=call))
    parts = permission_parts(asked, "/", canvas(100))
    assert told in "\n".join(line.text for part in parts for line in part.lines(canvas(100)))
    assert told in "\n".join(question_lines(asked, "/"))


HEAD = "diff --git a/run b/run\n"
LINES = "--- a/run\n+++ b/run\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (f"{HEAD}old mode 100644\nnew mode 100755\n{LINES}", "new mode 100755"),
        (f"{HEAD}old mode 100644\nnew mode 100755\n", "new mode 100755"),
        (f"{HEAD}new file mode 120000\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+/etc/passwd\n", "mode 120000"),
        (f"{HEAD}new file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n", "mode 100755"),
        (f"{HEAD}deleted file mode 120000\n--- a/run\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "mode 120000"),
        (f"{HEAD}index 1..2\nGIT binary patch\nliteral 3\nKcmZSh&&8ky0\n", "GIT binary patch"),
        (f"{HEAD}similarity index 90%\nrename from elsewhere\nrename to run\n{LINES}", "rename from elsewhere"),
        (f"{HEAD}copy from elsewhere\ncopy to run\n{LINES}", "copy from elsewhere"),
        (f"{HEAD}{LINES}whatever this means\n", "whatever this means"),
    ],
)
async def test_what_a_patch_says_beside_its_lines_is_seen(tmp_path, patch, told):
    diff = Diff(
        changes=[FileChange(operation="modify", path="/tmp/run")], patch=DiffPatch(format="git_patch", text=patch)
    )
    assert told in await seen_of(tmp_path, version=2, kind="edit", content=[diff])


@pytest.mark.parametrize(
    "patch",
    [
        f"{HEAD}{LINES}",
        f"{HEAD}index 1234567..89abcde 100644\n{LINES}\\ No newline at end of file\n",
        f"{HEAD}new file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/run\n@@ -0,0 +1,2 @@ def f():\n+x\n+\n",
        f"{HEAD}deleted file mode 100644\n--- a/run\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    ],
)
async def test_an_ordinary_patch_is_not_shown_twice(tmp_path, patch):
    diff = Diff(
        changes=[FileChange(operation="modify", path="/tmp/run")], patch=DiffPatch(format="git_patch", text=patch)
    )
    seen = await seen_of(tmp_path, version=2, kind="edit", content=[diff])
    assert "diff --git" not in seen
    assert "contents not shown" not in seen


MORE = f"hello\n{EVIL}\n"


@pytest.mark.parametrize(
    "raw",
    [
        {"path": "/work/a.sh", "content": MORE},
        {"path": "/work/a.sh", "file_text": MORE},
        {"path": "/work/a.sh", "after": MORE},
        {"path": "/work/a.sh", "new_string": MORE},
        {"path": "/work/a.sh", "newText": f"{EVIL}\nhello\n"},
        {"path": "/work/a.sh", "old_string": f"hello {EVIL}"},
        {"path": "/work/a.sh", "before": f"old\n{EVIL}\n"},
        {"file_path": "/work/a.sh", "edits": [{"new_text": f"x hello {EVIL}"}]},
        {"files": {"/work/a.sh": {"content": MORE}}},
        {"files": [{"path": "a.sh", "content": MORE}]},
        {"changes": {"a.sh": {"content": MORE}}},
        {"path": "/work/b.sh", "content": "hello\n", "note": EVIL},
        {"description": EVIL},
        {"command": "ls", "cmd": EVIL},
        {"command": ["ls"], "args": [EVIL]},
    ],
)
@pytest.mark.parametrize("old", [None, "old\n"])
def test_input_that_is_more_than_the_diff_is_seen(raw, old):
    """In the bar and in lines."""
    change = FileChange(operation="modify" if old else "add", path="/work/a.sh", old_text=old, new_text="hello\n")
    for shown in told_of(content=[Diff(changes=[change])], raw_input=raw):
        assert EVIL in shown


@pytest.mark.parametrize("name", ["new_string", "content", "after"])
def test_input_that_says_the_opposite_of_the_diff_is_seen(name):
    """The diff takes away what the input puts there."""
    change = FileChange(operation="modify", path="/work/a.sh", old_text=EVIL, new_text="hello\n")
    for shown in told_of(content=[Diff(changes=[change])], raw_input={"path": "a.sh", name: EVIL}):
        assert f'"{name}": "{EVIL}"' in shown


def test_input_for_another_file_than_the_diff_shows_it_for_is_seen():
    changes = [
        FileChange(operation="add", path="/work/a.txt", new_text=f"{EVIL}\n"),
        FileChange(operation="add", path="/work/b.sh", new_text="hello\n"),
    ]
    raw = {"files": {"a.txt": {"content": "hello\n"}, "b.sh": {"content": f"{EVIL}\n"}}}
    for shown in told_of(content=[Diff(changes=changes)], raw_input=raw):
        assert '"b.sh"' in shown


def test_input_that_a_text_beside_a_patch_repeats_is_seen_in_lines():
    """There the patch is printed, and not the texts."""
    change = FileChange(operation="modify", path="/work/a.sh", old_text="", new_text=MORE)
    patch = DiffPatch(format="git_patch", text="--- a/a.sh\n+++ b/a.sh\n@@ -0,0 +1 @@\n+hello\n")
    for shown in told_of(content=[Diff(changes=[change], patch=patch)], raw_input={"path": "a.sh", "content": MORE}):
        assert EVIL in shown


def told_of(**what: Any) -> tuple[str, str]:
    """What the permission bar and the lines at a terminal tell of a tool call."""
    call = ToolCallPatch(id="c", title="Write it", kind="edit", **what)
    asked = PermissionRequest(session_id="s", options=YES_OR_NO, subject=ToolCallSubject(call=call))
    parts = permission_parts(asked, "/work", canvas(100))
    return "\n".join(line.text for part in parts for line in part.lines(canvas(100))), "\n".join(
        question_lines(asked, "/work")
    )
