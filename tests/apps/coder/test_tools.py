"""The tools, asked for by a model and answered through the client, in every version."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.coder.tools.tool_call import shortened
from accord.session.entities import Diff
from tests.apps.coder.scripted import raw_tool, tool, until

ALLOW = {"on_permission": permissions.allow_all}


async def test_a_file_is_read_whole_or_by_lines(sit: Any) -> None:
    async with sit() as desk:
        whole = await desk.use_one("read", path="main.py")
        line = await desk.use_one("read", path="main.py", line=2, limit=1)
        assert whole.text == "def double(n):\n    return n + n\n"
        assert line.text == "[lines 2 to 2 of 2]\n    return n + n\n"
        call = desk.calls[0]
        assert (call.title, call.kind, call.status, call.name) == ("Read main.py", "read", "completed", "read")
        assert call.locations[0].path == str(desk.root / "main.py")
        assert call.raw_input == {"path": "main.py"}
        assert call.raw_output["output"] == whole.text


@pytest.mark.requirement("PROMPT-16")
async def test_what_the_editor_has_not_saved_is_seen(sit: Any, version: Any, project: Path) -> None:
    if version == 2:
        pytest.skip("v2 has no files of the client's")
    from accord.client.workspace.workspace import Workspace

    class Buffers:
        async def read(self, path: Any) -> str | None:
            return "unsaved\n" if Path(path).name == "main.py" else None

        async def write(self, path: Any, text: str) -> bool:
            return False

    workspace = Workspace([project], buffers=Buffers())
    async with sit(workspace=workspace) as desk:
        assert (await desk.use_one("read", path="main.py")).text == "unsaved\n"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nothing.py", "file not found: nothing.py"),
        ("Main.txt", "there is main.py"),
        (".", "is a directory"),
        ("../outside.txt", "outside the session's directories"),
        ("/etc/passwd", "outside the session's directories"),
        ("link/passwd", "outside the session's directories"),
        ("binary.dat", "binary data"),
        ("latin.txt", "UTF-8"),
    ],
)
async def test_what_can_not_be_read_says_why(sit: Any, project: Path, path: str, reason: str) -> None:
    (project.parent / "outside.txt").write_text("secret")
    (project / "link").symlink_to("/etc")
    (project / "binary.dat").write_bytes(b"\0\1\2")
    (project / "latin.txt").write_bytes("é".encode("latin-1"))
    async with sit() as desk:
        outcome = await desk.use_one("read", path=path)
        assert outcome.is_error
        assert reason in outcome.text
        assert desk.calls[-1].status == "failed"


async def test_a_directory_is_listed(sit: Any) -> None:
    async with sit() as desk:
        (desk.root / "src").mkdir()
        assert (await desk.use_one("list")).text.splitlines() == [
            ".git/",
            "README.md",
            "main.py",
            "src/",
            "test_main.py",
        ]
        assert "is not a directory" in (await desk.use_one("list", path="main.py")).text


async def test_a_search_finds_lines_and_leaves_out_what_git_ignores(sit: Any) -> None:
    async with sit() as desk:
        (desk.root / ".gitignore").write_text("build\n")
        (desk.root / "build").mkdir()
        (desk.root / "build" / "main.py").write_text("double")
        found = await desk.use_one("search", pattern=r"\bdouble\(")
        assert found.text.splitlines() == [
            "main.py:1:def double(n):",
            "test_main.py:7:        self.assertEqual(double(2), 5)",
        ]
        assert [(Path(place.path).name, place.line) for place in desk.calls[-1].locations[1:]] == [
            ("main.py", 1),
            ("test_main.py", 7),
        ]
        assert (await desk.use_one("search", pattern="nowhere")).text == "[nothing found]"
        assert (await desk.use_one("search", pattern="(", path="main.py")).is_error
        assert not (await desk.use_one("search", pattern="(", is_plain=True, glob="main.*")).is_error


async def test_an_edit_shows_its_diff_before_it_is_allowed(sit: Any) -> None:
    seen: list[Any] = []

    async def look(asked: Any) -> Any:
        seen.append(asked)
        return await permissions.allow_all(asked)

    async with sit(on_permission=look) as desk:
        outcome = await desk.use_one("edit", path="main.py", old_text="n + n", new_text="2 * n")
        assert outcome.text == "Edited main.py at line 2."
        assert (desk.root / "main.py").read_text() == "def double(n):\n    return 2 * n\n"
        assert len(seen) == 1
        (diff,) = [item for item in desk.calls[0].content if isinstance(item, Diff)]
        assert diff.changes[0].path == str(desk.root / "main.py")
        assert desk.calls[0].locations[-1].line == 2


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        ("n * n", "the closest match is line 2:     return n + n"),
        ("return n + n \n", "differs only in white space"),
        ("n", "times in main.py, on lines 1"),
        ("", "the text to replace is empty: use write"),
        ("n + n", "the text to replace and the new text are the same"),
    ],
)
async def test_an_edit_that_can_not_be_made_says_what_to_do(sit: Any, old: str, reason: str) -> None:
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one("edit", path="main.py", old_text=old, new_text="n + n")
        assert outcome.is_error
        assert reason in outcome.text
        assert (desk.root / "main.py").read_text() == "def double(n):\n    return n + n\n"


async def test_every_occurrence_is_replaced_when_asked_for(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        await desk.use_one("edit", path="main.py", old_text="n + n", new_text="m + m", replace_all=True)
        assert "m + m" in (desk.root / "main.py").read_text()


async def test_a_file_that_changed_after_it_was_read_is_not_edited(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        await desk.use_one("read", path="main.py")
        (desk.root / "main.py").write_text("def double(n):\n    return n + n  # by hand\n")
        refused = await desk.use_one("edit", path="main.py", old_text="n + n", new_text="2 * n")
        assert refused.is_error
        assert "has changed since it was read: read it again" in refused.text
        await desk.use_one("read", path="main.py")
        assert not (await desk.use_one("edit", path="main.py", old_text="n + n", new_text="2 * n")).is_error
        assert (desk.root / "main.py").read_text() == "def double(n):\n    return 2 * n  # by hand\n"


async def test_a_file_is_written_new_or_after_it_was_read(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        assert (await desk.use_one("write", path="src/new.py", content="x = 1\n")).text == "Created src/new.py."
        assert (desk.root / "src" / "new.py").read_text() == "x = 1\n"
        refused = await desk.use_one("write", path="main.py", content="")
        assert "was not read: read it first" in refused.text
        await desk.use_one("read", path="main.py")
        assert (await desk.use_one("write", path="main.py", content="y\n")).text == "Wrote main.py."


async def test_a_file_that_can_not_be_written_whole_stays_as_it_was(sit: Any) -> None:
    """As on a full disk: the system takes a part, and no more."""
    async with sit(**ALLOW) as desk:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            outcome = await desk.use_one("edit", path="main.py", old_text="n + n", new_text="n" * 200_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert outcome.is_error
        assert "the file is unchanged" in outcome.text
        assert (desk.root / "main.py").read_text() == "def double(n):\n    return n + n\n"
        assert sorted(path.name for path in desk.root.iterdir()) == [".git", "README.md", "main.py", "test_main.py"]


async def test_a_file_is_deleted_and_moved(sit: Any, project: Path) -> None:
    async with sit(**ALLOW) as desk:
        assert (await desk.use_one("move", source="main.py", destination="src/main.py")).text.startswith("Moved")
        assert (desk.root / "src" / "main.py").exists()
        assert "already exists" in (await desk.use_one("move", source="README.md", destination="src")).text
        assert (await desk.use_one("delete", path="README.md")).text == "Deleted README.md."
        assert not (desk.root / "README.md").exists()
        assert "file not found" in (await desk.use_one("delete", path="README.md")).text
        assert "is a directory" in (await desk.use_one("delete", path="src")).text
        assert "outside" in (await desk.use_one("move", source="src", destination="../src")).text


async def test_a_command_is_run_and_its_end_told(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        ended = await desk.use_one("run", command="echo hello; exit 3")
        assert ended.text == "[exit code 3]\nhello\n"
        assert ended.is_error
        call = desk.calls[-1]
        assert (call.kind, call.status) == ("execute", "failed")
        assert call.raw_output["exitCode"] == 3
        assert (await desk.use_one("run", command="pwd", directory=".")).text.endswith(f"{desk.root.resolve()}\n")


async def test_a_command_that_hangs_is_killed_after_its_time(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one("run", command="echo begun; sleep 1000", seconds=0.5)
        assert outcome.text == "[killed: timed out after 0.5 s]\nbegun\n"


async def test_ten_megabytes_of_output_are_cut_for_the_model(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one("run", command="yes 0123456789 | head -c 10000000")
        assert len(outcome.text) < 33_000
        assert "characters left out" in outcome.text


def test_output_is_cut_in_the_middle() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("a" * 50 + "b" * 50, 30) == f"{'a' * 20}\n[… 70 characters left out …]\n{'b' * 10}"


async def test_the_plan_is_shown_without_a_call_beside_it(sit: Any) -> None:
    async with sit() as desk:
        await desk.use_one("plan", steps=[{"content": "look", "status": "completed"}, {"content": "leap"}])
        (plan,) = desk.session.transcript.plans.values()
        assert [(entry.content, entry.status) for entry in plan.entries] == [("look", "completed"), ("leap", "pending")]
        assert desk.calls == []


async def test_a_question_needs_a_client_with_forms(sit: Any) -> None:
    async with sit() as desk:
        assert "has no forms" in (await desk.use_one("ask", question="Which one?")).text


async def test_malformed_arguments_and_unknown_tools_are_told_to_the_model(sit: Any) -> None:
    async with sit() as desk:
        outcomes = await desk.use(
            raw_tool("read", '{"path": "main'),
            tool("read", path=["main.py"]),
            tool("read"),
            tool("raed", path="main.py"),
        )
        assert [outcome.is_error for outcome in outcomes] == [True] * 4
        assert "are not a JSON object" in outcomes[0].text
        assert "invalid arguments" in outcomes[1].text
        assert "`path`" in outcomes[2].text
        assert "did you mean read?" in outcomes[3].text
        assert all(call.status == "failed" for call in desk.calls)


async def test_looking_happens_side_by_side_and_answers_in_order(sit: Any) -> None:
    async with sit() as desk:
        names = ["main.py", "README.md", "test_main.py"]
        outcomes = await desk.use(*(tool("read", path=name) for name in names))
        assert [outcome.text for outcome in outcomes] == [(desk.root / name).read_text() for name in names]


async def test_the_changes_of_the_working_tree_are_shown(sit: Any) -> None:
    async with sit() as desk:
        assert (await desk.use_one("changes")).text == "[nothing has changed since the last commit]"
        (desk.root / "main.py").write_text("def double(n):\n    return 2 * n\n")
        assert "+    return 2 * n" in (await desk.use_one("changes")).text


async def test_a_cancelled_command_dies_with_the_turn(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        desk.model.steps.append([tool("run", command="echo $$ > pid; sleep 1000")])
        reply = desk.session.prompt("Go")
        pid = desk.root / "pid"
        await until(lambda: pid.exists() and bool(pid.read_text().strip()))
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        await until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())


async def test_a_file_that_changed_while_the_user_was_asked_is_not_changed(sit: Any, project: Path) -> None:
    """What is done is what the user saw."""

    async def meddle(asked: Any) -> Any:
        (project / "main.py").write_text("def double(n):\n    return n + n  # by hand\n")
        return await permissions.allow_all(asked)

    async with sit(on_permission=meddle) as desk:
        for name, arguments in [("edit", {"old_text": "n + n", "new_text": "2 * n"}), ("delete", {})]:
            (project / "main.py").write_text("def double(n):\n    return n + n\n")
            outcome = await desk.use_one(name, path="main.py", **arguments)
            assert "has changed since permission was asked" in outcome.text
            assert "by hand" in (project / "main.py").read_text()


async def test_a_file_is_the_same_whatever_path_leads_to_it(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        (desk.root / "src").mkdir()
        (desk.root / "alias.py").symlink_to("main.py")
        await desk.use_one("read", path="src/../main.py")
        (desk.root / "main.py").write_text("changed: n + n\n")
        for path in ("main.py", "alias.py"):
            outcome = await desk.use_one("edit", path=path, old_text="n + n", new_text="x")
            assert ("has changed since it was read" in outcome.text) is (path == "main.py")


async def test_lines_that_end_as_on_windows_are_edited_and_stay_so(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        (desk.root / "main.py").write_bytes(b"one\r\ntwo\r\nthree\r\n")
        await desk.use_one("edit", path="main.py", old_text="one\ntwo\n", new_text="1\n2\n")
        assert (desk.root / "main.py").read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_a_file_that_is_read_only_stays_and_says_what_to_do(sit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_writable(directory: Any, name: str) -> bool:
        return name != "main.py"  # as the system says it to everybody but root

    monkeypatch.setattr("accord.local.paths.Directory.is_writable", is_writable)
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one("edit", path="main.py", old_text="n + n", new_text="2 * n")
        assert "the file is unchanged. It may be read-only" in outcome.text
        assert "n + n" in (desk.root / "main.py").read_text()


async def test_a_part_of_a_large_file_can_be_read(sit: Any) -> None:
    async with sit() as desk:
        with (desk.root / "large.log").open("w") as file:
            file.writelines(f"line {number} {'x' * 90}\n" for number in range(1, 200_001))
        assert "more than" in (await desk.use_one("read", path="large.log")).text
        part = await desk.use_one("read", path="large.log", line=150_000, limit=2)
        assert part.text.splitlines()[1].startswith("line 150000 ")
        assert len(part.text.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"command": "true", "directory": "nowhere"}, "nowhere is not a directory"),
        ({"command": "true", "directory": "main.py"}, "main.py is not a directory"),
        ({"command": "  "}, "invalid command"),
        ({"command": "echo \0"}, "invalid command"),
        ({"command": "true", "seconds": -1}, "invalid arguments"),
    ],
)
async def test_a_command_that_can_not_be_run_says_why(sit: Any, arguments: dict[str, Any], reason: str) -> None:
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one("run", **arguments)
        assert outcome.is_error
        assert reason in outcome.text


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "x" * 5000}),
        ("read", {"path": "~nobody/x"}),
        ("read", {"path": "a\0b"}),
        ("list", {"path": "x" * 5000}),
        ("search", {"pattern": "x", "path": "x" * 5000}),
        ("write", {"path": "x" * 5000, "content": ""}),
        ("delete", {"path": "x" * 5000}),
        ("move", {"source": "main.py", "destination": "x" * 5000}),
        ("search", {"pattern": "(", "path": "."}),
        ("search", {"pattern": "x", "path": "nowhere"}),
    ],
)
async def test_whatever_goes_wrong_is_told_to_the_model(sit: Any, name: str, arguments: dict[str, Any]) -> None:
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one(name, **arguments)
        assert outcome.is_error
        assert desk.calls[-1].status == "failed"
        assert not (await desk.use_one("list")).is_error


async def test_a_command_runs_in_the_clients_terminal_where_it_has_some(sit: Any, version: Any, project: Path) -> None:
    if version == 2:
        pytest.skip("v2 has no terminals of the client's")
    async with sit(workspace=project, **ALLOW) as desk:
        assert (await desk.use_one("run", command="echo hello; exit 3")).text == "[exit code 3]\nhello\n"
        assert (await desk.use_one("edit", path="main.py", old_text="n + n", new_text="2 * n")).text.startswith(
            "Edited"
        )
        assert "2 * n" in (project / "main.py").read_text()
