"""Files that git would take for a repository are not written without a question, whatever the mode and earlier choices."""

from __future__ import annotations

import os
import subprocess
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.console.permission_flags import permission_policy
from accord.local import git
from accord.local.git import is_bare_layout, is_git_name
from accord.session.entities import ContentItem
from accord.session.requests import PermissionRequest
from tests.apps.coder.scripted import tool


class Person:
    """Says no, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[PermissionRequest] = []

    async def __call__(self, asked: PermissionRequest) -> Any:
        self.asked.append(asked)
        return await permissions.reject_all(asked)


def listing(directory: Path) -> list[str]:
    return sorted(map(str, directory.rglob("*")))


LINKS = {
    "link": "spare",
    "to-head": "half/HEAD",
    "to-config": "bare/config",
    "to-half": "half",
    "to-a-link": "to-head",
    "to-bare-head": "bare/HEAD",
}
"""Nothing is at the end of the first ones: a link is written through all the same."""

FILES = {
    "config": '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "touch {mark}; false"\n',
    "HEAD": "ref: refs/heads/main\n",
    "objects/x": "",
    "refs/x": "",
}


async def test_the_attack_ends_before_the_last_file(sit: Any, project: Path, tmp_path: Path) -> None:
    mark, person = tmp_path / "mark", Person()
    async with sit(on_permission=person) as desk:
        await desk.session.set_option("mode", "code")
        desk.agent_side.saved_answers["edit files"] = True
        desk.agent_side.saved_answers["run `git status`, whatever it looks at, in sub"] = True
        for name, content in FILES.items():
            await desk.use_one("write", path=f"sub/{name}", content=content.format(mark=mark))
        assert len(person.asked) == 1
        assert not (project / "sub" / "refs").exists()
        await desk.use_one("run", command="git status", directory="sub")
        assert not mark.exists()
        (project / "sub" / "refs").mkdir()  # had it come some other way, git would not be asked there
        subprocess.run(["git", "status"], cwd=project / "sub", check=False, capture_output=True)  # noqa: ASYNC221
        assert mark.exists(), "the trap is none"
        mark.unlink()
        assert (await desk.use_one("run", command="git status", directory="sub")).is_error
        assert not mark.exists()


@pytest.mark.parametrize("order", list(permutations(["HEAD", "objects/x", "refs/x"])), ids="-".join)
async def test_whichever_file_comes_last_is_asked_about(sit: Any, project: Path, order: tuple[str, ...]) -> None:
    person = Person()
    async with sit(on_permission=person) as desk:
        await desk.session.set_option("mode", "code")
        await desk.use(*(tool("write", path=f"a/b/{name}", content="x\n") for name in order))
        assert [asked.title for asked in person.asked] == [f"Write a/b/{order[-1]}"]
        assert [option.kind for option in person.asked[0].options] == ["allow_once", "reject_once"]
        said = [item for item in desk.calls[-1].content if isinstance(item, ContentItem)]
        assert any("look like a git repository" in str(item.content) for item in said)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"path": "bare/config", "content": "x"}),
        ("write", {"path": "bare/hooks/post-checkout", "content": "x"}),
        ("edit", {"path": "bare/HEAD", "old_text": "ref:", "new_text": "x"}),
        ("write", {"path": "linked/HEAD", "content": "x"}),
        ("move", {"source": "main.py", "destination": "linked/HEAD"}),
        ("move", {"source": "main.py", "destination": "half/HEAD"}),
        ("move", {"source": "spare", "destination": "most/refs"}),
        ("move", {"source": "link", "destination": "most/refs"}),
        ("move", {"source": "bare", "destination": "elsewhere"}),
        ("move", {"source": "main.py", "destination": "bare/hooks/pre-commit"}),
        ("move", {"source": "deep", "destination": "elsewhere"}),
        ("move", {"source": "nested", "destination": "elsewhere"}),
        ("write", {"path": "to-head", "content": "x"}),
        ("write", {"path": "to-config", "content": "x"}),
        ("write", {"path": "to-half/HEAD", "content": "x"}),
        ("write", {"path": "to-a-link", "content": "x"}),
        ("edit", {"path": "to-bare-head", "old_text": "ref:", "new_text": "x"}),
    ],
)
async def test_a_repository_that_is_there_is_not_changed_or_completed_without_a_question(
    sit: Any, project: Path, name: str, arguments: dict[str, Any]
) -> None:
    layouts = [f"{directory}/{half}" for directory in ("bare", "half", "deep/a/b") for half in ("objects", "refs")]
    for directory in (*layouts, "most/objects", "linked", "spare", "nested/a/.git"):
        (project / directory).mkdir(parents=True)
    for file in ("bare/HEAD", "most/HEAD", "deep/a/b/HEAD"):
        (project / file).write_text("ref: refs/heads/main\n")
    (project / "linked" / "commondir").write_text("../bare\n")
    for link, target in LINKS.items():
        (project / link).symlink_to(target)
    person = Person()
    before = listing(project)
    async with sit(on_permission=person) as desk:
        await desk.session.set_option("mode", "code")
        assert "rejected this call" in (await desk.use_one(name, **arguments)).text
        assert len(person.asked) == 1
    assert listing(project) == before


async def test_a_directory_that_can_not_be_looked_through_is_not_moved_without_a_question(
    sit: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_MAX_FILES", 10)
    for number in range(11):
        (project / "many" / str(number)).mkdir(parents=True)
    person = Person()
    async with sit(on_permission=person) as desk:
        await desk.session.set_option("mode", "code")
        await desk.use_one("move", source="many", destination="elsewhere")
    assert len(person.asked) == 1
    assert not (project / "elsewhere").exists()


async def test_ordinary_files_are_written_and_moved_in_code_mode_without_a_question(sit: Any, project: Path) -> None:
    async with sit(on_permission=Person()) as desk:
        await desk.session.set_option("mode", "code")
        for path in ("HEAD", "docs/config", "src/objects/x.py", "src/refs/y.py"):
            assert "Created" in (await desk.use_one("write", path=path, content="x\n")).text
        (project / "notes.txt").symlink_to("docs/notes.txt")
        assert "Created" in (await desk.use_one("write", path="notes.txt", content="x\n")).text
        assert (project / "docs" / "notes.txt").exists()
        assert "Moved" in (await desk.use_one("move", source="docs", destination="pages/docs")).text


@pytest.mark.parametrize(
    "name",
    [".git", ".GIT", ".Git", ".git.", ".git ", ".git::$INDEX_ALLOCATION", "git~1", "GIT~1", ".g\u200cit", ".git\ufeff"],
)
def test_a_name_that_some_file_system_takes_for_git_is_one(name: str) -> None:
    assert is_git_name(name)


@pytest.mark.parametrize("name", ["git", ".github", ".gitignore", ".gitmodules", "git~10", "x.git", ""])
def test_other_names_are_none(name: str) -> None:
    assert not is_git_name(name)


async def test_a_git_file_is_not_written(sit: Any, project: Path) -> None:
    async with sit(on_permission=permissions.allow_all) as desk:
        await desk.session.set_option("mode", "code")
        for path in ("sub/.git", "sub/.GIT/config", "sub/git~1/hooks/x", ".g\u200cit/config"):
            assert "belongs to git" in (await desk.use_one("write", path=path, content="gitdir: ../x\n")).text
        (project / "hidden").symlink_to(".git")
        assert "belongs to git" in (await desk.use_one("write", path="hidden/hooks/x", content="x")).text


def test_what_git_takes_for_a_repository_is_seen_as_one(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare")], check=True)
    assert is_bare_layout(tmp_path / "bare")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "tree" / "commondir").write_text("../bare\n")
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    done = subprocess.run(
        ["git", "rev-parse", "--git-dir"], cwd=tmp_path / "tree", check=True, capture_output=True, env=environment
    )
    assert done.stdout.strip() == b"."
    assert is_bare_layout(tmp_path / "tree")
    assert not is_bare_layout(tmp_path)


@pytest.mark.parametrize("chosen", ["allow-reads", "allow-edits"])
async def test_who_allows_edits_by_their_kind_has_not_allowed_it(sit: Any, project: Path, chosen: Any) -> None:
    for directory in ("objects", "refs"):
        (project / "sub" / directory).mkdir(parents=True)
    policy = permission_policy(chosen, None, lambda asked, answer, by: None)
    async with sit(on_permission=policy) as desk:
        written = (await desk.use_one("write", path="sub/a.txt", content="x\n")).text
        assert ("Created" in written) is (chosen == "allow-edits")
        assert "rejected this call" in (await desk.use_one("write", path="sub/HEAD", content="x\n")).text
    assert not (project / "sub" / "HEAD").exists()
