"""Git patches: made, read, and taken by git itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.session.diffs import diff_text, git_patch, read_git_patch, texts_of_patch
from accord.session.entities import Diff, DiffPatch, FileChange

NUMBERS = "".join(f"{n}\n" for n in range(1, 21))


def git(*arguments: str, cwd: Path, stdin: str = "") -> str:
    command = ["git", "-c", "core.autocrlf=false", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    done = subprocess.run(command, cwd=cwd, input=stdin.encode("utf-8", "surrogateescape"), capture_output=True)  # noqa: PLW1510
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_modified_file():
    assert git_patch("/ws/a.json", '{"debug": false}\n', '{"debug": true}\n') == (
        "diff --git /ws/a.json /ws/a.json\n"
        "--- /ws/a.json\n"
        "+++ /ws/a.json\n"
        "@@ -1 +1 @@\n"
        '-{"debug": false}\n'
        '+{"debug": true}\n'
    )


def test_a_new_file_comes_from_nowhere():
    assert git_patch("/ws/a", None, "x\ny\n") == (
        "diff --git /ws/a /ws/a\nnew file mode 100644\n--- /dev/null\n+++ /ws/a\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    )


def test_a_deleted_file_goes_nowhere():
    assert git_patch("/ws/a", "x\n", None) == (
        "diff --git /ws/a /ws/a\ndeleted file mode 100644\n--- /ws/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )


def test_an_emptied_file_is_not_a_deleted_one():
    assert git_patch("/ws/a", "x\n", "").endswith("--- /ws/a\n+++ /ws/a\n@@ -1 +0,0 @@\n-x\n")


def test_an_empty_new_file_has_no_hunks():
    assert git_patch("/ws/a", None, "") == "diff --git /ws/a /ws/a\nnew file mode 100644\n"


@pytest.mark.parametrize("text", [None, "", "x\n"])
def test_no_change_makes_no_patch(text: str | None):
    assert git_patch("/ws/a", text, text) == ""


def test_a_missing_newline_at_the_end_is_said():
    body = git_patch("/a", "x\nend", "x\nend\n").partition("@@\n")[2]
    assert body == " x\n-end\n\\ No newline at end of file\n+end\n"


def test_changes_that_are_far_apart_are_hunks_of_their_own():
    new = NUMBERS.replace("2\n", "two\n", 1).replace("19\n", "nineteen\n")
    hunks = [line for line in git_patch("/a", NUMBERS, new).splitlines() if line.startswith("@@")]
    assert hunks == ["@@ -1,5 +1,5 @@", "@@ -16,5 +16,5 @@"]


def test_only_a_line_feed_ends_a_line():
    old, new = "a\x0bb\u2028c\rd\r\n", "a\x0bb\u2028c\rD\r\n"
    patch = git_patch("/a", old, new)
    assert patch.endswith(f"@@ -1 +1 @@\n-{old}+{new}")


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/ws/plain-name_1.txt", "/ws/plain-name_1.txt"),
        ("/ws/ä.txt", r'"/ws/\303\244.txt"'),
        ('/ws/"q"', r'"/ws/\"q\""'),
        ("C:\\ws\\a", r'"C:\\ws\\a"'),
        ("/ws/a\tb\nc\x07\x7f", r'"/ws/a\tb\nc\a\177"'),
        ("/ws/\udcff", r'"/ws/\377"'),
        ("/ws/\ud83d", r'"/ws/\355\240\275"'),
    ],
)
def test_odd_names_are_quoted_as_git_does(path: str, written: str):
    assert git_patch(path, "a\n", "b\n").startswith(f"diff --git {written} {written}\n--- {written}\n+++ {written}\n@@")


def test_a_name_with_a_blank_has_an_end():
    assert "--- /ws/a b\t\n+++ /ws/a b\t\n" in git_patch("/ws/a b", "a\n", "b\n")


PATHS = ["/ws/a", "/ws/a b", "/ws/ä ö", '/ws/"\\', "/ws/a\tb", "/ws/\udcff", "/x /x"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("old", "new", "operation"),
    [
        ("a\nb\n", "a\nc", "modify"),
        (None, "a\n", "add"),
        ("a", None, "delete"),
        (None, "", "add"),
        ("", None, "delete"),
    ],
)
def test_what_was_made_is_read_back(path: str, old: str | None, new: str | None, operation: str):
    change = FileChange(operation=operation, path=path, old_text=old, new_text=new)
    patch = git_patch(path, old, new)
    assert read_git_patch(patch) == [change]
    assert texts_of_patch(DiffPatch(format="git_patch", text=patch)) == {path: (old, new)}


def test_texts_that_are_read_hold_the_lines_that_are_shown():
    new = NUMBERS.replace("2\n", "two\n", 1).replace("19\n", "")
    (change,) = read_git_patch(git_patch("/a", NUMBERS, new))
    assert change.old_text == "1\n2\n3\n4\n5\n16\n17\n18\n19\n20\n"
    assert change.new_text == "1\ntwo\n3\n4\n5\n16\n17\n18\n20\n"


def test_lines_that_look_like_headers_are_lines():
    old = "-- x\n++ y\n@@ -1 +1 @@\ndiff --git a b\n"
    (change,) = read_git_patch(git_patch("/a", old, "-- z\n" + old + "++ z\n"))
    assert (change.old_text, change.new_text) == (old, "-- z\n" + old + "++ z\n")


def test_several_files_are_several_sections():
    text = git_patch("/a", "x\n", "y\n") + git_patch("/b", None, "z\n") + git_patch("/c", "w\n", None)
    assert [(change.operation, change.path) for change in read_git_patch(text)] == [
        ("modify", "/a"),
        ("add", "/b"),
        ("delete", "/c"),
    ]


def test_patches_with_prefixes_or_without_headers_are_read():
    text = "diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n--- a/one\n+++ b/one\n@@ -1 +1 @@\n-a\n+b\n--- /two\n+++ /two\n@@ -1 +0,0 @@\n-c\n"
    first, second = read_git_patch(text)
    assert (first.path, first.old_text, first.new_text) == ("one", "a\n", "b\n")
    assert (second.path, second.old_text, second.new_text) == ("/two", "c\n", "")
    assert [change.path for change in read_git_patch("diff --git a/x y b/x y\nold mode 100644\n")] == ["x y"]


def test_an_empty_context_line_may_have_lost_its_blank():
    (change,) = read_git_patch("--- /a\n+++ /a\n@@ -1,3 +1,3 @@\n\n-a\n+b\n \n")
    assert (change.old_text, change.new_text) == ("\na\n\n", "\nb\n\n")


def test_a_patch_that_was_cut_off_shows_what_is_left():
    (change,) = read_git_patch("--- /a\n+++ /a\n@@ -1,9 +1,9 @@\n a\n-")
    assert (change.old_text, change.new_text) == ("a\n", "a\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no patch at all",
        "diff --git ",
        'diff --git "unclosed',
        'diff --git "a"',
        "--- /a\n",
        "@@ -1 +1 @@\n-a\n",
        "--- /a\n+++ /a\n@@ -1,999999999999 +1 @@\n-a\n",
        f"--- /a\n+++ /a\n@@ -1,{'9' * 5000} +1 @@\n-a\n",
        "--- /dev/null\n+++ /dev/null\n",
        "diff --git /a /a\n@@ -x +y @@\n",
        "\\ No newline at end of file\n",
        "--- /a\n+++ /a\n@@ -1 +1 @@\n\\ No newline at end of file\n",
    ],
)
def test_what_is_no_patch_is_read_without_an_error(text: str):
    for change in read_git_patch(text):
        assert change.path == "/a"


@given(st.text(alphabet='-+ @\\d"/a\t\n1,', max_size=60))
@settings(max_examples=100)
def test_anything_can_be_read(text: str):
    read_git_patch(f"diff --git /a /a\n--- /a\n+++ /a\n@@ -1,3 +1,3 @@\n{text}")
    read_git_patch(text)


def test_a_patch_in_another_format_shows_nothing():
    assert texts_of_patch(DiffPatch(format="_ed", text=git_patch("/a", "x", "y"))) == {}


lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d\r\n", "é\n", "-- \n", "e"]), max_size=25).map("".join)


def applied(patch: str, old: str) -> str:
    """What a patch of one file makes of its text; the lines it says are there have to be there."""
    source = re.findall(r"[^\n]*\n|[^\n]+", old)
    told = re.findall(r"([ +-]|@@)([^\n\0]*)([\n\0])", patch.replace("\n\\ No newline at end of file\n", "\0"))
    result: list[str] = []
    taken = 0
    for mark, text, end in told:
        line = text + end.replace("\0", "")
        if mark == "@@":
            start, length = re.findall(r"\d+", text.split("+")[0] + ",1")[:2]
            before = int(start) - (length != "0")
            result += source[taken:before]
            taken = before
            continue
        if mark in " -":
            assert source[taken] == line
            taken += 1
        if mark in " +":
            result.append(line)
    return "".join(result + source[taken:])


@given(old=lines, new=lines)
@settings(max_examples=200)
def test_a_patch_leads_from_the_old_text_to_the_new_one(old: str, new: str):
    header, _, hunks = git_patch("/a", old, new).partition("@@")
    assert applied(f"@@{hunks}" if header else "", old) == new


def test_a_long_rewritten_stretch_is_bounded_work_and_still_right():
    old, new = "same\n" * 3 + "a\nb\n" * 300, "same\n" * 3 + "b\nc\n" * 300
    (change,) = read_git_patch(git_patch("/a", old, new))
    assert (change.old_text, change.new_text) == (old, new)


CASES = [
    ("plain.txt", "a\nb\nc\n", "a\nB\nc\n"),
    ("sub/new file", None, "x\ny"),
    ("gone", "x\ny", None),
    ("empty new", None, ""),
    ("empty gone", "", None),
    ('ä\t"q".txt', "x", "x\n"),
    ("crlf", "a\r\nb\r\n", "a\r\nc\r\n"),
    ("far", NUMBERS, NUMBERS.replace("2\n", "two\n", 1).replace("19\n", "")),
    ("separators", "a\x0bb\u2028c\x85\n", "a\x0bB\u2028c\x85\n"),
]


def test_git_applies_what_we_make(tmp_path: Path):
    for path, old, _ in CASES:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        if old is not None:
            (tmp_path / path).write_bytes(old.encode())
    git("init", "-q", cwd=tmp_path)
    git("apply", "-p0", "-", cwd=tmp_path, stdin="".join(git_patch(*case) for case in CASES))
    for path, _, new in CASES:
        file = tmp_path / path
        assert (file.read_bytes().decode() if file.exists() else None) == new


@given(old=lines, new=lines)
@settings(max_examples=15)
def test_git_applies_any_change(tmp_path_factory: pytest.TempPathFactory, old: str, new: str):
    folder = tmp_path_factory.mktemp("applied")
    if old != new:
        (folder / "f").write_bytes(old.encode())
        git("apply", "-p0", "-", cwd=folder, stdin=git_patch("f", old, new))
        assert (folder / "f").read_bytes().decode() == new


def test_what_git_writes_is_read(tmp_path: Path):
    git("init", "-q", cwd=tmp_path)
    before = {"mod ified": b"a\nb\n", "gone": b"x", "m\u00f6ved": b"1\n2\n3\n4\n5\n6\n", "mode": b"m", 'quo"te': b"q\n"}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    git("add", "-A", cwd=tmp_path)
    git("commit", "-qm", "before", cwd=tmp_path)
    (tmp_path / "mod ified").write_bytes(b"a\nc")
    (tmp_path / "gone").unlink()
    (tmp_path / "m\u00f6ved").rename(tmp_path / "moved too")
    (tmp_path / "moved too").write_bytes(b"1\n2\n3\n4\n5\n6\n7\n")
    (tmp_path / "mode").chmod(0o755)
    (tmp_path / 'quo"te').write_bytes(b"Q\n")
    (tmp_path / "binary").write_bytes(b"\0\1")
    (tmp_path / "link").symlink_to("mode")
    (tmp_path / "empty").touch()
    git("add", "-A", cwd=tmp_path)
    for prefix in (["--no-prefix"], []):
        changes = read_git_patch(git("diff", "--cached", "-M", *prefix, cwd=tmp_path))
        assert sorted(changes, key=lambda change: change.path) == [
            FileChange(operation="add", path="binary", file_type="binary"),
            FileChange(operation="add", path="empty", new_text=""),
            FileChange(operation="delete", path="gone", old_text="x"),
            FileChange(operation="add", path="link", file_type="symlink", new_text="mode"),
            FileChange(operation="modify", path="mod ified", old_text="a\nb\n", new_text="a\nc"),
            FileChange(operation="modify", path="mode"),
            FileChange(
                operation="move", path="moved too", old_path="m\u00f6ved", old_text="4\n5\n6\n", new_text="4\n5\n6\n7\n"
            ),
            FileChange(operation="modify", path='quo"te', old_text="q\n", new_text="Q\n"),
        ]


def test_a_diff_is_shown_as_a_patch_whichever_way_it_came():
    change = FileChange(operation="modify", path="/a.py", old_text="one\n", new_text="two\n")
    of_texts = diff_text(Diff(changes=[change]))
    assert of_texts.startswith("diff --git /a.py /a.py\n")
    assert of_texts.endswith("@@ -1 +1 @@\n-one\n+two\n")
    bare = FileChange(operation="modify", path="/a.py")
    assert diff_text(Diff(changes=[bare], patch=DiffPatch(format="git_patch", text=of_texts))) == of_texts
