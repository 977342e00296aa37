"""A repository that makes git read files of the user's: nothing of them is repeated, and nothing eats the memory.

Git repeats what it can't make sense of, in warnings and errors, and shows the state of a rebase as the files say it. Each
trap is first sprung by git itself, as in `test_git`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.console.screen.mentions import list_files
from accord.errors import UnusableRepository
from accord.local.git import find_working_tree, git_environment
from tests.apps.coder.scripted import git

SECRET = "hunter2/hunter2"
COMMANDS = ["git status", "git status -s", "git diff", "git log", "git show", "git blame main.py"]


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A file of the user's."""
    path = tmp_path / "netrc"
    path.write_text(f"password {SECRET}\nmore {SECRET}\n")
    return path


def linked(name: str, *beside: str) -> Callable[[Path, Path], None]:
    """A file of the repository is a link; others, which are empty, make git look at it."""

    def lay(project: Path, private: Path) -> None:
        for each in (name, *beside):
            path = project / ".git" / each
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if each == name:
                path.symlink_to(private)
            else:
                path.touch()

    lay.__qualname__ = name
    return lay


def attributes(project: Path, private: Path) -> None:
    git(project, "config", "core.attributesFile", str(private))


def included_attributes(project: Path, private: Path) -> None:
    (project / ".git" / "more").write_text(f"[core]\n\tattributesFile = {private}\n")
    git(project, "config", "include.path", "more")


def sparse(project: Path, private: Path) -> None:
    git(project, "config", "core.sparseCheckout", "true")
    git(project, "config", "core.sparseCheckoutCone", "true")
    linked("info/sparse-checkout")(project, private)


def nested(*, absorbed: bool) -> Callable[[Path, Path], None]:
    """A file of a submodule is a link, in a repository of its own or in the one around it."""

    def lay(project: Path, private: Path) -> None:
        inner = project / "sub"
        inner.mkdir()
        git(inner, "init", "-q")
        (inner / "a").write_text("1")
        git(inner, "add", ".")
        git(inner, "commit", "-qm", "x")
        git(project, "add", "sub")
        (project / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
        git(project, "add", ".gitmodules")
        git(project, "commit", "-qm", "sub")
        if absorbed:
            git(project, "submodule", "--quiet", "absorbgitdirs")
        git(inner, "pack-refs", "--all")
        packed = (project / ".git" / "modules" / "sub" if absorbed else inner / ".git") / "packed-refs"
        packed.unlink()
        packed.symlink_to(private)

    lay.__qualname__ = "absorbed submodule" if absorbed else "submodule"
    return lay


def carriage_return(project: Path, private: Path) -> None:
    """Who takes it for the end of a line looks at another directory than git does."""
    shutil.copytree(project / ".git", project / "a\nb")
    (project / ".git").rename(project / "a\rb")
    (project / "a\rb" / "packed-refs").symlink_to(private)
    (project / ".git").write_bytes(b"gitdir: a\rb\n")


TRAPS = [
    linked("packed-refs"),
    linked("rebase-merge/done", "rebase-merge/interactive", "rebase-merge/git-rebase-todo"),
    linked("rebase-merge/git-rebase-todo", "rebase-merge/interactive", "rebase-merge/done"),
    linked("rebase-merge/head-name", "rebase-merge/interactive", "rebase-merge/git-rebase-todo"),
    linked("rebase-apply/head-name", "rebase-apply/rebasing"),
    linked("BISECT_START", "BISECT_LOG"),
    linked("MERGE_HEAD"),
    linked("shallow"),
    linked("info/attributes"),
    linked("info/grafts"),
    linked("objects/info/commit-graphs/commit-graph-chain"),
    attributes,
    included_attributes,
    sparse,
    nested(absorbed=False),
    nested(absorbed=True),
    carriage_return,
]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__qualname__)
async def test_nothing_of_a_file_outside_is_repeated(
    sit: Any, project: Path, private: Path, trap: Callable[[Path, Path], None]
) -> None:
    trap(project, private)
    (project / "main.py").write_text("x = 1\n")
    said = b"".join(_plain(project, command.split()) for command in COMMANDS)
    assert SECRET.encode() in said, "the trap is none"
    async with sit(on_permission=permissions.reject_all) as desk:
        assert SECRET not in (await desk.use_one("changes")).text
        for command in COMMANDS:
            desk.agent_side.saved_answers[f"run `{' '.join(command.split()[:2])}`, whatever it looks at"] = True
            assert SECRET not in (await desk.use_one("run", command=command)).text, command


async def test_links_that_git_does_not_read_for_us_are_in_nobodys_way(sit: Any, project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("hooks", "lfs"):
        if (project / ".git" / name).exists():
            (project / ".git" / name).rename(tmp_path / name)
        (project / ".git" / name).symlink_to(tmp_path / "elsewhere")
    (project / "main.py").write_text("x = 1\n")
    async with sit() as desk:
        assert "+x = 1" in (await desk.use_one("changes")).text


async def test_the_users_own_attributes_count(
    sit: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "git").mkdir(parents=True)
    (tmp_path / "config" / "git" / "attributes").write_text("*.py binary\n")
    (project / "main.py").write_text("x = 1\n")
    async with sit() as desk:
        assert "Binary files" in (await desk.use_one("changes")).text


@pytest.mark.parametrize("setting", ["core.attributesFile", "diff.orderFile"])
async def test_a_file_without_an_end_is_not_read(sit: Any, project: Path, setting: str) -> None:
    git(project, "config", setting, "/dev/zero")
    (project / "main.py").write_text("x = 1\n")
    async with sit(on_permission=permissions.allow_all) as desk:
        assert "+x = 1" in (await desk.use_one("changes")).text
        assert "+x = 1" in (await desk.use_one("run", command="git diff")).text


async def test_settings_without_an_end_take_no_longer_than_the_command_may(sit: Any, project: Path) -> None:
    git(project, "config", "include.path", "endless")
    os.mkfifo(project / ".git" / "endless")
    async with sit(on_permission=permissions.allow_all) as desk:
        outcome = await desk.use_one("run", command="git status", seconds=0.5)
        assert "git timed out after 0.5 s" in outcome.text


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of programs is bounded on Linux")
@pytest.mark.parametrize("name", [".ignore", ".gitignore", ".rgignore", "sub/.ignore"])
async def test_a_search_does_not_fill_the_memory(sit: Any, project: Path, name: str) -> None:
    """Such a link comes with an ordinary clone."""
    (project / "sub").mkdir()
    (project / name).symlink_to("/dev/zero")
    async with sit() as desk:
        outcome = await desk.use_one("search", pattern="double")
    assert outcome.is_error
    assert "memory" in outcome.text


@pytest.mark.parametrize("helper", ["none", "", "/", "x y"])
async def test_a_name_of_the_repositorys_is_no_way_to_fetch_either(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, helper: str
) -> None:
    """Git takes an alias for a helper, if a protocol of that name is allowed; older ones don't know how not to fetch."""
    mark = tmp_path / "mark"
    with (project / ".git" / "config").open("a") as config:
        config.write(
            f'[remote "origin"]\n\turl = x\n\tvcs = "{helper}"\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n'
            f"[core]\n\trepositoryformatversion = 1\n"
            f'[alias]\n\tremote-none = "!touch {mark}"\n\tremote- = "!touch {mark}"\n'
        )
    blob = _plain(project, ["git", "rev-parse", "HEAD:main.py"]).decode().strip()
    (project / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    (project / "main.py").write_text("x = 1\n")
    environment = git_environment(find_working_tree(project), os.environ)
    del environment["GIT_NO_LAZY_FETCH"]
    subprocess.run(["git", "diff"], cwd=project, check=False, capture_output=True, env=environment)  # noqa: ASYNC221
    assert not mark.exists()


@pytest.mark.parametrize(
    "text", ["gitdir: /x\0y\n", "gitdir: old\0\n", "\0", "gitdir: old\r/../old\n", "gitdir: old\n/../old\n"]
)
async def test_a_name_that_no_file_can_have_leads_nowhere(sit: Any, project: Path, text: str) -> None:
    (project / ".git").rename(project / "old")
    (project / ".git").write_text(text)
    with pytest.raises(UnusableRepository):
        find_working_tree(project)
    assert "main.py" in await list_files(str(project))
    async with sit(on_permission=permissions.reject_all) as desk:
        assert "git can't be run here" in (await desk.use_one("changes")).text
        assert "rejected this call" in (await desk.use_one("run", command="git status")).text


@pytest.mark.parametrize("told", [b".\r\n.\r", b"\r/..\n", b".\x0b\n", b".\0"])
def test_a_directory_that_is_told_in_control_characters_is_refused(project: Path, told: bytes) -> None:
    (project / ".git" / "commondir").write_bytes(told)
    with pytest.raises(UnusableRepository, match="control characters"):
        find_working_tree(project)


@pytest.mark.parametrize("told", ["../..", ".."])
def test_only_a_linked_worktree_has_its_objects_elsewhere(project: Path, tmp_path: Path, told: str) -> None:
    """`told` leads out of the project: to a bare repository of the user's, for example."""
    (project / ".git").rename(project / "inner")
    (project / "inner" / "commondir").write_text(f"{told}\n")
    (project / ".git").write_text("gitdir: inner\n")
    with pytest.raises(UnusableRepository, match="leads to another repository"):
        find_working_tree(project)


def _plain(root: Path, command: list[str]) -> bytes:
    ended = subprocess.run(command, cwd=root, check=False, capture_output=True)
    return ended.stdout + ended.stderr
